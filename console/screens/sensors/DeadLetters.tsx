import { useEffect, useRef, useState } from "react";
import { payloadOf } from "../../app/failure";
import { useAction, usePages } from "../../app/queries";
import { ReplayLetters, SinkLetters } from "../../graphql/generated/sensors";
import { ActionButton } from "../../parts/ActionButton";
import { formatName, formatNumber } from "../../parts/format";
import { Time } from "../../parts/marks";
import { More, PendingList, Problem } from "../../parts/state";
import { LetterDeletion } from "./LetterDeletion";

/** The sink works on its own, so it is looked at so often, in milliseconds. */
const EVERY = 2_000;

/** What the sink counted, and the notifications that it could not keep. */
export function DeadLetters({ service, path }: { service: string; path: string }) {
  const variables = { service, path };
  const pages = usePages(
    SinkLetters,
    variables,
    (page) => page.ngsiService?.servicePath?.deadLetters,
    { every: EVERY },
  );
  const counts = pages.data?.pages[0]?.ngsiService?.servicePath?.counts;
  const replay = useAction(ReplayLetters, (data) => payloadOf(data.replayDeadLetters));
  const done = replay.data?.replayDeadLetters;
  const heading = useRef<HTMLHeadingElement>(null);
  const [leaving, setLeaving] = useState<{ id: string; events: number } | null>(null);
  // Once the dialog is closed: until then nothing outside of it takes the focus.
  const isGone = useRef(false);
  useEffect(() => {
    if (leaving !== null || !isGone.current) return;
    isGone.current = false;
    heading.current?.focus();
  }, [leaving]);
  return (
    <section className="stack tight" aria-label="Dead letters">
      <h2 ref={heading} tabIndex={-1}>
        Dead letters
      </h2>
      {counts ? (
        <dl className="figures card">
          {Object.entries(counts).map(([name, count]) => (
            <div key={name}>
              <dt>{formatName(name.replace(/[A-Z]/g, " $&"))}</dt>
              <dd>{formatNumber(count)}</dd>
            </div>
          ))}
        </dl>
      ) : null}
      {replay.error ? <Problem error={replay.error} /> : null}
      {done && "replayed" in done ? <Replayed {...done} /> : null}
      {pages.nodes ? null : <PendingList pages={pages} what="letters" />}
      {pages.nodes?.length === 0 ? <p className="muted">No dead letters.</p> : null}
      <ul className="cards">
        {pages.nodes?.map(({ id, reason, code, events, attempts, firstSeen }) => (
          <li key={id} className="card row middle">
            <span className="grow">
              {reason} {code ? <code className="muted">{code}</code> : null}
              <br />
              <span className="small muted">
                {events} {events === 1 ? "update" : "updates"}, tried {attempts} times, first seen{" "}
                <Time at={firstSeen} />
              </span>
            </span>
            <ActionButton
              tone=""
              isBusy={replay.isPending}
              onClick={() =>
                // The letter makes way for another one, or for none.
                replay.mutate(
                  { input: { ids: [id] } },
                  { onSuccess: () => heading.current?.focus() },
                )
              }
            >
              Replay
            </ActionButton>
            <button
              type="button"
              className="button danger"
              onClick={() => setLeaving({ id, events })}
            >
              Delete
            </button>
          </li>
        ))}
      </ul>
      <More pages={pages} what="letters" />
      {leaving ? (
        <LetterDeletion
          {...leaving}
          onClose={() => setLeaving(null)}
          onGone={() => (isGone.current = true)}
        />
      ) : null}
    </section>
  );
}

interface ReplayedProps {
  replayed: readonly { events: number; dead: number }[];
  failures: readonly { id: string; message: string }[];
}

/** What came of the last replay. */
function Replayed({ replayed, failures }: ReplayedProps) {
  const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
  const events = sum(replayed.map((one) => one.events));
  const dead = sum(replayed.map((one) => one.dead));
  return (
    <div role="status" className="note">
      <p>
        {events} {events === 1 ? "update waits" : "updates wait"} to be stored, {dead} failed again.
      </p>
      {failures.map(({ id, message }) => (
        <p key={id} className="wrong">
          {message}
        </p>
      ))}
    </div>
  );
}
