import { Field } from "./fields";

interface TimeFieldProps {
  label: string;
  value: string | null;
  onChange: (time: string | null) => void;
}

/** A field for a time in the reader's zone; its value is an ISO 8601 time in UTC. */
export function TimeField({ label, value, onChange }: TimeFieldProps) {
  return (
    <Field label={label}>
      <input
        type="datetime-local"
        value={value ? toLocal(value) : ""}
        onChange={(event) =>
          onChange(event.target.value ? new Date(event.target.value).toISOString() : null)
        }
      />
    </Field>
  );
}

function toLocal(time: string): string {
  const at = new Date(time);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
