import { useAnswer } from "../../app/queries";
import { ArtistNamed, GenreNamed } from "../../graphql/generated/audio";
import { NameChange } from "./NameChange";
import type { Thing } from "./renaming";

/** A chosen artist, whose name can be changed. */
export function ArtistHead({ name }: { name: string }) {
  const { data } = useAnswer(ArtistNamed, { name });
  const artist = data?.artistByName;
  return artist ? <Head thing={{ noun: "artist", artistName: "", ...artist }} /> : null;
}

/** A chosen genre, whose name can be changed. */
export function GenreHead({ name }: { name: string }) {
  const { data } = useAnswer(GenreNamed, { name });
  const genre = data?.genreByName;
  return genre ? (
    <Head thing={{ noun: "genre", artistName: "", id: genre.name, ...genre }} />
  ) : null;
}

function Head({ thing }: { thing: Thing }) {
  const { noun, name, count } = thing;
  return (
    <section
      className="card row middle"
      aria-label={`${noun === "artist" ? "Artist" : "Genre"} ${name}`}
    >
      <span className="grow">
        <strong>
          <bdi>{name}</bdi>
        </strong>
        <br />
        <span className="small muted">
          {noun} · {count} {count === 1 ? "track" : "tracks"}
        </span>
      </span>
      <NameChange thing={thing} />
    </section>
  );
}
