import { type ReactNode, useDeferredValue, useId, useState } from "react";
import { GroupChoices } from "../graphql/generated/parts";
import { useAnswer } from "../app/queries";

interface FieldProps {
  label: string;
  wrong?: string | undefined;
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

interface GroupFieldProps {
  label?: string;
  value: string;
  onChange: (path: string) => void;
  placeholder?: string;
}

/** A field for the path of a group, which completes the groups below the one that is typed. */
export function GroupField({ label = "Group", value, onChange, placeholder }: GroupFieldProps) {
  const id = useId();
  const [typed, setTyped] = useState(value);
  const [shown, setShown] = useState(value);
  if (shown !== value) {
    setShown(value);
    setTyped(value);
  }
  const parent = useDeferredValue(typed.slice(0, typed.lastIndexOf("/")) || "/");
  const { data } = useAnswer(GroupChoices, { path: parent }, { enabled: typed.startsWith("/") });
  const choices = data?.group?.children.nodes ?? [];
  const commit = () => {
    if (typed !== value) onChange(typed.trim());
  };
  return (
    <Field label={label} className="grow">
      <input
        list={id}
        value={typed}
        placeholder={placeholder}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={commit}
        onKeyDown={(event) => {
          if (event.key === "Enter") commit();
        }}
      />
      <datalist id={id}>
        {choices.map(({ path }) => (
          <option key={path} value={path} />
        ))}
      </datalist>
    </Field>
  );
}
