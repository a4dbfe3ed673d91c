import type { ReactNode, SubmitEvent } from "react";
import { ActionButton } from "./ActionButton";
import { ModalDialog } from "./ModalDialog";
import { Problem } from "./state";

interface ConfirmationDialogProps {
  title: string;
  /** The words of the button that goes on. */
  action: string;
  removal: { readonly error: unknown; readonly isPending: boolean };
  onConfirm: () => void;
  onClose: () => void;
  /** What goes. */
  children: ReactNode;
}

/** The dialog before something small goes for ever: it can be kept instead. */
export function ConfirmationDialog(props: ConfirmationDialogProps) {
  const { title, action, removal, onConfirm, onClose, children } = props;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onConfirm();
  };
  return (
    <ModalDialog title={title} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        {children}
        {removal.error ? <Problem error={removal.error} /> : null}
        <div className="row">
          <button type="button" className="button" onClick={onClose}>
            Keep it
          </button>
          <ActionButton tone="danger" isBusy={removal.isPending}>
            {action}
          </ActionButton>
        </div>
      </form>
    </ModalDialog>
  );
}
