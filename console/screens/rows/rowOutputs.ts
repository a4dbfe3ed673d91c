import { formatTimestamp } from "../../parts/format";

/** An output of a row, by its key, with the words that people read. */
export interface RowOutput {
  readonly key: string;
  readonly label: string;
  readonly type: string;
}

/** The value of an output among the values of a row; a timestamp as a time in UTC. */
export function textOf(values: unknown, { key, type }: RowOutput): string {
  const value = (values as Record<string, unknown>)[key];
  if (value === null || value === undefined) return "";
  const time = type === "TIMESTAMP" ? formatTimestamp(value) : undefined;
  return time ?? (typeof value === "string" ? value : JSON.stringify(value));
}
