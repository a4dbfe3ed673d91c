import { Tag } from "lucide-react";
import { useRef, useState, type SubmitEvent } from "react";
import { announce } from "../app/announcement";
import { payloadOf } from "../app/failure";
import { useAction } from "../app/queries";
import { RemoveVersionLabel, SetVersionLabel } from "../graphql/generated/parts";
import { ActionButton } from "./ActionButton";
import { Field } from "./fields";
import { readForm } from "./forms";
import { RemovablePill } from "./marks";
import { ModalDialog } from "./ModalDialog";
import { Problem } from "./state";

interface VersionLabelsProps {
  /** The id of the resource. */
  id: string;
  version: number;
  labels: readonly string[];
  mayChange: boolean;
}

/** The labels of a version, which can be taken from it, and a way to give it another. */
export function VersionLabels({ id, version, labels, mayChange }: VersionLabelsProps) {
  const remove = useAction(RemoveVersionLabel, (data) => payloadOf(data.removeVersionLabel));
  const [isOpen, setOpen] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const take = (label: string) => {
    const onSuccess = () => {
      opener.current?.focus();
      announce(`Version ${version} no longer has the label ${label}.`);
    };
    remove.mutate({ input: { id, label } }, { onSuccess });
  };
  return (
    <div className="row middle">
      {labels.map((label) =>
        mayChange ? (
          <RemovablePill key={label} label={label} onRemove={() => take(label)} />
        ) : (
          <span key={label} className="pill">
            {label}
          </span>
        ),
      )}
      {mayChange ? (
        <button
          type="button"
          className="button quiet icon"
          aria-label={`Label version ${version}`}
          ref={opener}
          onClick={() => setOpen(true)}
        >
          <Tag size={16} aria-hidden />
        </button>
      ) : null}
      {remove.error ? <Problem error={remove.error} /> : null}
      {isOpen ? <NewLabel id={id} version={version} onClose={() => setOpen(false)} /> : null}
    </div>
  );
}

interface NewLabelProps {
  id: string;
  version: number;
  onClose: () => void;
}

function NewLabel({ id, version, onClose }: NewLabelProps) {
  const give = useAction(SetVersionLabel, (data) => payloadOf(data.setVersionLabel));
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    const { label = "", move } = readForm(event);
    const onSuccess = () => {
      onClose();
      announce(`Version ${version} has the label ${label}.`);
    };
    give.mutate({ input: { id, version, label, move: move !== undefined } }, { onSuccess });
  };
  return (
    <ModalDialog title={`Label version ${version}`} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="Label">
          <input name="label" required maxLength={64} autoComplete="off" />
        </Field>
        <label className="check">
          <input type="checkbox" name="move" />
          <span>Take it from another version that has it</span>
        </label>
        {give.error ? <Problem error={give.error} /> : null}
        <ActionButton isBusy={give.isPending}>Give the label</ActionButton>
      </form>
    </ModalDialog>
  );
}
