import { type KeyboardEvent, useRef, useState } from "react";
import type { TagInput } from "../graphql/generated/types";
import { Field } from "./fields";
import { RemovablePill } from "./marks";

interface TagFieldsProps {
  tags: readonly TagInput[];
  onChange: (tags: readonly TagInput[]) => void;
  /** The words before an example of a value. */
  hint?: string;
}

/** The tags of something: each can be removed, and others added. */
export function TagFields({ tags, onChange, hint = "" }: TagFieldsProps) {
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const keyField = useRef<HTMLInputElement>(null);
  // What had the focus is gone, or done: the next tag begins at its key.
  const change = (changed: readonly TagInput[]) => {
    onChange(changed);
    keyField.current?.focus();
  };
  const add = () => {
    if (!key.trim() || !value.trim()) return;
    change([...tags, { key: key.trim(), value: value.trim() }]);
    setKey("");
    setValue("");
  };
  // Within a form, Enter adds a tag that is typed instead of sending the form without it.
  const addByKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(key + value).trim()) return;
    event.preventDefault();
    add();
  };
  return (
    <fieldset className="stack tight">
      <legend>Tags</legend>
      <div className="pills">
        {tags.map((tag) => (
          <RemovablePill
            key={`${tag.key} ${tag.value}`}
            label={`${tag.key} ${tag.value}`}
            onRemove={() => change(tags.filter((one) => one !== tag))}
          />
        ))}
      </div>
      <div className="row" onKeyDown={addByKey}>
        <Field label="Tag key">
          <input ref={keyField} value={key} onChange={(event) => setKey(event.target.value)} />
        </Field>
        <Field label={`Tag value${hint}`}>
          <input value={value} onChange={(event) => setValue(event.target.value)} />
        </Field>
        <button type="button" className="button" onClick={add}>
          Add the tag
        </button>
      </div>
    </fieldset>
  );
}
