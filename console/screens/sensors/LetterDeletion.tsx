import type { SubmitEvent } from "react";
import { announce } from "../../app/announcement";
import { payloadOf } from "../../app/failure";
import { useAction } from "../../app/queries";
import { DeleteLetters } from "../../graphql/generated/sensors";
import { ActionButton } from "../../parts/ActionButton";
import { ModalDialog } from "../../parts/ModalDialog";
import { Problem } from "../../parts/state";

interface LetterDeletionProps {
  id: string;
  events: number;
  onClose: () => void;
  /** The letter is deleted; the dialog closes next. */
  onGone: () => void;
}

/** The deletion of a dead letter with its contents, once it is confirmed. */
export function LetterDeletion({ id, events, onClose, onGone }: LetterDeletionProps) {
  const remove = useAction(
    DeleteLetters,
    (data) => payloadOf(data.deleteDeadLetters),
    () => {
      onGone();
      onClose();
      announce("The dead letter is deleted.");
    },
  );
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    remove.mutate({ input: { ids: [id] } });
  };
  return (
    <ModalDialog title="Delete the dead letter" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p>
          {events === 1 ? "Its update goes" : `Its ${events} updates go`} and cannot be brought
          back.
        </p>
        {remove.error ? <Problem error={remove.error} /> : null}
        <div className="row">
          <button type="button" className="button" onClick={onClose}>
            Keep it
          </button>
          <ActionButton tone="danger" isBusy={remove.isPending}>
            Delete for ever
          </ActionButton>
        </div>
      </form>
    </ModalDialog>
  );
}
