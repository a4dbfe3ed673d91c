import { hereWith } from "../../parts/address";

/** The address at which the execution's screen explains a row of the output. */
export function whyAt(row: number): string {
  return hereWith({ row: String(row) });
}
