import { useDeferredValue, useId, useState } from "react";
import { useAnswer } from "../../app/queries";
import { ChosenPipeline, PipelineChoices } from "../../graphql/generated/executions";
import { Field } from "../../parts/fields";
import { RemovablePill } from "../../parts/marks";

interface PipelineFieldProps {
  group: string | null;
  /** The id of the chosen pipeline. */
  value: string | null;
  onChange: (id: string | null) => void;
}

/** Chooses one pipeline: its name is completed while it is typed. */
export function PipelineField({ group, value, onChange }: PipelineFieldProps) {
  const id = useId();
  const [typed, setTyped] = useState("");
  const name = useDeferredValue(typed.trim());
  const chosen = useAnswer(ChosenPipeline, { id: value ?? "" }, { enabled: value !== null });
  const found = useAnswer(
    PipelineChoices,
    { group, name: { startsWith: name } },
    { enabled: name !== "", keep: true },
  );
  const choices = found.data?.pipelines.nodes ?? [];
  const type = (text: string) => {
    setTyped(text);
    const taken = choices.find((one) => one.name === text);
    if (!taken) return;
    setTyped("");
    onChange(taken.id);
  };
  if (value !== null) {
    return (
      <div className="field">
        <span>Pipeline</span>
        <span className="chosen-value">
          <RemovablePill
            label={chosen.data?.pipeline?.name ?? "one that you do not see"}
            onRemove={() => onChange(null)}
          />
        </span>
      </div>
    );
  }
  return (
    <Field label="Pipeline">
      <input
        list={id}
        value={typed}
        placeholder="its name"
        onChange={(event) => type(event.target.value)}
      />
      <datalist id={id}>
        {choices.map((one) => (
          <option key={one.id} value={one.name}>
            {one.owner}
          </option>
        ))}
      </datalist>
    </Field>
  );
}
