import { useDeferredValue, useId } from "react";
import type { FieldProblem } from "../../app/failure";
import { useAnswer } from "../../app/queries";
import { CompleteMetric, CompletePipeline, PipelineOutputs } from "../../graphql/generated/editor";
import type { MeasureFunction } from "../../graphql/generated/types";
import { ChoiceField, Field } from "../../parts/fields";
import { useRowFocus } from "../../parts/focus";
import { formatNames } from "../../parts/format";
import { type Draft, type DraftInput, messageAbout, NEW_INPUT, withEntry } from "./draft";
import { AddButton, RemoveButton } from "./EntryButtons";

const MEASURES: readonly MeasureFunction[] = ["SUM", "COUNT", "MIN", "MAX", "AVG"];
const SOURCES: readonly (readonly [DraftInput["kind"], string])[] = [
  ["pipeline", "rows of a pipeline"],
  ["metric", "another metric"],
];
/** As many as the API takes. */
const MOST = 20;

interface MetricFieldsProps {
  draft: Draft;
  problems: readonly FieldProblem[];
  onChange: (change: Partial<Draft>) => void;
}

/** The function of a metric, its unit, and what it is made of. */
export function MetricFields({ draft, problems, onChange }: MetricFieldsProps) {
  return (
    <>
      <div className="row">
        <ChoiceField
          label="Function over the inputs"
          value={draft.measure}
          choices={formatNames(MEASURES)}
          onChange={(measure) => onChange({ measure })}
        />
        <Field label="Unit" wrong={messageAbout(problems, "unit")}>
          <input
            value={draft.unit}
            maxLength={64}
            onChange={(event) => onChange({ unit: event.target.value })}
          />
        </Field>
      </div>
      {draft.inputs ? (
        <InputList
          inputs={draft.inputs}
          group={draft.group}
          problems={problems}
          onChange={(inputs) => onChange({ inputs })}
        />
      ) : (
        <p className="note">You do not see all inputs of this metric. They stay as they are.</p>
      )}
    </>
  );
}

interface InputListProps {
  inputs: readonly DraftInput[];
  group: string;
  problems: readonly FieldProblem[];
  onChange: (inputs: readonly DraftInput[]) => void;
}

function InputList({ inputs, group, problems, onChange }: InputListProps) {
  const list = useRowFocus<HTMLFieldSetElement>(inputs.length);
  return (
    <fieldset className="stack tight" ref={list}>
      <legend>Inputs</legend>
      {inputs.map((input, index) => (
        <InputFields
          key={index}
          number={index + 1}
          input={input}
          group={group}
          wrong={problems.find(({ path }) => path.join(".").includes(`inputs.${index}`))?.message}
          onChange={(changed) => onChange(withEntry(inputs, index, changed))}
        />
      ))}
      <p>
        {inputs.length < MOST ? (
          <AddButton onAdd={() => onChange([...inputs, NEW_INPUT])}>Add an input</AddButton>
        ) : null}
      </p>
    </fieldset>
  );
}

interface InputFieldsProps {
  number: number;
  input: DraftInput;
  group: string;
  wrong: string | undefined;
  onChange: (input: DraftInput | null) => void;
}

function InputFields({ number, input, group, wrong, onChange }: InputFieldsProps) {
  const list = useId();
  const { names, outputs } = useSources(input, group);
  const rename = (name: string) => onChange({ ...input, id: null, name });
  return (
    <div className="row" data-row>
      <ChoiceField
        label={`Input ${number} is`}
        value={input.kind}
        choices={SOURCES}
        onChange={(kind) => onChange({ ...NEW_INPUT, kind })}
      />
      <Field label={`Name of the ${input.kind}`} wrong={wrong} className="grow">
        <input
          list={list}
          value={input.name}
          required
          onChange={(event) => rename(event.target.value)}
        />
        <datalist id={list}>
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </Field>
      {input.kind === "pipeline" ? (
        <Field label="Output">
          <select
            value={input.output}
            required
            onChange={(event) => onChange({ ...input, output: event.target.value })}
          >
            <option value="">choose</option>
            {outputs.map(({ key, label }) => (
              <option key={key} value={key}>
                {label}
              </option>
            ))}
          </select>
        </Field>
      ) : null}
      <RemoveButton what={`input ${number}`} onRemove={() => onChange(null)} />
    </div>
  );
}

/** The names that begin as an input's does, and the outputs of the pipeline that has its name. */
function useSources({ kind, name, output }: DraftInput, group: string) {
  const typed = useDeferredValue(name.trim());
  const scope = { group: group || null };
  const isPipeline = kind === "pipeline" && typed !== "";
  const isMetric = kind === "metric" && typed !== "";
  const asked = { ...scope, prefix: typed };
  const pipelines = useAnswer(CompletePipeline, asked, { enabled: isPipeline, keep: true });
  const metrics = useAnswer(CompleteMetric, asked, { enabled: isMetric, keep: true });
  // A name that is not whole yet is none: then there are no outputs to choose from.
  const found = useAnswer(PipelineOutputs, { ...scope, name: typed }, { enabled: isPipeline });
  const outputs = (found.data?.pipelineByName?.transformer.transforms ?? []).flatMap(
    ({ outputs: all }) =>
      all.flatMap(({ key, label }) => (key ? [{ key, label: label ?? key }] : [])),
  );
  const isKnown = output === "" || outputs.some(({ key }) => key === output);
  return {
    names: (kind === "metric"
      ? (metrics.data?.metrics.nodes ?? [])
      : (pipelines.data?.pipelines.nodes ?? [])
    ).map((one) => one.name),
    outputs: isKnown ? outputs : [...outputs, { key: output, label: output }],
  };
}
