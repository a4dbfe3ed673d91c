import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Pencil } from "lucide-react";
import { useState, type SubmitEvent } from "react";
import { announce } from "../../app/announcement";
import type { Failure } from "../../app/failure";
import { readAgain, useServices } from "../../app/queries";
import { ActionButton } from "../../parts/ActionButton";
import { useAddress } from "../../parts/address";
import { ConfirmationDialog } from "../../parts/ConfirmationDialog";
import { Field } from "../../parts/fields";
import { ModalDialog } from "../../parts/ModalDialog";
import { Problem } from "../../parts/state";
import { NOTHING_CHOSEN } from "./choice";
import {
  beginRenaming,
  findHolder,
  type Holder,
  otherHolder,
  type NewName,
  type Thing,
} from "./renaming";

/** The button that gives an artist, an album or a genre another name, or merges it with another one. */
export function NameChange({ thing }: { thing: Thing }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        <Pencil size={16} aria-hidden /> Rename or merge
      </button>
      {isOpen ? <Renaming thing={thing} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

interface StepProps {
  thing: Thing;
  onClose: () => void;
}

/** First the name, then in plain words what it does, and only then the job. */
function Renaming({ thing, onClose }: StepProps) {
  const { api } = useServices();
  const look = useMutation<Holder | null, Failure, NewName>({
    mutationFn: (typed) => findHolder(api, thing.noun, typed),
  });
  if (look.isSuccess) {
    return (
      <Confirmation thing={thing} typed={look.variables} holder={look.data} onClose={onClose} />
    );
  }
  return <NameForm thing={thing} look={look} onClose={onClose} />;
}

interface NameFormProps extends StepProps {
  look: {
    readonly error: Failure | null;
    readonly isPending: boolean;
    mutate: (typed: NewName) => void;
  };
}

function NameForm({ thing, look, onClose }: NameFormProps) {
  const { noun } = thing;
  const [name, setName] = useState(thing.name);
  const [artistName, setArtistName] = useState(thing.artistName);
  const isSame = name.trim() === thing.name && artistName.trim() === thing.artistName;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    look.mutate({ name: name.trim(), artistName: artistName.trim() });
  };
  return (
    <ModalDialog title={`Rename ${thing.name}`} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="New name">
          <input
            value={name}
            required
            maxLength={256}
            autoComplete="off"
            onChange={(event) => setName(event.target.value)}
          />
        </Field>
        {noun === "album" ? (
          <Field label="Artist of the album">
            <input
              value={artistName}
              required
              maxLength={256}
              autoComplete="off"
              onChange={(event) => setArtistName(event.target.value)}
            />
          </Field>
        ) : null}
        <p className="small muted">
          The name of another {noun} merges both. The next step says what will change.
        </p>
        {look.error ? <Problem error={look.error} /> : null}
        <ActionButton isBusy={look.isPending} disabled={isSame}>
          See what changes
        </ActionButton>
      </form>
    </ModalDialog>
  );
}

interface ConfirmationProps extends StepProps {
  typed: NewName;
  holder: Holder | null;
}

function Confirmation({ thing, typed, holder, onClose }: ConfirmationProps) {
  const { api } = useServices();
  const client = useQueryClient();
  const { change } = useAddress();
  const other = otherHolder(thing, holder);
  const begin = useMutation<string, Failure>({
    mutationFn: () => beginRenaming(api, thing, typed, holder),
    onSuccess: (job) => {
      onClose();
      announce(`${other ? "The merging" : "The renaming"} of ${thing.name} has begun.`);
      change({ ...NOTHING_CHOSEN, [thing.noun]: other?.name ?? typed.name, job }, { isStep: true });
      return readAgain(client);
    },
  });
  return (
    <ConfirmationDialog
      title={other ? `Merge ${thing.name} into ${other.name}` : `Rename ${thing.name}`}
      action={other ? "Merge them" : "Rename it"}
      tone={other ? "danger" : "primary"}
      removal={begin}
      onConfirm={() => begin.mutate()}
      onClose={onClose}
    >
      {describeChange(thing, typed, holder).map((words) => (
        <p key={words}>{words}</p>
      ))}
    </ConfirmationDialog>
  );
}

/** What a new name does to how many tracks, in plain words. */
export function describeChange(thing: Thing, typed: NewName, holder: Holder | null): string[] {
  const { noun, name, count } = thing;
  const files = "The audio files do not change. Rules of smart playlists follow.";
  const other = otherHolder(thing, holder);
  if (other) {
    return [
      `There is ${noun === "artist" || noun === "album" ? "an" : "a"} ${noun} ${other.name} already, with ${countTracks(other.count)}.`,
      `${countTracks(count)} of ${name} will be of ${other.name} too, and the ${noun} ${name} will be gone. Nothing tells them apart afterwards.`,
      files,
    ];
  }
  if (holder !== null) {
    return [`It stays the same ${noun}; the spelling changes in ${countTracks(count)}.`, files];
  }
  const by = typed.artistName === thing.artistName ? "" : ` by ${typed.artistName}`;
  return [
    `No other ${noun} has this name. ${countTracks(count)} of ${name} will be of ${typed.name}${by}.`,
    files,
  ];
}

function countTracks(count: number): string {
  return `${count} ${count === 1 ? "track" : "tracks"}`;
}
