import { ListFilter } from "lucide-react";
import { useState, type SubmitEvent } from "react";
import { announce } from "../../app/announcement";
import { payloadOf } from "../../app/failure";
import { useAction } from "../../app/queries";
import { CreatePlaylist } from "../../graphql/generated/audio";
import { Field } from "../../parts/fields";
import { Problem } from "../../parts/state";

interface NewPlaylistProps {
  onMade: (id: string) => void;
  /** A smart one is wanted, whose rule is made first. */
  onSmart: () => void;
}

export function NewPlaylist({ onMade, onSmart }: NewPlaylistProps) {
  const [name, setName] = useState("");
  const create = useAction(
    CreatePlaylist,
    (data) => payloadOf(data.createPlaylist),
    ({ createPlaylist }) => {
      setName("");
      announce(`The playlist ${name} is made.`);
      if ("playlist" in createPlaylist) onMade(createPlaylist.playlist.id);
    },
  );
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    create.mutate({ input: { name } });
  };
  return (
    <form className="row" onSubmit={submit}>
      <Field label="New playlist" className="grow">
        <input value={name} required onChange={(event) => setName(event.target.value)} />
      </Field>
      <button type="submit" className="button">
        Create
      </button>
      <button type="button" className="button" onClick={onSmart}>
        <ListFilter size={16} aria-hidden /> New smart playlist
      </button>
      {create.error ? <Problem error={create.error} /> : null}
    </form>
  );
}
