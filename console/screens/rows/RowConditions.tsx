import type { SubmitEvent } from "react";
import type { RowConditionInput } from "../../graphql/generated/types";
import { useAddress } from "../../parts/address";
import { Field } from "../../parts/fields";
import { readForm } from "../../parts/forms";
import { RemovablePill } from "../../parts/marks";
import { readTag, writeTag } from "../catalogue/tagFilter";
import type { RowOutput } from "./rowOutputs";

/** What the address asks of the outputs of rows, each as `output=value`. */
export function readConditions(
  search: URLSearchParams,
  outputs: readonly RowOutput[],
): RowConditionInput[] {
  return search.getAll("where").flatMap((text) => {
    const read = readTag(text);
    const output = outputs.find(({ key }) => key === read?.key);
    return read && output ? [{ output: output.key, eq: valueOf(read.value, output.type) }] : [];
  });
}

/** A typed value as the API compares it. */
function valueOf(text: string, type: string): unknown {
  if (type === "NUMBER" && text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
  if (type === "BOOLEAN") return text.trim().toLowerCase() === "true";
  return text;
}

/** Narrows the rows to those with certain values. */
export function RowConditions({ outputs }: { outputs: readonly RowOutput[] }) {
  const { search, change } = useAddress();
  const given = search.getAll("where");
  const choices = outputs.filter(({ type }) => type !== "TIMESTAMP");
  const add = (event: SubmitEvent<HTMLFormElement>) => {
    const { output = "", value = "" } = readForm(event);
    change({ where: [...new Set([...given, writeTag({ key: output, value })])] });
    event.currentTarget.reset();
  };
  return (
    <search className="stack tight" aria-label="Values of rows">
      <form className="row" onSubmit={add}>
        <Field label="Only rows whose">
          <select name="output">
            {choices.map(({ key, label }) => (
              <option key={key} value={key}>
                {label}
              </option>
            ))}
          </select>
        </Field>
        <Field label="is">
          <input name="value" required />
        </Field>
        <button type="submit" className="button">
          Narrow
        </button>
      </form>
      {given.length > 0 ? (
        <ul className="pills" aria-label="Chosen values">
          {given.map((text) => (
            <li key={text}>
              <RemovablePill
                label={wordsOf(text, outputs)}
                onRemove={() => change({ where: given.filter((one) => one !== text) })}
              />
            </li>
          ))}
        </ul>
      ) : null}
    </search>
  );
}

function wordsOf(text: string, outputs: readonly RowOutput[]): string {
  const read = readTag(text);
  const label = outputs.find(({ key }) => key === read?.key)?.label ?? read?.key ?? "";
  return `${label} ${read?.value ?? ""}`;
}
