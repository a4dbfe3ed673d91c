import { Link } from "wouter";
import { usePages } from "../../app/queries";
import { PipelineExecutions } from "../../graphql/generated/pipeline";
import { pathOf } from "../../parts/address";
import { formatDuration } from "../../parts/format";
import { Digits, ExecutionBadge, Time } from "../../parts/marks";
import { Empty, More, PendingList } from "../../parts/state";

/** The executions of a pipeline, newest first. */
export function PipelineRuns({ id }: { id: string }) {
  const pages = usePages(PipelineExecutions, { id }, (page) => page.pipeline?.executions);
  if (!pages.nodes) return <PendingList pages={pages} what="executions" />;
  if (pages.nodes.length === 0) {
    return (
      <Empty title="No executions yet">
        <Link className="button" href={`${pathOf("pipelines", id)}/run`}>
          Run a file
        </Link>
      </Empty>
    );
  }
  return (
    <>
      <div className="card flush">
        <table>
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col">Created</th>
              <th scope="col" className="number">
                Version
              </th>
              <th scope="col" className="number">
                Took
              </th>
              <th scope="col" className="number">
                Rows
              </th>
              <th scope="col" className="number">
                Rejected
              </th>
            </tr>
          </thead>
          <tbody>
            {pages.nodes.map((row) => (
              <tr key={row.id}>
                <td>
                  <ExecutionBadge
                    id={row.id}
                    state={row.state}
                    rejected={row.progress?.rowsFailed ?? 0}
                  />
                  {row.stateMessage ? <p className="small muted">{row.stateMessage}</p> : null}
                </td>
                <td>
                  <Link href={pathOf("executions", row.id)}>
                    <Time at={row.createdAt} />
                  </Link>{" "}
                  <span className="muted">by {row.createdBy}</span>
                </td>
                <td className="number">{row.pipelineVersion}</td>
                <td className="number">
                  {row.durationSeconds == null ? "–" : formatDuration(row.durationSeconds)}
                </td>
                <td className="number">
                  <Digits value={row.progress?.rowsSucceeded ?? 0} />
                </td>
                <td className="number">
                  <Digits value={row.progress?.rowsFailed ?? 0} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="row middle">
        <More pages={pages} what="executions" />
        <Link href={`/executions?${new URLSearchParams({ pipeline: id }).toString()}`}>
          Over time, and by state
        </Link>
      </p>
    </>
  );
}
