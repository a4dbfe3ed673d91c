import { useState } from "react";
import { useAnswer, usePages } from "../../app/queries";
import { ManifestRuns, RunHistory, StuckRuns } from "../../graphql/generated/manifest";
import type {
  ManifestRulesFragment,
  RunFactsFragment,
  RunState,
} from "../../graphql/generated/types";
import { useAddress } from "../../parts/address";
import { AddressField, StateField } from "../../parts/fields";
import { formatName, formatNumber } from "../../parts/format";
import { StateBadge, TagPills, Time } from "../../parts/marks";
import { Answered, More, type Paged, PendingList } from "../../parts/state";
import { readTag } from "../catalogue/tagFilter";
import { ManifestFacts } from "./ManifestFacts";
import { type Place, RunSteps } from "./RunSteps";

const STATES: readonly RunState[] = [
  "NEW",
  "PROCESSING",
  "PROCESSED",
  "LOADING",
  "LOADED",
  "FAILED",
  "GIVEN_UP",
];

interface RunListsProps extends Place {
  /** Those of the manifest; undefined until they are known. */
  rules: ManifestRulesFragment | undefined;
}

/** A run becomes stuck as time passes, so they are looked for so often, in milliseconds. */
const EVERY = 5_000;

/** The stuck runs of a manifest, and all of its runs by state. */
export function RunLists({ rules, ...place }: RunListsProps) {
  const { search } = useAddress();
  const state = STATES.find((one) => one === search.get("state")) ?? null;
  const tag = readTag(search.get("tag") ?? "");
  const batch = search.get("batch");
  const stuck = usePages(StuckRuns, { ...place }, (page) => page.staleRuns, { every: EVERY });
  const all = usePages(ManifestRuns, { ...place, state, tag, batch }, (page) => page.runs);
  return (
    <div className="stack">
      {rules ? <ManifestFacts group={place.group} rules={rules} /> : null}
      <section className="stack tight" aria-label="Stuck runs">
        <h2>Stuck runs</h2>
        {stuck.nodes === undefined ? null : stuck.nodes.length === 0 ? (
          <p className="muted">No run is stuck.</p>
        ) : (
          <p className="muted">
            Nobody works on these any more. Recover one whose output is complete, with its{" "}
            <code>_SUCCESS</code>; start again one whose output is not.
          </p>
        )}
        <RunCards place={place} pages={stuck} what="stuck runs" />
      </section>
      <section className="stack tight" aria-label="All runs">
        <h2>All runs</h2>
        <search className="filters">
          <StateField value={state} states={STATES} />
          <AddressField label="Tag" name="tag" placeholder="key=value" />
          <AddressField label="Batch" name="batch" placeholder="its name" />
        </search>
        {all.nodes?.length === 0 ? <p className="muted">No such run.</p> : null}
        <RunCards place={place} pages={all} what="runs" />
      </section>
    </div>
  );
}

interface RunCardsProps {
  place: Place;
  what: string;
  pages: Paged & { nodes: RunFactsFragment[] | undefined; error: unknown };
}

function RunCards({ place, pages, what }: RunCardsProps) {
  if (!pages.nodes) return <PendingList pages={pages} what={what} />;
  return (
    <>
      <ul className="cards">
        {pages.nodes.map((run) => (
          <RunCard key={run.id} place={place} run={run} />
        ))}
      </ul>
      <More pages={pages} what={what} />
    </>
  );
}

/** How often a stage of a run was tried, from its second attempt on or when it is given up. */
export function describeAttempts({ state, attempt }: Pick<RunFactsFragment, "state" | "attempt">) {
  if (state === "GIVEN_UP") return `; given up after ${attempt} attempts`;
  return attempt > 1 ? `; attempt ${attempt}` : "";
}

function RunCard({ place, run }: { place: Place; run: RunFactsFragment }) {
  const [isOpen, setOpen] = useState(false);
  const { change } = useAddress();
  return (
    <li className="card item">
      <div className="row">
        <code>{run.runId}</code>
        <span className="row middle">
          {run.toSkip ? <span className="badge warn">skipped</span> : null}
          <StateBadge state={run.state} />
        </span>
      </div>
      <p className="small muted">
        Added <Time at={run.addedAt} /> by {run.addedBy}
        {run.leaseOwner ? (
          <>
            ; held by {run.leaseOwner} until <Time at={run.leaseUntil} />
          </>
        ) : null}
        {describeAttempts(run)}
        {run.retryAt ? (
          <>
            ; waits until <Time at={run.retryAt} />
          </>
        ) : null}
      </p>
      {run.batch ? (
        <p className="small">
          Batch{" "}
          <button
            type="button"
            className="button quiet link"
            onClick={() => change({ batch: run.batch ?? null })}
          >
            {run.batch}
          </button>
        </p>
      ) : null}
      <TagPills tags={run.tags} />
      {run.counts && run.counts.length > 0 ? (
        <p className="small muted">
          {run.counts.map(({ name, count }) => `${name} ${formatNumber(count)}`).join(", ")}
        </p>
      ) : null}
      {run.lastError ? <p className="wrong">{run.lastError}</p> : null}
      {run.skipReason ? <p className="small">Skipped: {run.skipReason}</p> : null}
      <RunSteps place={place} run={run} />
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary className="small">History</summary>
        {isOpen ? <History place={place} runId={run.runId} /> : null}
      </details>
    </li>
  );
}

function History({ place, runId }: { place: Place; runId: string }) {
  const query = useAnswer(RunHistory, { ...place, runId });
  return (
    <Answered query={query} what="the history">
      {({ run }) => (
        <div className="card flush" tabIndex={0} role="group" aria-label="History of the run">
          <table>
            <tbody>
              {run?.history.nodes.map(({ seq, action, after, at, by, reason, error }) => (
                <tr key={seq}>
                  <td>{formatName(action)}</td>
                  <td>
                    <StateBadge state={after} />
                  </td>
                  <td>
                    <Time at={at} /> <span className="muted">by {by}</span>
                  </td>
                  <td>{reason ?? error}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Answered>
  );
}
