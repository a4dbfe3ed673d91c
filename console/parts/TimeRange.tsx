import { type FocusEvent, useId, useState } from "react";

interface TimeFieldProps {
  label: string;
  value: string | null;
  onChange: (time: string | null) => void;
}

/** A year that is typed is 0002, 0020 and 0202 before it is 2026. */
const WHOLE = /^[1-9]\d{3}-/;
const LAST = "9999-12-31";
const MIDNIGHT = "00:00";

interface TypedTime {
  readonly date: string;
  /** The time of the day; empty for its start. */
  readonly time: string;
}

/**
 * A field for a time in the reader's zone; its value is an ISO 8601 time in UTC. A date alone is the
 * start of that day.
 */
export function TimeField({ label, value, onChange }: TimeFieldProps) {
  const id = useId();
  const [typed, setTyped] = useState(() => toLocal(value));
  const [shown, setShown] = useState(value);
  if (shown !== value) {
    setShown(value);
    setTyped(toLocal(value));
  }
  const take = (next: TypedTime) => {
    // The value may be more exact than the field, which is passed through without a change.
    const known = toLocal(value);
    if (next.date !== known.date || next.time !== known.time) onChange(toUtc(next));
  };
  const change = (next: TypedTime) => {
    setTyped(next);
    // A part that is typed anew leaves its field empty for a while, so that is no answer yet.
    if (isWhole(next.date) && (next.time !== "" || typed.time === "")) take(next);
  };
  const commit = () => {
    if (isWhole(typed.date)) take(typed);
    else if (typed.date === "" && value !== null) onChange(null);
  };
  const leave = ({ currentTarget, relatedTarget }: FocusEvent) => {
    if (!currentTarget.contains(relatedTarget)) commit();
  };
  return (
    <div
      className="field"
      onBlur={leave}
      onKeyDown={(event) => {
        if (event.key === "Enter") commit();
      }}
    >
      <label htmlFor={id}>{label}</label>
      <div className="moment">
        <input
          id={id}
          type="date"
          max={LAST}
          value={typed.date}
          aria-describedby={`${id}-start`}
          onChange={(event) => change({ ...typed, date: event.target.value })}
        />
        <input
          type="time"
          value={typed.time}
          aria-label={`Time of day: ${label}`}
          onChange={(event) => change({ ...typed, time: event.target.value })}
        />
      </div>
      <span id={`${id}-start`} className="small muted">
        {isWhole(typed.date) && typed.time === "" ? "at the start of this day" : ""}
      </span>
    </div>
  );
}

/** Whether a typed date has a whole year. */
export function isWhole(date: string): boolean {
  return WHOLE.test(date);
}

/** A time in the reader's zone, as the field holds it, as a time in UTC. */
export function toUtc({ date, time }: TypedTime): string {
  return new Date(`${date}T${time || MIDNIGHT}`).toISOString();
}

/** A time in UTC as the field holds it, in the reader's zone; empty for none. */
export function toLocal(value: string | null): TypedTime {
  const at = new Date(value ?? NaN);
  if (Number.isNaN(at.getTime())) return { date: "", time: "" };
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString();
  const time = local.slice(11, 16);
  return { date: local.slice(0, 10), time: time === MIDNIGHT ? "" : time };
}
