import { Pencil, Trash2 } from "lucide-react";
import { useState, type SubmitEvent } from "react";
import { announce } from "../../app/announcement";
import { payloadOf } from "../../app/failure";
import { useAction } from "../../app/queries";
import { DeletePlaylist, RenamePlaylist } from "../../graphql/generated/audio";
import { ActionButton } from "../../parts/ActionButton";
import { DeletionDialog } from "../../parts/DeletionDialog";
import { Field } from "../../parts/fields";
import { readForm } from "../../parts/forms";
import { ModalDialog } from "../../parts/ModalDialog";
import { Problem } from "../../parts/state";

interface PlaylistChangeProps {
  id: string;
  name: string;
  version: number;
  onGone: () => void;
}

/** The buttons that give a playlist another name, or delete it. */
export function PlaylistChange(props: PlaylistChangeProps) {
  const [step, setStep] = useState<"rename" | "delete" | null>(null);
  const onClose = () => setStep(null);
  return (
    <>
      <button type="button" className="button" onClick={() => setStep("rename")}>
        <Pencil size={16} aria-hidden /> Rename
      </button>
      <button type="button" className="button danger" onClick={() => setStep("delete")}>
        <Trash2 size={16} aria-hidden /> Delete
      </button>
      {step === "rename" ? <Renaming {...props} onClose={onClose} /> : null}
      {step === "delete" ? <Deletion {...props} onClose={onClose} /> : null}
    </>
  );
}

type DialogProps = PlaylistChangeProps & { onClose: () => void };

function Renaming({ id, name, version, onClose }: DialogProps) {
  const rename = useAction(
    RenamePlaylist,
    (data) => payloadOf(data.renamePlaylist),
    (_, { input }) => {
      onClose();
      announce(`The playlist is named ${input.name} now.`);
    },
  );
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    const typed = readForm(event)["name"] ?? "";
    rename.mutate({ input: { id, name: typed, expectedVersion: version } });
  };
  return (
    <ModalDialog title={`Rename ${name}`} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="Name">
          <input name="name" defaultValue={name} required maxLength={128} />
        </Field>
        {rename.error ? <Problem error={rename.error} /> : null}
        <ActionButton isBusy={rename.isPending}>Rename it</ActionButton>
      </form>
    </ModalDialog>
  );
}

function Deletion({ id, name, version, onClose, onGone }: DialogProps) {
  const remove = useAction(
    DeletePlaylist,
    (data) => payloadOf(data.deletePlaylist),
    () => {
      onGone();
      announce(`The playlist ${name} is deleted.`);
    },
  );
  return (
    <DeletionDialog
      title={`Delete ${name}`}
      name={name}
      label="Type its name to delete it"
      action="Delete the playlist"
      deletion={remove}
      onDelete={() => remove.mutate({ input: { id, expectedVersion: version } })}
      onClose={onClose}
    >
      <p>Its tracks stay in the library. The list itself cannot be brought back.</p>
    </DeletionDialog>
  );
}
