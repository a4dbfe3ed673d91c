import { type ReactNode, useId, useState } from "react";
import { useAddress } from "./address";
import { formatNames } from "./format";
import { matchGroups, readGroup, useSeenGroups } from "./seenGroups";

interface FieldProps {
  label: string;
  wrong?: ReactNode;
  children: ReactNode;
  className?: string;
}

/** A labelled control. */
export function Field({ label, wrong, children, className = "" }: FieldProps) {
  return (
    <label className={`field ${className}`}>
      <span>{label}</span>
      {children}
      {wrong ? <span className="wrong">{wrong}</span> : null}
    </label>
  );
}

interface ChoiceFieldProps<Value extends string> {
  label: string;
  value: Value;
  /** The values with their words. */
  choices: readonly (readonly [Value, string])[];
  onChange: (value: Value) => void;
  className?: string;
}

/** A field for one of several values. */
export function ChoiceField<Value extends string>(props: ChoiceFieldProps<Value>) {
  const { label, value, choices, onChange, className = "" } = props;
  const choose = (text: string) => {
    const chosen = choices.find(([one]) => one === text);
    if (chosen) onChange(chosen[0]);
  };
  return (
    <Field label={label} className={className}>
      <select value={value} onChange={(event) => choose(event.target.value)}>
        {choices.map(([one, words]) => (
          <option key={one} value={one}>
            {words}
          </option>
        ))}
      </select>
    </Field>
  );
}

interface CheckFieldProps {
  label: string;
  /** What it is for, in words for the ear, where its label is the same as those of others. */
  name?: string;
  checked: boolean;
  disabled?: boolean;
  onChange: (isChecked: boolean) => void;
}

/** A box for what is so or not, before its words. */
export function CheckField({ label, name, checked, disabled, onChange }: CheckFieldProps) {
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        aria-label={name}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span>{label}</span>
    </label>
  );
}

interface GroupFieldProps {
  label?: string;
  value: string;
  onChange: (path: string) => void;
  placeholder?: string;
  required?: boolean;
}

/** As many as are offered. */
const MOST_CHOICES = 20;

/** A field for a group, which offers those whose path or name has what is typed. */
export function GroupField(props: GroupFieldProps) {
  const { label = "Group", value, onChange, placeholder, required } = props;
  const id = useId();
  const [typed, setTyped] = useState(value);
  const [shown, setShown] = useState(value);
  const [wrong, setWrong] = useState("");
  const [isUsed, setUsed] = useState(false);
  const seen = useSeenGroups(isUsed);
  const show = (path: string) => {
    setShown(path);
    setTyped(path);
    setWrong("");
  };
  if (shown !== value) show(value);
  const choices = matchGroups(seen.data?.groups ?? [], typed).slice(0, MOST_CHOICES);
  const isPath = typed.trim() === "" || typed.startsWith("/");
  const meant = isPath || !seen.data ? null : readGroup(seen.data, typed);
  const commit = async () => {
    if (typed === value) return;
    // A path is one without a look at any group.
    const groups = isPath ? NO_GROUPS : (seen.data ?? (await seen.refetch()).data ?? NO_GROUPS);
    const found = readGroup(groups, typed);
    if ("wrong" in found) {
      setWrong(found.wrong);
      return;
    }
    show(found.path);
    onChange(found.path);
  };
  return (
    <Field label={label} className="grow" wrong={wrong ? <span role="alert">{wrong}</span> : null}>
      <input
        list={id}
        value={typed}
        placeholder={placeholder}
        required={required}
        aria-label={label}
        aria-describedby={`${id}-meant`}
        aria-invalid={wrong !== ""}
        onFocus={() => setUsed(true)}
        onChange={(event) => {
          setTyped(event.target.value);
          setWrong("");
        }}
        onBlur={() => void commit()}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          // A part of a name is no choice that a form may send: its path is seen first.
          if (!isPath && typed !== value) event.preventDefault();
          void commit();
        }}
      />
      <span id={`${id}-meant`} role="status" className="small muted">
        {meant ? ("path" in meant ? `Enter takes ${meant.path}` : meant.wrong) : ""}
      </span>
      <datalist id={id}>
        {choices.map(({ path, name }) => (
          <option key={path} value={path}>
            {name}
          </option>
        ))}
      </datalist>
    </Field>
  );
}

const NO_GROUPS = { groups: [], isWhole: false };

interface AddressFieldProps {
  label: string;
  name: string;
  placeholder: string;
}

/** A field for a part of the address, which changes when it is left or with Enter. */
export function AddressField({ label, name, placeholder }: AddressFieldProps) {
  const { search, change } = useAddress();
  const value = search.get(name) ?? "";
  const [typed, setTyped] = useState(value);
  const [shown, setShown] = useState(value);
  if (shown !== value) {
    setShown(value);
    setTyped(value);
  }
  return (
    <Field label={label}>
      <input
        value={typed}
        placeholder={placeholder}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={(event) => change({ [name]: event.target.value || null })}
        onKeyDown={(event) => {
          if (event.key === "Enter") change({ [name]: event.currentTarget.value || null });
        }}
      />
    </Field>
  );
}

/** Whether a list also has what lies in groups below, which is a part of the address. */
export function BelowField({ checked }: { checked: boolean }) {
  const { change } = useAddress();
  return (
    <CheckField
      label="with groups below"
      checked={checked}
      onChange={(isChecked) => change({ below: isChecked ? null : "no" })}
    />
  );
}

interface StateFieldProps {
  value: string | null | undefined;
  states: readonly string[];
}

/** The state of what a list has, or any, which is a part of the address. */
export function StateField({ value, states }: StateFieldProps) {
  const { change } = useAddress();
  return (
    <ChoiceField
      label="State"
      value={value ?? ""}
      choices={[["", "any"], ...formatNames(states)]}
      onChange={(state) => change({ state: state || null })}
    />
  );
}
