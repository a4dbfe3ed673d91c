import { useDeferredValue, useId, useState } from "react";
import { useAnswer, useServices } from "../../app/queries";
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
  const { api } = useServices();
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
  const choose = (taken: { id: string } | undefined) => {
    if (!taken) return;
    setTyped("");
    onChange(taken.id);
  };
  const type = (text: string, isPicked: boolean) => {
    setTyped(text);
    if (isPicked) choose(choices.find((one) => one.name === text));
  };
  // The enter key may come before the names do.
  const enter = async () => {
    const startsWith = typed.trim();
    if (!startsWith) return;
    const { nodes } = (await api.run(PipelineChoices, { group, name: { startsWith } })).pipelines;
    choose(nodes.find((one) => one.name === startsWith) ?? nodes[0]);
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
        onChange={(event) => type(event.target.value, isPick(event.nativeEvent))}
        onKeyDown={(event) => {
          if (event.key === "Enter") void enter();
        }}
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

/** Whether an input took one of the offered names, and no letter that was typed. */
function isPick(event: Event): boolean {
  return !(event instanceof InputEvent) || event.inputType === "insertReplacementText";
}
