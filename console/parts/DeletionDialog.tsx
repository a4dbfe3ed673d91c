import { type ReactNode, useState, type SubmitEvent } from "react";
import { ActionButton } from "./ActionButton";
import { Field } from "./fields";
import { ModalDialog } from "./ModalDialog";
import { Problem } from "./state";

interface DeletionDialogProps {
  title: string;
  /** What has to be typed, and the label of its field. */
  name: string;
  label: string;
  /** The words of the button. */
  action: string;
  deletion: { readonly error: unknown; readonly isPending: boolean };
  onDelete: () => void;
  onClose: () => void;
  /** What goes. */
  children: ReactNode;
}

/** The dialog of a deletion that cannot be undone: it asks for a name. */
export function DeletionDialog(props: DeletionDialogProps) {
  const { title, name, label, action, deletion, onDelete, onClose, children } = props;
  const [typed, setTyped] = useState("");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onDelete();
  };
  return (
    <ModalDialog title={title} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        {children}
        <Field label={label}>
          <input
            value={typed}
            autoComplete="off"
            onChange={(event) => setTyped(event.target.value)}
          />
        </Field>
        {deletion.error ? <Problem error={deletion.error} /> : null}
        <ActionButton tone="danger" isBusy={deletion.isPending} disabled={typed !== name}>
          {action}
        </ActionButton>
      </form>
    </ModalDialog>
  );
}
