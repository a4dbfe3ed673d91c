import { Heart, ImageUp, ListPlus, Play, Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { announce } from "../../app/announcement";
import { payloadOf } from "../../app/failure";
import { enqueueTrack, playTracks, type QueuedTrack, usePlayQueue } from "../../app/playQueue";
import { useAction, usePages } from "../../app/queries";
import { AddToPlaylist, SetFavourite, Tracks } from "../../graphql/generated/audio";
import type { TrackFactsFragment, TracksQueryVariables } from "../../graphql/generated/types";
import { ActionButton } from "../../parts/ActionButton";
import { Field } from "../../parts/fields";
import { formatLength } from "../../parts/format";
import { Empty, More, PendingList, Problem } from "../../parts/state";
import { AlbumHead } from "./AlbumHead";
import { CoverChange } from "./CoverChange";
import { ArtistHead, GenreHead } from "./NameHead";

export function toQueued({
  id,
  title,
  displayArtist,
  artworkUrl,
}: TrackFactsFragment): QueuedTrack {
  return { id, title, artist: displayArtist ?? "", cover: artworkUrl?.url ?? null };
}

interface Playlist {
  id: string;
  name: string;
}

interface TrackListProps {
  /** What the tracks have in common. */
  title: string;
  filter: Omit<TracksQueryVariables, "after">;
  playlists: readonly Playlist[];
}

/** Tracks, to be played, queued, starred or put into a playlist, one by one or all that are shown. */
export function TrackList({ title, filter, playlists }: TrackListProps) {
  const pages = usePages(Tracks, filter, (page) => page.audios);
  const add = useAction(AddToPlaylist, (data) => payloadOf(data.addPlaylistEntries));
  const [chosen, setChosen] = useState<string | null>(null);
  const playlist = playlists.find(({ id }) => id === chosen) ?? playlists[0];
  const { nodes } = pages;
  if (!nodes) return <PendingList pages={pages} what="tracks" />;
  if (nodes.length === 0) {
    return (
      <Empty title="No tracks">
        <p>Upload some, or choose something else at the side.</p>
      </Empty>
    );
  }
  const put = (tracks: readonly TrackFactsFragment[], words: string) => {
    if (!playlist) return;
    const input = { id: playlist.id, audioIds: tracks.map(({ id }) => id) };
    const onSuccess = () => announce(`${words} in the playlist ${playlist.name} now.`);
    add.mutate({ input }, { onSuccess });
  };
  return (
    <>
      <div className="row">
        <h2 className="grow">{title}</h2>
        {playlist ? (
          <>
            <Field label="Playlist">
              <select
                className="narrow"
                value={playlist.id}
                onChange={(event) => setChosen(event.target.value)}
              >
                {playlists.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </select>
            </Field>
            <ActionButton
              tone=""
              isBusy={add.isPending}
              onClick={() => put(nodes, `${nodes.length} tracks are`)}
            >
              <Plus size={16} aria-hidden /> Add all to it
            </ActionButton>
          </>
        ) : null}
        <button
          type="button"
          className="button primary"
          onClick={() => playTracks(nodes.map(toQueued))}
        >
          <Play size={16} aria-hidden /> Play all
        </button>
      </div>
      {add.error ? <Problem error={add.error} /> : null}
      {filter.album && !pages.isPlaceholderData
        ? idsOfAlbums(nodes).map((id) => <AlbumHead key={id} id={id} />)
        : null}
      {filter.artist ? <ArtistHead name={filter.artist} /> : null}
      {filter.genre ? <GenreHead name={filter.genre} /> : null}
      <ul className="cards" aria-label="List of tracks">
        {nodes.map((track, index) => (
          <TrackCard
            key={track.id}
            track={track}
            playlist={playlist}
            onPlay={() => playTracks(nodes.map(toQueued), index)}
            onAdd={() => put([track], `${track.title} is`)}
          />
        ))}
      </ul>
      <More pages={pages} what="tracks" />
    </>
  );
}

/** The albums of the tracks, each once: several may have one name. */
function idsOfAlbums(tracks: readonly TrackFactsFragment[]): string[] {
  return [...new Set(tracks.flatMap(({ album }) => (album ? [album.id] : [])))];
}

interface TrackCardProps {
  track: TrackFactsFragment;
  /** The one that it may be put into. */
  playlist: Playlist | undefined;
  onPlay: () => void;
  onAdd: () => void;
}

function TrackCard({ track, playlist, onPlay, onAdd }: TrackCardProps) {
  const star = useAction(SetFavourite, (data) => payloadOf(data.setFavourite));
  const [isCoverShown, setCoverShown] = useState(false);
  const { tracks, index } = usePlayQueue();
  const isPlayed = tracks[index]?.id === track.id;
  // A star shows at once what it will be; a refusal takes it back.
  const isStarred = star.isPending ? star.variables.input.favourite : track.favouriteAt !== null;
  return (
    <li className={`card row middle ${isPlayed ? "chosen" : ""}`}>
      {track.artworkUrl ? (
        <img className="cover" src={track.artworkUrl.url} alt="" loading="lazy" />
      ) : (
        <span className="cover" />
      )}
      <div className="grow">
        <strong>{track.title}</strong>{" "}
        {isPlayed ? <span className="badge">in the player</span> : null}
        <br />
        <span className="small muted">
          {[track.displayArtist, track.album?.name].filter(Boolean).join(" · ")}{" "}
          {formatLength(track.durationMs)}
        </span>
        {star.error ? <Problem error={star.error} /> : null}
      </div>
      <span className="row middle">
        <TrackButton name={`Play ${track.title}`} onClick={onPlay}>
          <Play size={16} aria-hidden />
        </TrackButton>
        <TrackButton name={`Queue ${track.title}`} onClick={() => enqueueTrack(toQueued(track))}>
          <ListPlus size={16} aria-hidden />
        </TrackButton>
        {playlist ? (
          <TrackButton name={`Add ${track.title} to ${playlist.name}`} onClick={onAdd}>
            <Plus size={16} aria-hidden />
          </TrackButton>
        ) : null}
        <TrackButton
          name={`Star ${track.title}`}
          isPressed={isStarred}
          onClick={() => star.mutate({ input: { id: track.id, favourite: !isStarred } })}
        >
          <Heart size={16} fill={isStarred ? "currentColor" : "none"} aria-hidden />
        </TrackButton>
        <TrackButton
          name={`Cover of ${track.title}`}
          isExpanded={isCoverShown}
          onClick={() => setCoverShown(!isCoverShown)}
        >
          <ImageUp size={16} aria-hidden />
        </TrackButton>
      </span>
      {isCoverShown ? (
        <section className="whole-row stack tight" aria-label={`Cover of ${track.title}`}>
          <CoverChange
            noun="track"
            id={track.id}
            name={track.title}
            hasCover={track.artworkUrl !== null}
          />
        </section>
      ) : null}
    </li>
  );
}

interface TrackButtonProps {
  name: string;
  isPressed?: boolean;
  isExpanded?: boolean;
  onClick: () => void;
  children: ReactNode;
}

function TrackButton({ name, isPressed, isExpanded, onClick, children }: TrackButtonProps) {
  return (
    <button
      type="button"
      className="button icon"
      aria-label={name}
      title={name}
      aria-pressed={isPressed}
      aria-expanded={isExpanded}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
