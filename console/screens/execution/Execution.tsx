import { useQueryClient } from "@tanstack/react-query";
import { Download, Play, Rows3, Square } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { Link } from "wouter";
import { announce } from "../../app/announcement";
import { payloadOf } from "../../app/failure";
import { useAction, useAnswer, useLive } from "../../app/queries";
import {
  CancelExecution,
  ExecutionDetails,
  ExecutionLive,
  RetryExecution,
} from "../../graphql/generated/execution";
import { Viewer } from "../../graphql/generated/shell";
import type { ExecutionDetailsQuery, ExecutionFactsFragment } from "../../graphql/generated/types";
import { ActionButton } from "../../parts/ActionButton";
import { pathOf } from "../../parts/address";
import { formatBytes, formatDuration, formatName } from "../../parts/format";
import { CopyButton, Digits, ExecutionBadge, TagPills, Time } from "../../parts/marks";
import { hasRole, mayRun } from "../../parts/roles";
import { RowsTable } from "../../parts/RowsTable";
import { Answered, Missing, Problem } from "../../parts/state";
import { useTitle } from "../../parts/title";
import { UsedVersions } from "../../parts/UsedVersions";
import { inputRowsOf } from "./inputRows";
import { OutputPreview } from "./OutputPreview";
import { RejectedRows } from "./RejectedRows";
import { useTimeOutputs } from "./timeOutputs";
import { whyAt } from "./whyAt";
import { WhyRow } from "./WhyRow";

type Details = NonNullable<ExecutionDetailsQuery["execution"]>;

const isOpen = ({ state }: { state: string }) => state === "WAITING" || state === "IN_PROGRESS";

/** One execution: who, when, how far, what came out, and what was rejected. */
export default function Execution({ id }: { id: string }) {
  const client = useQueryClient();
  const query = useAnswer(ExecutionDetails, { id });
  const present = query.data?.execution;
  useTitle(present ? `Execution of ${present.pipeline.name}` : "Execution");
  useLive(
    ExecutionLive,
    { id },
    ({ executionProgress }) => {
      client.setQueryData<ExecutionDetailsQuery>([ExecutionDetails.name, { id }], (before) =>
        before?.execution
          ? { ...before, execution: { ...before.execution, ...executionProgress } }
          : before,
      );
      if (!isOpen(executionProgress)) void query.refetch();
    },
    present != null && isOpen(present),
  );
  return (
    <Answered query={query} what="the execution">
      {({ execution }) =>
        execution ? <Shown execution={execution} /> : <Missing what="execution" />
      }
    </Answered>
  );
}

const hasRejected = ({ progress }: ExecutionFactsFragment) => Number(progress?.rowsFailed ?? 0) > 0;

function Shown({ execution }: { execution: Details }) {
  const { pipeline } = execution;
  const heading = useRef<HTMLHeadingElement>(null);
  const times = useTimeOutputs(pipeline.id, execution.pipelineVersion);
  return (
    <>
      <header>
        <div className="stack tight">
          <p className="crumbs">
            <Link href="/executions">Executions</Link> of{" "}
            <Link href={pathOf("pipelines", pipeline.id)}>{pipeline.name}</Link> ({pipeline.owner})
          </p>
          <h1 ref={heading} tabIndex={-1}>
            {execution.input.name ?? "Rows of a request"}
          </h1>
          <p className="row middle">
            <ExecutionBadge
              id={execution.id}
              state={execution.state}
              rejected={execution.progress?.rowsFailed ?? 0}
            />
            <span className="muted">version {execution.pipelineVersion}</span>
            <CopyButton text={execution.id} what="the id" />
          </p>
        </div>
        <Actions execution={execution} onDone={() => heading.current?.focus()} />
      </header>
      {(execution.code ?? execution.stateMessage) ? (
        <p className="note note-warn">
          {execution.code ? <code>{execution.code}</code> : null} {execution.stateMessage}
        </p>
      ) : null}
      <Progress execution={execution} />
      <div className="halves">
        <Facts execution={execution} />
        <Files execution={execution} />
      </div>
      {execution.results ? (
        <InlineResults
          results={execution.results}
          times={times}
          hasTable={hasRejected(execution) && Boolean(execution.errorsDownload?.url)}
        />
      ) : null}
      {execution.mode === "JOB" && execution.outputDownload?.url ? (
        <OutputPreview
          url={execution.outputDownload.url}
          times={times}
          errorsUrl={hasRejected(execution) ? (execution.errorsDownload?.url ?? null) : null}
        />
      ) : null}
      {execution.state === "SUCCESS" && Number(execution.progress?.rowsSucceeded ?? 0) > 0 ? (
        <WhyRow
          execution={execution.id}
          rows={Number(execution.progress?.rowsSucceeded)}
          times={times}
        />
      ) : null}
      {hasRejected(execution) && execution.errorsDownload?.url ? (
        <RejectedRows
          url={execution.errorsDownload.url}
          reasons={execution.rejections ?? []}
          pipeline={pipeline.id}
          version={execution.pipelineVersion}
          at={execution.createdAt}
        />
      ) : null}
      <UsedVersions pins={execution.pins} />
      <History execution={execution} />
    </>
  );
}

function Actions({ execution, onDone }: { execution: Details; onDone: () => void }) {
  const viewer = useAnswer(Viewer, {}).data?.viewer;
  // The button of what was done makes way for another one.
  const done = (words: string) => () => {
    onDone();
    announce(words);
  };
  const cancel = useAction(
    CancelExecution,
    (data) => payloadOf(data.cancelExecution),
    done("The execution is cancelled."),
  );
  const retry = useAction(
    RetryExecution,
    (data) => payloadOf(data.retryExecution),
    done("The execution is tried again."),
  );
  const variables = { input: { id: execution.id } };
  const canRetry = execution.state === "FAILED" || execution.state === "CANCELLED";
  const error = cancel.error ?? retry.error;
  const { pipeline, createdBy } = execution;
  const mayControl =
    viewer !== undefined &&
    mayRun(viewer.roles, pipeline) &&
    (viewer.userId === createdBy || hasRole(viewer.roles, "CONTRIBUTOR", pipeline.owner));
  const rows =
    pipeline.transformer.rows === null ? null : (
      <Link className="button" href={`${pathOf("pipelines", pipeline.id)}/rows`}>
        <Rows3 size={16} aria-hidden /> Rows
      </Link>
    );
  if (!mayControl) return rows;
  return (
    <div className="stack tight">
      <div className="row">
        {rows}
        {isOpen(execution) ? (
          <ActionButton
            tone="danger"
            isBusy={cancel.isPending}
            onClick={() => cancel.mutate(variables)}
          >
            <Square size={16} aria-hidden /> Cancel
          </ActionButton>
        ) : null}
        {canRetry ? (
          <ActionButton isBusy={retry.isPending} onClick={() => retry.mutate(variables)}>
            <Play size={16} aria-hidden /> Try again
          </ActionButton>
        ) : null}
      </div>
      {error ? <Problem error={error} /> : null}
    </div>
  );
}

/** What an execution that is ready waits for: `before` others wait longer. */
export function describeQueue(before: number | null | undefined): string {
  if (before == null) return "Waits for a worker.";
  if (before === 0) return "Waits for a worker, as the next one.";
  return `Waits for a worker; ${before === 1 ? "1 other waits" : `${before} others wait`} longer.`;
}

function Progress({ execution }: { execution: ExecutionFactsFragment }) {
  const { progress } = execution;
  const total = Number(progress?.bytesTotal ?? 0);
  return (
    <section className="card stack tight" aria-label="Progress">
      {execution.state === "WAITING" ? (
        <p>{execution.readyAt ? describeQueue(execution.queuePosition) : "Waits for its input."}</p>
      ) : null}
      {execution.state === "IN_PROGRESS" && total > 0 ? (
        <progress
          aria-label="Input that was read"
          max={total}
          value={Number(progress?.bytesRead ?? 0)}
        />
      ) : null}
      <dl className="figures">
        <Figure name="Output rows" value={<Digits value={progress?.rowsSucceeded ?? 0} />} />
        <Figure name="Rejected rows" value={<Digits value={progress?.rowsFailed ?? 0} />} />
        {progress?.rowsPerSecond ? (
          <Figure
            name="Rows a second"
            value={<Digits value={Math.round(progress.rowsPerSecond)} />}
          />
        ) : null}
        {execution.state === "IN_PROGRESS" && progress?.etaSeconds != null ? (
          <Figure name="Time left" value={formatDuration(progress.etaSeconds)} />
        ) : null}
        {execution.durationSeconds == null ? null : (
          <Figure name="Took" value={formatDuration(execution.durationSeconds)} />
        )}
      </dl>
    </section>
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

function Facts({ execution }: { execution: Details }) {
  const facts: [string, string | null | undefined, string | null | undefined][] = [
    ["Created", execution.createdAt, execution.createdBy],
    ["Ready", execution.readyAt, execution.startedBy],
    ["Began", execution.startedAt, null],
    ["Ended", execution.finishedAt, execution.cancelledBy],
  ];
  return (
    <section className="card stack tight" aria-label="Times">
      <h2>Times</h2>
      <dl className="facts">
        {facts.map(([name, at, by]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Time at={at} /> {at && by ? <span className="muted">by {by}</span> : null}
            </dd>
          </div>
        ))}
      </dl>
      <TagPills tags={execution.tags} />
      {execution.reusedFrom ? (
        <p className="note">
          The same work was done before: the result is that of{" "}
          <Link href={pathOf("executions", execution.reusedFrom.id)}>an earlier execution</Link>.
        </p>
      ) : null}
    </section>
  );
}

function Files({ execution }: { execution: Details }) {
  const isWhole = !isOpen(execution) && !hasRejected(execution);
  const files = [
    ["Input", execution.inputDownload],
    ["Output", execution.outputDownload],
    ...(isWhole ? [] : [["Rejected rows", execution.errorsDownload] as const]),
  ] as const;
  return (
    <section className="card stack tight" aria-label="Files">
      <h2>Files</h2>
      <p>
        {execution.input.name ?? "Rows of a request"}
        {execution.input.readAs ? (
          <span className="muted">, read as {execution.input.readAs}</span>
        ) : null}
        {execution.mode === "INLINE" && execution.input.name ? (
          <span className="muted">: its rows were sent within the request</span>
        ) : null}
      </p>
      {files.map(([name, file]) =>
        file?.url ? (
          <a key={name} className="button start" href={file.url} download>
            <Download size={16} aria-hidden /> {name}
            {name === "Input" && execution.mode === "INLINE" ? " rows as JSON" : ""}
            {file.sizeBytes == null ? null : (
              <span className="muted">{formatBytes(file.sizeBytes)}</span>
            )}
          </a>
        ) : (
          <p key={name} className="muted">
            {name}: {file?.status === "GONE" ? "no longer kept" : "not there yet"}
          </p>
        ),
      )}
      {isWhole && execution.state === "SUCCESS" ? (
        <p className="muted">No row was rejected.</p>
      ) : null}
    </section>
  );
}

interface InlineResultsProps {
  results: NonNullable<Details["results"]>;
  times: ReadonlySet<string>;
  /** Whether the table of rejected rows tells their problems. */
  hasTable: boolean;
}

function InlineResults({ results, times, hasTable }: InlineResultsProps) {
  const problems = hasTable ? results.problems.filter(({ row }) => row === 0) : results.problems;
  const rejected = results.problems.map(({ row }) => row);
  const inputRows =
    rejected.length > 0 ? inputRowsOf(results.rows.length, rejected, true) : undefined;
  return (
    <section className="stack tight" aria-label="Results">
      <h2>Results</h2>
      <RowsTable rows={results.rows} whyAt={whyAt} times={times} inputRows={inputRows} />
      {problems.length > 0 ? (
        <ul>
          {problems.map((problem, index) => (
            <li key={index}>
              {problem.row === 0 ? "The whole input" : `Input row ${problem.row}`}
              {problem.column ? `, ${problem.column}` : ""}: {problem.message}{" "}
              <code>{problem.code}</code>
            </li>
          ))}
        </ul>
      ) : null}
    </section>
  );
}

const OF_WORKERS = new Set(["CLAIMED", "TAKEN_OVER", "SUCCEEDED", "FAILED"]);

/** Who caused an event: workers have ids, which tell a reader nothing. */
function causeOf(happening: string, by: string): string {
  return OF_WORKERS.has(happening) && by !== "penstock" ? "a worker" : by;
}

function History({ execution }: { execution: Details }) {
  return (
    <section className="stack tight" aria-label="History">
      <h2>What happened</h2>
      <div className="card flush" tabIndex={0} role="group" aria-label="List of what happened">
        <table>
          <tbody>
            {execution.timeline.nodes.map(({ seq, happening, at, by, note }) => (
              <tr key={seq}>
                <td>{formatName(happening)}</td>
                <td>
                  <Time at={at} />
                </td>
                <td>{causeOf(happening, by)}</td>
                <td className="muted">{note}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
