import type { FieldProblem } from "../../app/failure";
import type { State } from "../../graphql/generated/types";
import { CheckField, ChoiceField, Field, GroupField } from "../../parts/fields";
import { useRowFocus } from "../../parts/focus";
import { formatNames } from "../../parts/format";
import { TimeField } from "../../parts/TimeRange";
import { TagFields } from "../../parts/TagFields";
import {
  type Draft,
  type DraftFormula,
  type DraftOutput,
  type DraftParameter,
  type EditedKind,
  isTimestamp,
  messageAbout,
  NEW_FORMULA,
  NEW_PARAMETER,
  withEntry,
} from "./draft";
import { AddButton, RemoveButton } from "./EntryButtons";
import { FormulaField } from "./FormulaField";
import { MetricFields } from "./MetricFields";
import { RowsFields } from "./RowsFields";
import { TypeField } from "./TypeField";

const STATES: readonly State[] = ["ENABLED", "FROZEN", "DISABLED"];

export interface DraftFieldsProps {
  kind: EditedKind;
  draft: Draft;
  problems: readonly FieldProblem[];
  onChange: (change: Partial<Draft>) => void;
}

export function DraftFields({ kind, draft, problems, onChange }: DraftFieldsProps) {
  return (
    <>
      <div className="row top">
        <Field label="Name" wrong={messageAbout(problems, "name")} className="grow">
          <input
            value={draft.name}
            required
            onChange={(event) => onChange({ name: event.target.value })}
          />
        </Field>
        {draft.version === null ? (
          <GroupField value={draft.group} onChange={(group) => onChange({ group })} />
        ) : (
          <ChoiceField
            label="State"
            value={draft.state}
            choices={formatNames(STATES)}
            onChange={(state) => onChange({ state })}
          />
        )}
      </div>
      {kind === "calculation" ? (
        <Field label="Summary" wrong={messageAbout(problems, "summary")}>
          <input
            value={draft.summary}
            onChange={(event) => onChange({ summary: event.target.value })}
          />
        </Field>
      ) : null}
      <Field label="Description" wrong={messageAbout(problems, "description")}>
        <textarea
          rows={2}
          value={draft.description}
          onChange={(event) => onChange({ description: event.target.value })}
        />
      </Field>
      <TagFields
        tags={draft.tags}
        onChange={(tags) => onChange({ tags })}
        hint=", such as energy/gas"
      />
      <div className="row">
        <TimeField
          label="Active from; if empty, as soon as it is saved"
          value={draft.activeFrom ?? null}
          onChange={(activeFrom) => onChange({ activeFrom })}
        />
      </div>
      {kind === "dataset" ? null : kind === "metric" ? (
        <MetricFields draft={draft} problems={problems} onChange={onChange} />
      ) : (
        <FormulaPart kind={kind} draft={draft} problems={problems} onChange={onChange} />
      )}
    </>
  );
}

/** What pipelines and calculations have: parameters and formulas. */
function FormulaPart({ kind, draft, problems, onChange }: DraftFieldsProps) {
  const parameters = useRowFocus<HTMLFieldSetElement>(draft.parameters.length);
  const formulas = useRowFocus<HTMLDivElement>(draft.formulas.length);
  return (
    <>
      <fieldset className="stack tight" ref={parameters}>
        <legend>Parameters</legend>
        {draft.parameters.map((parameter, index) => (
          <ParameterFields
            key={index}
            parameter={parameter}
            onChange={(changed) =>
              onChange({ parameters: withEntry(draft.parameters, index, changed) })
            }
          />
        ))}
        <p>
          <AddButton onAdd={() => onChange({ parameters: [...draft.parameters, NEW_PARAMETER] })}>
            Add a parameter
          </AddButton>
        </p>
        {kind === "pipeline" ? (
          <CheckField
            label="Ignore other columns of a file"
            checked={draft.extraColumns === "IGNORE"}
            onChange={(isIgnored) => onChange({ extraColumns: isIgnored ? "IGNORE" : "REFUSE" })}
          />
        ) : null}
      </fieldset>
      <div className="stack" ref={formulas}>
        {draft.formulas.map((formula, index) => (
          <FormulaFields
            key={index}
            title={kind === "pipeline" ? `Transform ${index + 1}` : "Formula"}
            formula={formula}
            draft={draft}
            problems={problems.filter(({ path }) =>
              kind === "pipeline"
                ? path.includes("transforms") &&
                  path[path.indexOf("transforms") + 1] === String(index)
                : path.includes("formula"),
            )}
            onChange={(changed) =>
              onChange({ formulas: withEntry(draft.formulas, index, changed) })
            }
            canRemove={draft.formulas.length > 1}
          />
        ))}
        {kind === "pipeline" ? (
          <p>
            <AddButton onAdd={() => onChange({ formulas: [...draft.formulas, NEW_FORMULA] })}>
              Add a transform
            </AddButton>
          </p>
        ) : null}
        {kind === "pipeline" && draft.formulas.some(({ outputs }) => outputs.some(isTimestamp)) ? (
          <CheckField
            label="Write timestamps as milliseconds since 1970, not as ISO 8601"
            checked={draft.timestamps === "EPOCH_MILLISECONDS"}
            onChange={(isNumber) =>
              onChange({ timestamps: isNumber ? "EPOCH_MILLISECONDS" : "ISO_8601" })
            }
          />
        ) : null}
      </div>
      {kind === "pipeline" ? (
        <RowsFields
          draft={draft}
          wrong={problems.find(({ path }) => path.includes("rows"))?.message}
          onChange={onChange}
        />
      ) : null}
    </>
  );
}

interface ParameterFieldsProps {
  parameter: DraftParameter;
  onChange: (parameter: DraftParameter | null) => void;
}

function ParameterFields({ parameter, onChange }: ParameterFieldsProps) {
  return (
    <div className="row" data-row>
      <Field label="Key">
        <input
          value={parameter.key}
          onChange={(event) => onChange({ ...parameter, key: event.target.value })}
        />
      </Field>
      <Field label="Label" className="grow">
        <input
          value={parameter.label}
          onChange={(event) => onChange({ ...parameter, label: event.target.value })}
        />
      </Field>
      <TypeField type={parameter.type} onChange={(type) => onChange({ ...parameter, type })} />
      <CheckField
        label="required"
        checked={parameter.required}
        onChange={(required) => onChange({ ...parameter, required })}
      />
      <RemoveButton what={`parameter ${parameter.key}`} onRemove={() => onChange(null)} />
    </div>
  );
}

interface FormulaFieldsProps {
  title: string;
  formula: DraftFormula;
  draft: Draft;
  problems: readonly FieldProblem[];
  canRemove: boolean;
  onChange: (formula: DraftFormula | null) => void;
}

function FormulaFields(props: FormulaFieldsProps) {
  const { title, formula, draft, problems, canRemove, onChange } = props;
  const changeOutput = (index: number, output: DraftOutput) =>
    onChange({ ...formula, outputs: withEntry(formula.outputs, index, output) });
  return (
    <fieldset className="card stack tight" data-row>
      <legend className="visually-hidden">{title}</legend>
      <div className="row middle">
        <h2 className="grow">{title}</h2>
        {canRemove ? <RemoveButton what={title} onRemove={() => onChange(null)} /> : null}
      </div>
      <FormulaField
        label={title === "Formula" ? "The formula" : `Formula of ${title.toLowerCase()}`}
        formula={formula.formula}
        group={draft.group}
        parameters={draft.parameters}
        problems={problems}
        onChange={(text) => onChange({ ...formula, formula: text })}
      />
      {formula.outputs.map((output, index) => (
        <div key={index} className="row">
          <Field label="Output key">
            <input
              value={output.key}
              onChange={(event) => changeOutput(index, { ...output, key: event.target.value })}
            />
          </Field>
          <Field label="Output label" className="grow">
            <input
              value={output.label}
              onChange={(event) => changeOutput(index, { ...output, label: event.target.value })}
            />
          </Field>
          <TypeField
            type={output.type}
            onChange={(type) => changeOutput(index, { ...output, type })}
          />
        </div>
      ))}
    </fieldset>
  );
}
