import { useRef, useState, type SubmitEvent } from "react";
import { announce } from "../../app/announcement";
import { payloadOf } from "../../app/failure";
import { useAction, useAnswer } from "../../app/queries";
import { GrantPipeline, PipelineAccess, RevokePipeline } from "../../graphql/generated/pipeline";
import { Viewer } from "../../graphql/generated/shell";
import { ActionButton } from "../../parts/ActionButton";
import { DenialNote } from "../../parts/denial";
import { GroupField } from "../../parts/fields";
import { formatName } from "../../parts/format";
import { Time } from "../../parts/marks";
import { hasRole } from "../../parts/roles";
import { Answered, Missing, Problem } from "../../parts/state";
import { describeSight } from "./sight";

/** Which groups see a pipeline, and through which of them the reader does. */
export function Access({ id, owner }: { id: string; owner: string }) {
  const viewer = useAnswer(Viewer, {});
  const group = viewer.data?.viewer.defaultGroup ?? "/";
  const query = useAnswer(PipelineAccess, { id, group }, { enabled: viewer.data !== undefined });
  const roles = viewer.data?.viewer.roles ?? [];
  const isAdmin = hasRole(roles, "ADMIN", owner);
  const [path, setPath] = useState("");
  const heading = useRef<HTMLHeadingElement>(null);
  const grant = useAction(
    GrantPipeline,
    (data) => payloadOf(data.grantPipeline),
    (_, { input }) => {
      setPath("");
      announce(`The group ${input.group} and those below it see the pipeline now.`);
    },
  );
  const revoke = useAction(
    RevokePipeline,
    (data) => payloadOf(data.revokePipeline),
    (_, { input }) => {
      heading.current?.focus();
      announce(`The pipeline is no longer shared with ${input.group}.`);
    },
  );
  const share = (event: SubmitEvent) => {
    event.preventDefault();
    if (path) grant.mutate({ input: { id, group: path } });
  };
  const error = grant.error ?? revoke.error;
  return (
    <Answered query={query} what="who sees it">
      {({ pipeline }) =>
        pipeline ? (
          <>
            <p>{describeSight(group, pipeline, roles)}</p>
            <section className="stack tight" aria-label="Groups">
              <h2 ref={heading} tabIndex={-1}>
                Groups that see it
              </h2>
              <ul className="cards">
                {pipeline.groups.map((one) => (
                  <li key={one} className="card row middle">
                    <span className="grow">
                      <code>{one}</code>{" "}
                      {one === pipeline.owner ? <span className="badge">owner</span> : null}
                    </span>
                    {one === pipeline.owner || !isAdmin ? null : (
                      <button
                        type="button"
                        className="button danger"
                        onClick={() => revoke.mutate({ input: { id, group: one } })}
                      >
                        Stop sharing
                      </button>
                    )}
                  </li>
                ))}
              </ul>
              {isAdmin ? (
                <form className="row top" onSubmit={share}>
                  <GroupField label="Share with group" value={path} onChange={setPath} />
                  <ActionButton isBusy={grant.isPending}>Share</ActionButton>
                </form>
              ) : (
                <DenialNote>Sharing it needs the role admin at {owner}.</DenialNote>
              )}
              {error ? <Problem error={error} /> : null}
            </section>
            {pipeline.history && pipeline.history.nodes.length > 0 ? (
              <section className="stack tight" aria-label="History of access">
                <h2>Who changed that</h2>
                <div
                  className="card flush"
                  tabIndex={0}
                  role="group"
                  aria-label="Changes of access"
                >
                  <table>
                    <tbody>
                      {pipeline.history.nodes.map((entry, index) => (
                        <tr key={index}>
                          <td>{formatName(entry.action)}</td>
                          <td>{entry.group ?? entry.state}</td>
                          <td>
                            <Time at={entry.at} /> <span className="muted">by {entry.by}</span>
                          </td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </div>
              </section>
            ) : null}
          </>
        ) : (
          <Missing what="pipeline" />
        )
      }
    </Answered>
  );
}
