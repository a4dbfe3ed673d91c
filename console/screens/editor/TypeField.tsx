import type { ValueType } from "../../graphql/generated/types";
import { ChoiceField } from "../../parts/fields";
import { formatNames } from "../../parts/format";

const TYPES: readonly ValueType[] = ["NUMBER", "STRING", "BOOLEAN", "TIMESTAMP"];

interface TypeFieldProps {
  label?: string;
  type: ValueType;
  onChange: (type: ValueType) => void;
}

/** A field for the type of a parameter, an output or a column. */
export function TypeField({ label = "Type", type, onChange }: TypeFieldProps) {
  return (
    <ChoiceField label={label} value={type} choices={formatNames(TYPES)} onChange={onChange} />
  );
}
