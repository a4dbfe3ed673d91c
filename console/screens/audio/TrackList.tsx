import { Heart, ListPlus, Play } from "lucide-react";
import { payloadOf } from "../../app/failure";
import { enqueueTrack, playTracks, type QueuedTrack } from "../../app/playQueue";
import { useAction, usePages } from "../../app/queries";
import { AddToPlaylist, SetFavourite, Tracks } from "../../graphql/generated/audio";
import type { TrackFactsFragment, TracksQueryVariables } from "../../graphql/generated/types";
import { formatLength } from "../../parts/format";
import { Empty, Loading, More, Problem } from "../../parts/state";

export function toQueued({
  id,
  title,
  displayArtist,
  artworkUrl,
}: TrackFactsFragment): QueuedTrack {
  return { id, title, artist: displayArtist ?? "", cover: artworkUrl?.url ?? null };
}

interface TrackListProps {
  filter: Omit<TracksQueryVariables, "after">;
  playlists: readonly { id: string; name: string }[];
}

/** Tracks, to be played, queued, starred or put into a playlist. */
export function TrackList({ filter, playlists }: TrackListProps) {
  const pages = usePages(Tracks, filter, (page) => page.audios);
  const add = useAction(AddToPlaylist, (data) => payloadOf(data.addPlaylistEntries));
  const star = useAction(SetFavourite, (data) => payloadOf(data.setFavourite));
  const { nodes } = pages;
  // A star shows at once what it will be; a refusal takes it back.
  const isStarred = ({ id, favouriteAt }: TrackFactsFragment) =>
    star.isPending && star.variables.input.id === id
      ? star.variables.input.favourite
      : favouriteAt !== null;
  if (!nodes) return pages.error ? <Problem error={pages.error} /> : <Loading what="tracks" />;
  if (nodes.length === 0) {
    return (
      <Empty title="No tracks">
        <p>Upload some, or choose something else at the side.</p>
      </Empty>
    );
  }
  const error = add.error ?? star.error;
  return (
    <>
      {error ? <Problem error={error} /> : null}
      <ul className="cards" aria-label="List of tracks">
        {nodes.map((track, index) => (
          <li key={track.id} className="card row middle">
            {track.artworkUrl ? (
              <img className="cover" src={track.artworkUrl.url} alt="" loading="lazy" />
            ) : (
              <span className="cover" />
            )}
            <span className="grow">
              <strong>{track.title}</strong>
              <br />
              <span className="small muted">
                {[track.displayArtist, track.album?.name].filter(Boolean).join(" · ")}{" "}
                {formatLength(track.durationMs)}
              </span>
            </span>
            <span className="row middle">
              <button
                type="button"
                className="button icon"
                aria-label={`Play ${track.title}`}
                onClick={() => playTracks(nodes.map(toQueued), index)}
              >
                <Play size={16} aria-hidden />
              </button>
              <button
                type="button"
                className="button icon"
                aria-label={`Queue ${track.title}`}
                onClick={() => enqueueTrack(toQueued(track))}
              >
                <ListPlus size={16} aria-hidden />
              </button>
              <button
                type="button"
                className="button icon"
                aria-label={`Star ${track.title}`}
                aria-pressed={isStarred(track)}
                onClick={() =>
                  star.mutate({ input: { id: track.id, favourite: !isStarred(track) } })
                }
              >
                <Heart size={16} fill={isStarred(track) ? "currentColor" : "none"} aria-hidden />
              </button>
              {playlists.length > 0 ? (
                <select
                  className="narrow"
                  aria-label={`Add ${track.title} to a playlist`}
                  value=""
                  onChange={(event) =>
                    add.mutate({ input: { id: event.target.value, audioIds: [track.id] } })
                  }
                >
                  <option value="">Add to…</option>
                  {playlists.map(({ id, name }) => (
                    <option key={id} value={id}>
                      {name}
                    </option>
                  ))}
                </select>
              ) : null}
            </span>
          </li>
        ))}
      </ul>
      <More pages={pages} what="tracks" />
    </>
  );
}
