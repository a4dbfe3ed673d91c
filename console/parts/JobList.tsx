import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { payloadOf } from "../app/failure";
import { readAgain, useAction, useAnswer, useLive } from "../app/queries";
import { CancelJob, JobDetails, JobLive, Jobs } from "../graphql/generated/parts";
import type { JobFactsFragment, JobKind } from "../graphql/generated/types";
import { formatName } from "./format";
import { StateBadge, Time } from "./marks";
import { Problem } from "./state";

interface JobListProps {
  /** The group that they are about; null for the caller's own. */
  group: string | null;
  /** The only kind that is shown. */
  kind?: JobKind;
}

/** The newest jobs, with live progress; nothing if there are none. */
export function JobList({ group, kind }: JobListProps) {
  const { data, error } = useAnswer(Jobs, { group });
  if (error && !data) return <Problem error={error} />;
  const jobs = data?.jobs.nodes.filter((job) => kind === undefined || job.kind === kind) ?? [];
  if (jobs.length === 0) return null;
  return (
    <section className="stack tight" aria-label="Jobs">
      <h2>Jobs</h2>
      <ul className="cards">
        {jobs.map((job) => (
          <JobCard key={job.id} job={job} />
        ))}
      </ul>
    </section>
  );
}

/** One job with live progress, and the problems of its file if it failed. */
export function FollowedJob({ id }: { id: string }) {
  const { data, error } = useAnswer(JobDetails, { id });
  if (error && !data) return <Problem error={error} />;
  const job = data?.job;
  if (!job) return null;
  return (
    <section aria-label="Job">
      <ul className="cards">
        <JobCard job={job}>
          {job.problems.length > 0 ? (
            <ul>
              {job.problems.map(({ message, line, column }, index) => (
                <li key={index}>
                  {line == null ? "" : `Line ${line}`}
                  {column == null ? "" : `, column ${column}`}
                  {line == null ? "" : ": "}
                  {message}
                </li>
              ))}
            </ul>
          ) : null}
        </JobCard>
      </ul>
    </section>
  );
}

/** The kinds of jobs that can be cancelled: what they did until then stays, or is not seen. */
const CANCELLABLE: readonly JobKind[] = ["IMPORT_AUDIO", "LOAD_DATASET", "RENAME_AUDIO"];

function JobCard({ job, children }: { job: JobFactsFragment; children?: ReactNode }) {
  const client = useQueryClient();
  const cancel = useAction(CancelJob, (data) => payloadOf(data.cancelJob));
  const isOpen = job.state === "PENDING" || job.state === "RUNNING";
  useLive(JobLive, { id: job.id }, () => void readAgain(client), isOpen);
  return (
    <li className="card item">
      <div className="row">
        <span className="row middle">
          {formatName(job.kind)} <StateBadge state={job.state} />
        </span>
        {isOpen && CANCELLABLE.includes(job.kind) ? (
          <button
            type="button"
            className="button danger"
            onClick={() => cancel.mutate({ input: { id: job.id } })}
          >
            Cancel
          </button>
        ) : null}
      </div>
      {isOpen ? (
        <progress
          aria-label="Progress"
          max={job.total ?? 1}
          value={job.total ? job.done : undefined}
        />
      ) : null}
      <p className="small muted">
        {job.done}
        {job.total == null ? "" : ` of ${job.total}`} done; <Time at={job.createdAt} /> by{" "}
        {job.createdBy} {job.message}
      </p>
      {children}
      {cancel.error ? <Problem error={cancel.error} /> : null}
    </li>
  );
}
