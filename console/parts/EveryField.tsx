import type { Every } from "../graphql/generated/types";
import { useAddress } from "./address";
import { ChoiceField } from "./fields";
import { formatNames } from "./format";

const LENGTHS: readonly Every[] = ["HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"];

/** The length of times in the address; a month if there is none. */
export function readEvery(search: URLSearchParams): Every {
  return LENGTHS.find((one) => one === search.get("every")) ?? "MONTH";
}

/** A field for the length of times, which the address keeps. */
export function EveryField({ value }: { value: Every }) {
  const { change } = useAddress();
  return (
    <ChoiceField
      label="Every"
      value={value}
      choices={formatNames(LENGTHS)}
      onChange={(every) => change({ every })}
    />
  );
}
