import type { ReactNode, SubmitEvent } from "react";
import { ActionButton } from "./ActionButton";
import { ModalDialog } from "./ModalDialog";
import { Problem } from "./state";

interface ConfirmationDialogProps {
  title: string;
  /** The words of the button that goes on. */
  action: string;
  tone?: "danger" | "primary";
  removal: { readonly error: unknown; readonly isPending: boolean };
  onConfirm: () => void;
  onClose: () => void;
  /** What goes, or what becomes of it. */
  children: ReactNode;
}

/** The dialog before something small goes for ever, or changes at many places: it can be kept instead. */
export function ConfirmationDialog(props: ConfirmationDialogProps) {
  const { title, action, tone = "danger", removal, onConfirm, onClose, children } = props;
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
          <ActionButton tone={tone} isBusy={removal.isPending}>
            {action}
          </ActionButton>
        </div>
      </form>
    </ModalDialog>
  );
}
