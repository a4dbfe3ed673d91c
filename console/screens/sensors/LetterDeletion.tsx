import { announce } from "../../app/announcement";
import { payloadOf } from "../../app/failure";
import { useAction } from "../../app/queries";
import { DeleteLetters } from "../../graphql/generated/sensors";
import { ConfirmationDialog } from "../../parts/ConfirmationDialog";

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
  return (
    <ConfirmationDialog
      title="Delete the dead letter"
      action="Delete for ever"
      removal={remove}
      onConfirm={() => remove.mutate({ input: { ids: [id] } })}
      onClose={onClose}
    >
      <p>
        {events === 1 ? "Its update goes" : `Its ${events} updates go`} and cannot be brought back.
      </p>
    </ConfirmationDialog>
  );
}
