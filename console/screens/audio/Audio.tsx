import { useState } from "react";
import { useAnswer } from "../../app/queries";
import { AudioChoices } from "../../graphql/generated/audio";
import { useAddress } from "../../parts/address";
import { Field } from "../../parts/fields";
import { Answered } from "../../parts/state";
import { useTitle } from "../../parts/title";
import { NewPlaylist } from "./NewPlaylist";
import { PlaylistEntries } from "./PlaylistEntries";
import { TrackList } from "./TrackList";
import { UploadTracks } from "./UploadTracks";

/** The caller's library: tracks by artist, album and genre, and playlists. */
export default function Audio() {
  useTitle("Audio");
  const { search, change } = useAddress();
  const choices = useAnswer(AudioChoices, {});
  const [title, setTitle] = useState(search.get("title") ?? "");
  const playlist = search.get("playlist");
  const filter = {
    artist: search.get("artist"),
    album: search.get("album"),
    genre: search.get("genre"),
    title: title.trim() ? { contains: title.trim() } : null,
  };
  const none = { artist: null, album: null, genre: null, playlist: null };
  return (
    <>
      <header>
        <h1>Audio</h1>
        <UploadTracks />
      </header>
      <div className="split">
        <Answered query={choices} what="your library">
          {({ artists, albums, genres, playlists }) => (
            <nav className="card stack tight" aria-label="Library">
              <Choices
                title="Playlists"
                isOpen
                chosen={playlist}
                entries={playlists.nodes.map(({ id, name, entryCount }) => ({
                  value: id,
                  name,
                  count: entryCount,
                }))}
                onChoose={(id) => change({ ...none, playlist: id })}
              />
              <NewPlaylist onMade={(id) => change({ ...none, playlist: id })} />
              {(
                [
                  ["Artists", "artist", artists.nodes],
                  ["Albums", "album", albums.nodes],
                  ["Genres", "genre", genres.nodes],
                ] as const
              ).map(([heading, name, nodes]) => (
                <Choices
                  key={name}
                  title={heading}
                  chosen={filter[name]}
                  entries={nodes.map((one) => ({
                    value: one.name,
                    name: one.name,
                    count: one.count,
                  }))}
                  onChoose={(value) => change({ ...none, [name]: value })}
                />
              ))}
            </nav>
          )}
        </Answered>
        {playlist ? (
          <PlaylistEntries key={playlist} id={playlist} />
        ) : (
          <section className="stack" aria-label="Tracks">
            <Field label="Title has a word that begins with">
              <input
                type="search"
                value={title}
                onChange={(event) => {
                  setTitle(event.target.value);
                  change({ title: event.target.value || null });
                }}
              />
            </Field>
            <TrackList
              title={filter.album ?? filter.artist ?? filter.genre ?? "All tracks"}
              filter={filter}
              playlists={choices.data?.playlists.nodes.filter(({ rule }) => !rule) ?? []}
            />
          </section>
        )}
      </div>
    </>
  );
}

interface ChoicesProps {
  title: string;
  chosen: string | null;
  entries: readonly { value: string; name: string; count: number }[];
  isOpen?: boolean;
  onChoose: (value: string | null) => void;
}

function Choices({ title, chosen, entries, isOpen = false, onChoose }: ChoicesProps) {
  return (
    <details className="facet" open={isOpen || chosen !== null}>
      <summary>{title}</summary>
      <ul>
        {entries.map(({ value, name, count }) => (
          <li key={value}>
            <button
              type="button"
              className="choose button quiet"
              aria-pressed={value === chosen}
              onClick={() => onChoose(value === chosen ? null : value)}
            >
              <span>{name}</span>
              <span className="muted">{count}</span>
            </button>
          </li>
        ))}
        {entries.length === 0 ? <li className="muted small">None yet.</li> : null}
      </ul>
    </details>
  );
}
