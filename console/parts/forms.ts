import type { SubmitEvent } from "react";

/** The texts of a form's fields by their names. */
export function readForm(event: SubmitEvent<HTMLFormElement>): Readonly<Record<string, string>> {
  event.preventDefault();
  const entries = [...new FormData(event.currentTarget)];
  return Object.fromEntries(
    entries.flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  );
}
