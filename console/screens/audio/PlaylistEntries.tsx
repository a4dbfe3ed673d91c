import { ArrowDown, ArrowUp, ListFilter, Play, Trash2 } from "lucide-react";
import { type DragEvent, useState } from "react";
import { payloadOf } from "../../app/failure";
import { playTracks } from "../../app/playQueue";
import { useAction, usePages } from "../../app/queries";
import { MoveEntries, PlaylistTracks, RemoveEntries } from "../../graphql/generated/audio";
import type { RuleFactsFragment } from "../../graphql/generated/types";
import { useAddress } from "../../parts/address";
import { Answered, Empty, Missing, More, Problem } from "../../parts/state";
import type { Offered } from "./FilterFields";
import { PlaylistChange } from "./PlaylistChange";
import { RuleEditor } from "./RuleEditor";
import { describeFilter, describeOrder, draftOf, isDeep } from "./rules";
import { toQueued } from "./TrackList";

/** The entry after which a moved one stands; null at the start. Undefined if nothing moves. */
export function placeAfter(
  ids: readonly string[],
  from: number,
  to: number,
): string | null | undefined {
  if (from === to || to < 0 || to >= ids.length) return undefined;
  const rest = ids.filter((_, index) => index !== from);
  return to === 0 ? null : (rest[to - 1] ?? undefined);
}

interface PlaylistEntriesProps {
  id: string;
  offered: Offered;
  onGone: () => void;
}

/** A playlist, reordered by drag and by buttons; what others changed meanwhile is said. */
export function PlaylistEntries({ id, offered, onGone }: PlaylistEntriesProps) {
  const { search, change } = useAddress();
  const pages = usePages(PlaylistTracks, { id }, (page) => page.playlist?.entries);
  const move = useAction(MoveEntries, (data) => payloadOf(data.movePlaylistEntries));
  const remove = useAction(RemoveEntries, (data) => payloadOf(data.removePlaylistEntries));
  const [dragged, setDragged] = useState<number | null>(null);
  const entries = pages.nodes ?? [];
  const head = pages.data?.pages[0];
  const version = head?.playlist?.version ?? 0;
  const moveTo = (from: number, to: number) => {
    // Until the list is read anew, the next move would meet the one before as if it were somebody else's.
    if (move.isPending) return;
    const entry = entries[from];
    const after = placeAfter(
      entries.map((one) => one.id),
      from,
      to,
    );
    if (!entry || after === undefined) return;
    move.mutate(
      { input: { id, entryIds: [entry.id], after, expectedVersion: version } },
      { onError: () => void pages.refetch() },
    );
  };
  const drop = (event: DragEvent, to: number) => {
    event.preventDefault();
    if (dragged !== null) moveTo(dragged, to);
    setDragged(null);
  };
  const playable = entries.filter(({ audio }) => audio !== null);
  const playFrom = (first: string | null) =>
    playTracks(
      playable.flatMap(({ audio }) => (audio ? [toQueued(audio)] : [])),
      Math.max(
        playable.findIndex((one) => one.id === first),
        0,
      ),
    );
  return (
    <Answered query={{ ...pages, data: head }} what="the playlist" isPart>
      {({ playlist }) =>
        playlist?.rule && !isDeep(playlist.rule) && search.get("rule") ? (
          <RuleEditor
            playlist={{ ...playlist, rule: playlist.rule }}
            offered={offered}
            onDone={() => change({ rule: null })}
            onCancel={() => change({ rule: null })}
          />
        ) : playlist ? (
          <section className="stack" aria-label="Playlist">
            <div className="row middle">
              <h2 className="grow">{playlist.name}</h2>
              <PlaylistChange id={id} name={playlist.name} version={version} onGone={onGone} />
              <button
                type="button"
                className="button primary"
                disabled={playable.length === 0}
                onClick={() => playFrom(null)}
              >
                <Play size={16} aria-hidden /> Play all
              </button>
            </div>
            {playlist.rule ? (
              <RuleSummary rule={playlist.rule} onChange={() => change({ rule: "change" })} />
            ) : null}
            {move.error?.code === "CONFLICT" ? (
              <p role="alert" className="note note-warn">
                Somebody changed the list meanwhile. It is shown as it is now; move the track again.
              </p>
            ) : null}
            {move.error && move.error.code !== "CONFLICT" ? <Problem error={move.error} /> : null}
            {remove.error ? <Problem error={remove.error} /> : null}
            {entries.length === 0 ? (
              <Empty title="Nothing in this list yet">
                <p>
                  {playlist.rule
                    ? "No track of the library matches the rule of this playlist."
                    : "Choose an album or an artist at the side, and add all of it or single tracks."}
                </p>
              </Empty>
            ) : null}
            <ol className="cards" aria-label="Entries">
              {entries.map((entry, index) => {
                const title = entry.audio?.title ?? entry.title ?? "Unknown";
                return (
                  <li
                    key={entry.id}
                    className={`card row middle ${dragged === index ? "chosen" : ""}`}
                    draggable={!playlist.rule}
                    onDragStart={() => setDragged(index)}
                    onDragOver={(event) => event.preventDefault()}
                    onDrop={(event) => drop(event, index)}
                  >
                    {entry.audio?.artworkUrl ? (
                      <img
                        className="cover"
                        src={entry.audio.artworkUrl.url}
                        alt=""
                        loading="lazy"
                        draggable={false}
                      />
                    ) : (
                      <span className="cover" />
                    )}
                    <span className="grow">
                      {title} {entry.missing ? <span className="badge bad">missing</span> : null}
                      <br />
                      <span className="small muted">{entry.audio?.displayArtist}</span>
                    </span>
                    {entry.audio ? (
                      <EntryButton
                        name={`Play ${title}`}
                        Icon={Play}
                        onClick={() => playFrom(entry.id)}
                      />
                    ) : null}
                    {playlist.rule ? null : (
                      <>
                        <EntryButton
                          name={`Move ${title} up`}
                          Icon={ArrowUp}
                          isBusy={move.isPending}
                          onClick={() => moveTo(index, index - 1)}
                        />
                        <EntryButton
                          name={`Move ${title} down`}
                          Icon={ArrowDown}
                          isBusy={move.isPending}
                          onClick={() => moveTo(index, index + 1)}
                        />
                        <EntryButton
                          name={`Remove ${title}`}
                          Icon={Trash2}
                          onClick={() => remove.mutate({ input: { id, entryIds: [entry.id] } })}
                        />
                      </>
                    )}
                  </li>
                );
              })}
            </ol>
            <More pages={pages} what="entries" />
          </section>
        ) : (
          <Missing what="playlist" isPart />
        )
      }
    </Answered>
  );
}

/** The rule of a smart playlist in words, and the button that changes it. */
function RuleSummary({ rule, onChange }: { rule: RuleFactsFragment; onChange: () => void }) {
  const conditions = describeFilter(draftOf(rule).filter);
  return (
    <section className="card stack tight" aria-label="Rule">
      <p>
        <span className="badge">smart</span> Its rule chooses its tracks whenever they are read:{" "}
        {describeOrder(rule.order)}, at most {rule.limit}.
      </p>
      <ul className="pills" aria-label="Conditions">
        {(conditions.length > 0 ? conditions : ["all tracks"]).map((words) => (
          <li key={words} className="pill">
            {words}
          </li>
        ))}
      </ul>
      {isDeep(rule) ? (
        <p className="small muted">
          Its filters are nested deeper than this page shows them. The API changes it, by{" "}
          <code>setPlaylistRule</code>.
        </p>
      ) : (
        <span>
          <button type="button" className="button" onClick={onChange}>
            <ListFilter size={16} aria-hidden /> Change the rule
          </button>
        </span>
      )}
    </section>
  );
}

interface EntryButtonProps {
  name: string;
  Icon: typeof Play;
  /** It does nothing now, and keeps the focus. */
  isBusy?: boolean;
  onClick: () => void;
}

function EntryButton({ name, Icon, isBusy = false, onClick }: EntryButtonProps) {
  return (
    <button
      type="button"
      className="button icon"
      aria-label={name}
      aria-disabled={isBusy}
      onClick={onClick}
    >
      <Icon size={16} aria-hidden />
    </button>
  );
}
