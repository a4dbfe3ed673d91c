import type { Every } from "../graphql/generated/types";
import { useAddress } from "./address";
import { Field } from "./fields";
import { formatName } from "./format";

const LENGTHS: readonly Every[] = ["HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"];

/** The length of times in the address; a month if there is none. */
export function readEvery(search: URLSearchParams): Every {
  return LENGTHS.find((one) => one === search.get("every")) ?? "MONTH";
}

/** A field for the length of times, which the address keeps. */
export function EveryField({ value }: { value: Every }) {
  const { change } = useAddress();
  return (
    <Field label="Every">
      <select value={value} onChange={(event) => change({ every: event.target.value })}>
        {LENGTHS.map((one) => (
          <option key={one} value={one}>
            {formatName(one)}
          </option>
        ))}
      </select>
    </Field>
  );
}
