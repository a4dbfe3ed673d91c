import { useState } from "react";
import { Field } from "./fields";

interface TimeFieldProps {
  label: string;
  value: string | null;
  onChange: (time: string | null) => void;
}

/** A year that is typed is 0002, 0020 and 0202 before it is 2026. */
const WHOLE = /^[1-9]\d{3}-/;
const LAST = "9999-12-31T23:59";

/** A field for a time in the reader's zone; its value is an ISO 8601 time in UTC. */
export function TimeField({ label, value, onChange }: TimeFieldProps) {
  const [typed, setTyped] = useState(() => toLocal(value));
  const [shown, setShown] = useState(value);
  if (shown !== value) {
    setShown(value);
    setTyped(toLocal(value));
  }
  const change = (text: string) => {
    setTyped(text);
    if (isWhole(text)) onChange(toUtc(text));
  };
  // A part that is typed anew leaves the field empty for a while, so that is no answer yet.
  const commit = () => {
    if (typed === "" && value !== null) onChange(null);
  };
  return (
    <Field label={label}>
      <input
        type="datetime-local"
        max={LAST}
        value={typed}
        onChange={(event) => change(event.target.value)}
        onBlur={commit}
        onKeyDown={(event) => {
          if (event.key === "Enter") commit();
        }}
      />
    </Field>
  );
}

/** Whether a typed time has a whole year. */
export function isWhole(text: string): boolean {
  return WHOLE.test(text);
}

/** A time in the reader's zone, as the field holds it, as a time in UTC. */
export function toUtc(text: string): string {
  return new Date(text).toISOString();
}

/** A time in UTC as the field holds it, in the reader's zone; empty for none. */
export function toLocal(time: string | null): string {
  if (time === null) return "";
  const at = new Date(time);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
