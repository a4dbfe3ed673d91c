import { useQueryClient } from "@tanstack/react-query";
import { payloadOf } from "../../app/failure";
import { useAction, useAnswer, useLive } from "../../app/queries";
import { CancelJob, GroupJobs, JobLive } from "../../graphql/generated/groups";
import type { JobFactsFragment } from "../../graphql/generated/types";
import { formatName } from "../../parts/format";
import { StateBadge, Time } from "../../parts/marks";
import { Problem } from "../../parts/state";

/** The jobs of a group, with live progress; nothing if there are none. */
export function JobList({ group }: { group: string | null }) {
  const { data, error } = useAnswer(GroupJobs, { group });
  if (error && !data) return <Problem error={error} />;
  if (!data || data.jobs.nodes.length === 0) return null;
  return (
    <section className="stack tight" aria-label="Jobs">
      <h2>Jobs</h2>
      <ul className="cards">
        {data.jobs.nodes.map((job) => (
          <JobCard key={job.id} job={job} />
        ))}
      </ul>
    </section>
  );
}

function JobCard({ job }: { job: JobFactsFragment }) {
  const client = useQueryClient();
  const cancel = useAction(CancelJob, (data) => payloadOf(data.cancelJob));
  const isOpen = job.state === "PENDING" || job.state === "RUNNING";
  useLive(JobLive, { id: job.id }, () => void client.invalidateQueries(), isOpen);
  return (
    <li className="card item">
      <div className="row">
        <span className="row middle">
          {formatName(job.kind)} <StateBadge state={job.state} />
        </span>
        {isOpen && job.kind === "IMPORT_AUDIO" ? (
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
      {cancel.error ? <Problem error={cancel.error} /> : null}
    </li>
  );
}
