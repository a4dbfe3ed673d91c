import { type ReactNode, useState } from "react";
import { useAnswer } from "../../app/queries";
import { AudioChoices } from "../../graphql/generated/audio";
import type { AlbumOrder } from "../../graphql/generated/types";
import { useAddress } from "../../parts/address";
import { ChoiceField, Field } from "../../parts/fields";
import { FollowedJob } from "../../parts/JobList";
import { Answered } from "../../parts/state";
import { useTitle } from "../../parts/title";
import { NOTHING_CHOSEN } from "./choice";
import { NewPlaylist } from "./NewPlaylist";
import { PlaylistEntries } from "./PlaylistEntries";
import { RuleEditor } from "./RuleEditor";
import { TrackList } from "./TrackList";
import { UploadTracks } from "./UploadTracks";

const ORDERS: readonly (readonly [AlbumOrder, string])[] = [
  ["NAME", "by name"],
  ["NEWEST", "added last"],
  ["YEAR", "by year"],
  ["MOST_PLAYED", "most played"],
  ["RECENTLY_PLAYED", "played last"],
  ["RANDOM", "by chance"],
];

/** The caller's library: tracks by artist, album and genre, and playlists. */
export default function Audio() {
  useTitle("Audio");
  const { search, change } = useAddress();
  const order = ORDERS.find(([one]) => one === search.get("order"))?.[0] ?? "NAME";
  const choices = useAnswer(AudioChoices, { order }, { keep: true });
  const [title, setTitle] = useState(search.get("title") ?? "");
  const playlist = search.get("playlist");
  const filter = {
    artist: search.get("artist"),
    album: search.get("album"),
    genre: search.get("genre"),
    title: title.trim() ? { contains: title.trim() } : null,
  };
  const job = search.get("job");
  const choose = (name: string, value: string | null) =>
    change({ ...NOTHING_CHOSEN, [name]: value });
  const offered = {
    artists: choices.data?.artists.nodes.map(({ name }) => name) ?? [],
    albums: choices.data?.albums.nodes.map(({ name }) => name) ?? [],
    genres: choices.data?.genres.nodes.map(({ name }) => name) ?? [],
  };
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
                entries={playlists.nodes.map(({ id, name, entryCount, rule }) => ({
                  value: id,
                  name,
                  count: entryCount,
                  isSmart: rule !== null,
                }))}
                onChoose={(id) => choose("playlist", id)}
              />
              <NewPlaylist
                onMade={(id) => choose("playlist", id)}
                onSmart={() => choose("rule", "new")}
              />
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
                  onChoose={(value) => choose(name, value)}
                >
                  {name === "album" ? (
                    <ChoiceField
                      label="Order of the albums"
                      value={order}
                      choices={ORDERS}
                      onChange={(value) => change({ order: value === "NAME" ? null : value })}
                    />
                  ) : null}
                </Choices>
              ))}
            </nav>
          )}
        </Answered>
        {playlist ? (
          <PlaylistEntries
            key={playlist}
            id={playlist}
            offered={offered}
            onGone={() => change(NOTHING_CHOSEN)}
          />
        ) : search.get("rule") ? (
          <RuleEditor
            playlist={null}
            offered={offered}
            onDone={(id) => choose("playlist", id)}
            onCancel={() => change(NOTHING_CHOSEN)}
          />
        ) : (
          <section className="stack" aria-label="Tracks">
            {job ? <FollowedJob id={job} /> : null}
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
  entries: readonly { value: string; name: string; count: number; isSmart?: boolean }[];
  isOpen?: boolean;
  onChoose: (value: string | null) => void;
  /** What stands above the entries. */
  children?: ReactNode;
}

function Choices({ title, chosen, entries, isOpen = false, onChoose, children }: ChoicesProps) {
  const [isShown, setShown] = useState(isOpen || chosen !== null);
  return (
    <details
      className="facet"
      open={isShown}
      onToggle={(event) => setShown(event.currentTarget.open)}
    >
      <summary>{title}</summary>
      {children}
      <ul>
        {entries.map(({ value, name, count, isSmart }) => (
          <li key={value}>
            <button
              type="button"
              className="choose button quiet"
              aria-pressed={value === chosen}
              onClick={() => onChoose(value === chosen ? null : value)}
            >
              <span>
                {name} {isSmart ? <span className="badge">smart</span> : null}
              </span>
              <span className="muted">{count}</span>
            </button>
          </li>
        ))}
        {entries.length === 0 ? <li className="muted small">None yet.</li> : null}
      </ul>
    </details>
  );
}
