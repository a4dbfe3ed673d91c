import { useState, type SubmitEvent } from "react";
import { announce } from "../../app/announcement";
import { payloadOf } from "../../app/failure";
import { useAction } from "../../app/queries";
import { CreatePlaylist } from "../../graphql/generated/audio";
import { Field } from "../../parts/fields";
import { Problem } from "../../parts/state";

export function NewPlaylist({ onMade }: { onMade: (id: string) => void }) {
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
      {create.error ? <Problem error={create.error} /> : null}
    </form>
  );
}
