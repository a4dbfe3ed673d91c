import { CheckField, ChoiceField, Field } from "../../parts/fields";
import { type Draft, type DraftOutput, isTimestamp } from "./draft";

interface RowsFieldsProps {
  draft: Draft;
  wrong: string | undefined;
  onChange: (change: Pick<Draft, "rows">) => void;
}

/** Which outputs identify a row, so that the pipeline keeps its rows. */
export function RowsFields({ draft, wrong, onChange }: RowsFieldsProps) {
  const outputs = draft.formulas.flatMap(({ outputs: all }) => all).filter(({ key }) => key);
  const rows = draft.rows ?? { key: [] };
  const change = (changed: Partial<typeof rows>) => {
    const next = { ...rows, ...changed };
    onChange({ rows: next.key.length > 0 ? next : null });
  };
  return (
    <fieldset className="stack tight">
      <legend>Kept rows</legend>
      <p className="muted small">
        Outputs that identify a row: with one or more, rows are kept to be corrected and summed.
      </p>
      <p className="row">
        {outputs.map(({ key }) => (
          <CheckField
            key={key}
            label={key}
            checked={rows.key.includes(key)}
            onChange={(isKey) =>
              change({
                key: isKey ? [...rows.key, key] : rows.key.filter((one) => one !== key),
              })
            }
          />
        ))}
      </p>
      {wrong ? <p className="wrong">{wrong}</p> : null}
      {rows.key.length > 0 ? (
        <div className="row">
          <OutputChoice
            label="Time of a row"
            outputs={outputs.filter(isTimestamp)}
            value={rows.time ?? null}
            onChange={(time) => change({ time })}
          />
          <OutputChoice
            label="Group of a row"
            outputs={outputs.filter(({ type }) => type === "STRING")}
            value={rows.group ?? null}
            onChange={(group) => change({ group })}
          />
          <Field label="Days until a row leaves, none for ever">
            <input
              type="number"
              min={1}
              max={36500}
              value={rows.keepDays ?? ""}
              onChange={(event) => change({ keepDays: Number(event.target.value) || null })}
            />
          </Field>
        </div>
      ) : null}
    </fieldset>
  );
}

interface OutputChoiceProps {
  label: string;
  outputs: readonly DraftOutput[];
  value: string | null;
  onChange: (key: string | null) => void;
}

function OutputChoice({ label, outputs, value, onChange }: OutputChoiceProps) {
  return (
    <ChoiceField
      label={label}
      value={value ?? ""}
      choices={[["", "none"], ...outputs.map(({ key }) => [key, key] as const)]}
      onChange={(key) => onChange(key || null)}
    />
  );
}
