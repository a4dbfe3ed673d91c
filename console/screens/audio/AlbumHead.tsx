import { useAnswer } from "../../app/queries";
import { AlbumDetails } from "../../graphql/generated/audio";
import { Problem } from "../../parts/state";
import { CoverChange } from "./CoverChange";
import { NameChange } from "./NameChange";

/** An album with its cover, both of which can be changed. */
export function AlbumHead({ id }: { id: string }) {
  const { data, error } = useAnswer(AlbumDetails, { id });
  if (error && !data) return <Problem error={error} />;
  const album = data?.node;
  if (!album || !("artistName" in album)) return null;
  const { name, artistName, count, year, artworkUrl } = album;
  return (
    <section className="card row middle" aria-label={`Album ${name} of ${artistName}`}>
      {artworkUrl ? (
        <img className="cover large" src={artworkUrl.url} alt={`Cover of ${name}`} />
      ) : null}
      <div className="grow stack tight">
        <span>
          <strong>{name}</strong>
          <br />
          <span className="small muted">{[artistName, year].filter(Boolean).join(" · ")}</span>
        </span>
        <CoverChange noun="album" id={id} name={name} hasCover={artworkUrl !== null} />
        <span>
          <NameChange thing={{ noun: "album", id, name, artistName, count }} />
        </span>
      </div>
    </section>
  );
}
