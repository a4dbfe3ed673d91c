import { CircleCheck, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useAnswer, useServices } from "../../app/queries";
import { SystemState } from "../../graphql/generated/system";
import type { SystemStateQuery } from "../../graphql/generated/types";
import { formatBytes, formatDuration, formatName } from "../../parts/format";
import { Digits, Time } from "../../parts/marks";
import { Answered } from "../../parts/state";
import { useTitle } from "../../parts/title";
import { OPERATION_WORDS } from "./operationWords";

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
            {system ? <Workers workers={workers.nodes} /> : null}
            {system ? <Settings settings={system.settings} /> : null}
          </>
        )}
      </Answered>
      <Costs key={query.dataUpdatedAt} />
    </>
  );
}

/** The screens that show what a check finds. */
const SCREENS: Readonly<Record<string, string>> = {
  executions: "/executions",
  runs: "/runs",
};

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
              <p>
                {message} {SCREENS[check] ? <Link href={SCREENS[check]}>Show them</Link> : null}
              </p>
              {advice ? <p className="muted">{advice}</p> : null}
            </li>
          ))}
        </ul>
      </section>
      <section className="card" aria-label="Queues">
        <dl className="figures">
          <Figure name="Release" value={version} />
          <Figure name="Store" value={formatName(store)} />
          <Figure name="Executions that wait" value={<Digits value={executions.waiting} />} />
          <Figure name="Executions that run" value={<Digits value={executions.running} />} />
          <Figure name="Longest wait" value={formatDuration(executions.oldestSeconds)} />
          <Figure name="Jobs to do" value={<Digits value={jobs.unfinished} />} />
          {sink ? (
            <>
              <Figure name="Pending events" value={<Digits value={sink.events} />} />
              <Figure name="Size of pending events" value={formatBytes(sink.size)} />
              <Figure
                name="Troubled destinations"
                value={<Digits value={sink.troubledDestinations} />}
              />
            </>
          ) : null}
        </dl>
      </section>
    </>
  );
}

function Figure({ name, value }: { name: string; value: ReactNode }) {
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

type Setting = NonNullable<SystemStateQuery["system"]>["settings"][number];

/** The settings of the server: those that somebody set, and all of them on request. */
function Settings({ settings }: { settings: readonly Setting[] }) {
  const changed = settings.filter(({ isDefault }) => !isDefault);
  return (
    <section className="stack tight" aria-label="Settings">
      <h2>Settings</h2>
      {changed.length === 0 ? <p className="muted">All are as they come.</p> : null}
      <SettingTable settings={changed} label="Changed settings" />
      <details>
        <summary>All {settings.length}, without secrets</summary>
        <SettingTable settings={settings} label="All settings" />
      </details>
    </section>
  );
}

function SettingTable({ settings, label }: { settings: readonly Setting[]; label: string }) {
  if (settings.length === 0) return null;
  return (
    <div className="card flush scroller" tabIndex={0} role="region" aria-label={label}>
      <table>
        <tbody>
          {settings.map(({ name, value }) => (
            <tr key={name}>
              <td>
                <code>{name}</code>
              </td>
              <td>{value ?? <span className="muted">not set</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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
              <th scope="col">What was asked</th>
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
                <td title={name}>{OPERATION_WORDS[name] ?? name}</td>
                <td className="number">{requested}</td>
                <td className="number">{rcu === undefined ? null : <Digits value={rcu} />}</td>
                <td className="number">{wcu === undefined ? null : <Digits value={wcu} />}</td>
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
