import { CircleCheck, TriangleAlert } from "lucide-react";
import { useAnswer, useServices } from "../../app/queries";
import { SystemState } from "../../graphql/generated/system";
import type { SystemStateQuery } from "../../graphql/generated/types";
import { formatBytes, formatDuration, formatName, formatNumber } from "../../parts/format";
import { Time } from "../../parts/marks";
import { Answered } from "../../parts/state";
import { useTitle } from "../../parts/title";

const EVERY = 5_000;

/** How the server is: what needs a hand, the queues, the workers, and what the reader paid. */
export default function System() {
  useTitle("System");
  const query = useAnswer(SystemState, {}, { every: EVERY });
  return (
    <>
      <header>
        <h1>System</h1>
      </header>
      <Answered query={query} what="the state of the system">
        {({ system, workers }) => (
          <>
            {system ? (
              <State system={system} />
            ) : (
              <p className="note">
                Queues and findings are for administrators of <code>/</code>.
              </p>
            )}
            <Workers workers={workers.nodes} />
          </>
        )}
      </Answered>
      <Costs key={query.dataUpdatedAt} />
    </>
  );
}

function State({ system }: { system: NonNullable<SystemStateQuery["system"]> }) {
  const { version, store, executions, jobs, sink, problems } = system;
  return (
    <>
      <section className="stack tight" aria-label="Findings">
        <h2>What needs a hand</h2>
        {problems.length === 0 ? (
          <p className="row middle">
            <CircleCheck size={18} aria-hidden /> Nothing is stuck.
          </p>
        ) : null}
        <ul className="cards">
          {problems.map(({ check, message, advice }) => (
            <li key={`${check} ${message}`} className="note note-warn">
              <p className="row middle">
                <TriangleAlert size={18} aria-hidden /> <strong>{check}</strong>
              </p>
              <p>{message}</p>
              {advice ? <p className="muted">{advice}</p> : null}
            </li>
          ))}
        </ul>
      </section>
      <section className="card" aria-label="Queues">
        <dl className="figures">
          <Figure name="Release" value={version} />
          <Figure name="Store" value={formatName(store)} />
          <Figure name="Executions that wait" value={formatNumber(executions.waiting)} />
          <Figure name="Executions that run" value={formatNumber(executions.running)} />
          <Figure name="Longest wait" value={formatDuration(executions.oldestSeconds)} />
          <Figure name="Jobs to do" value={formatNumber(jobs.unfinished)} />
          {sink ? (
            <>
              <Figure name="Pending events" value={formatNumber(sink.events)} />
              <Figure name="Their size" value={formatBytes(sink.size)} />
              <Figure
                name="Troubled destinations"
                value={formatNumber(sink.troubledDestinations)}
              />
            </>
          ) : null}
        </dl>
      </section>
    </>
  );
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Workers({ workers }: { workers: SystemStateQuery["workers"]["nodes"] }) {
  return (
    <section className="stack tight" aria-label="Workers">
      <h2>Workers</h2>
      {workers.length === 0 ? <p className="muted">None has announced itself.</p> : null}
      {workers.length > 0 ? (
        <div className="card flush" tabIndex={0} role="region" aria-label="List of workers">
          <table>
            <thead>
              <tr>
                <th scope="col">Kind</th>
                <th scope="col">Host</th>
                <th scope="col" className="number">
                  Runs
                </th>
                <th scope="col">Release</th>
                <th scope="col">Since</th>
                <th scope="col">Seen</th>
              </tr>
            </thead>
            <tbody>
              {workers.map((worker) => (
                <tr key={worker.name}>
                  <td>{formatName(worker.kind)}</td>
                  <td>
                    {worker.host ?? worker.name} {worker.process ? `(${worker.process})` : ""}
                  </td>
                  <td className="number">
                    {worker.running}
                    {worker.places == null ? "" : ` of ${worker.places}`}
                  </td>
                  <td>{worker.version}</td>
                  <td>
                    <Time at={worker.startedAt} />
                  </td>
                  <td>
                    <Time at={worker.seenAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
    </section>
  );
}

/** What the last operations of this page cost. */
function Costs() {
  const { costs } = useServices().api;
  return (
    <section className="stack tight" aria-label="Costs">
      <h2>What this page asked, and what it cost</h2>
      <div className="card flush scroller" tabIndex={0} role="region" aria-label="Last operations">
        <table>
          <thead>
            <tr>
              <th scope="col">Operation</th>
              <th scope="col" className="number">
                Units
              </th>
              <th scope="col" className="number">
                Read units
              </th>
              <th scope="col" className="number">
                Write units
              </th>
              <th scope="col">At</th>
            </tr>
          </thead>
          <tbody>
            {costs.map(({ name, requested, rcu, wcu, at }, index) => (
              <tr key={index}>
                <td>{name}</td>
                <td className="number">{requested}</td>
                <td className="number">{formatNumber(rcu)}</td>
                <td className="number">{formatNumber(wcu)}</td>
                <td>
                  <Time at={new Date(at).toISOString()} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
