import { useState } from "react";
import { Link } from "wouter";
import { useAnswer } from "../../app/queries";
import { GroupDetails } from "../../graphql/generated/groups";
import { Viewer } from "../../graphql/generated/shell";
import { useAddress } from "../../parts/address";
import { formatName } from "../../parts/format";
import { useFocusAtFirst } from "../../parts/focus";
import { JobList } from "../../parts/JobList";
import { StateBadge, TagPills, Time } from "../../parts/marks";
import { Answered, Missing } from "../../parts/state";
import { presentTab, Tabs } from "../../parts/Tabs";
import { useTitle } from "../../parts/title";
import { ApiKeyList } from "./ApiKeyList";
import { GroupActions } from "./GroupActions";
import { GroupTree } from "./GroupTree";
import { Quotas } from "./Quotas";
import { describeRole, effectiveRole, type HeldRole, topGroups } from "../../parts/roles";

const TABS = ["Groups", "Keys"] as const;

/** The tree of groups, what the caller may do in each, and the caller's API keys. */
export default function Groups() {
  useTitle("Groups and access");
  const { search, change } = useAddress();
  const viewer = useAnswer(Viewer, {});
  const tab = presentTab(search, TABS);
  // The group to which a dialog led, which gets the focus; one that is chosen in the tree does not.
  const [reached, setReached] = useState<string | null>(null);
  const choose = (path: string, next: string | null) => {
    setReached(next);
    change({ path });
  };
  return (
    <>
      <header>
        <h1>Groups and access</h1>
      </header>
      <Tabs names={TABS} label="Parts of groups and access" />
      <Answered query={viewer} what="your roles">
        {({ viewer: { roles, defaultGroup } }) => {
          if (tab === "Keys") return <ApiKeyList roles={roles} />;
          const path = search.get("path") ?? defaultGroup ?? topGroups(roles)[0] ?? "/";
          return (
            <div className="split">
              <nav className="card" aria-label="Tree of groups">
                <GroupTree
                  tops={topGroups(roles)}
                  chosen={path}
                  onChoose={(next) => choose(next, null)}
                />
              </nav>
              <ChosenGroup
                key={path}
                path={path}
                roles={roles}
                isReached={path === reached}
                onReach={(next) => choose(next, next)}
              />
            </div>
          );
        }}
      </Answered>
    </>
  );
}

interface ChosenGroupProps {
  path: string;
  roles: readonly HeldRole[];
  isReached: boolean;
  onReach: (path: string) => void;
}

function ChosenGroup({ path, roles, isReached, onReach }: ChosenGroupProps) {
  const query = useAnswer(GroupDetails, { path });
  const role = effectiveRole(roles, path);
  return (
    <section className="stack" aria-label="Chosen group">
      <Answered query={query} what="the group" isPart>
        {({ group }) =>
          group ? (
            <>
              <div className="stack tight">
                <GroupHeading path={group.path} isReached={isReached} />
                <p className="muted">
                  {group.name}
                  {group.createdAt ? (
                    <>
                      , created <Time at={group.createdAt} /> by {group.createdBy}
                    </>
                  ) : null}
                </p>
                {group.description ? <p>{group.description}</p> : null}
                <TagPills tags={group.tags} />
              </div>
              {group.disabledThrough ? (
                <p className="note note-warn">
                  <StateBadge state="DISABLED" />{" "}
                  {group.disabledThrough === group.path
                    ? "Nothing is made, changed or started here or below."
                    : `Nothing is made, changed or started here, because ${group.disabledThrough} is disabled.`}
                </p>
              ) : null}
              <p className="note">{describeRole(role, group.path)}</p>
              <p className="row middle">
                <Link href={`/?${new URLSearchParams({ group: group.path }).toString()}`}>
                  What this group sees
                </Link>
                <Link href={`/executions?${new URLSearchParams({ group: group.path }).toString()}`}>
                  Its executions
                </Link>
              </p>
              <Quotas quotas={group.quotas ?? []} />
              <GroupActions group={group} role={role?.role ?? null} onReach={onReach} />
              <JobList group={group.path} />
              <History entries={group.history?.nodes ?? []} />
            </>
          ) : (
            <Missing what="group" isPart />
          )
        }
      </Answered>
    </section>
  );
}

function GroupHeading({ path, isReached }: { path: string; isReached: boolean }) {
  const heading = useFocusAtFirst<HTMLHeadingElement>(isReached);
  return (
    <h2 ref={heading} tabIndex={-1}>
      <code>{path}</code>
    </h2>
  );
}

interface Entry {
  at: string;
  by: string;
  action: string;
  subject: string;
  group?: string | null;
  state?: string | null;
  roles: readonly string[];
}

function History({ entries }: { entries: readonly Entry[] }) {
  if (entries.length === 0) return null;
  return (
    <section className="stack tight" aria-label="History">
      <h2>Who changed access</h2>
      <div className="card flush" tabIndex={0} role="group" aria-label="Changes of access">
        <table>
          <tbody>
            {entries.map((entry, index) => (
              <tr key={index}>
                <td>{formatName(entry.action)}</td>
                <td className="long">{entry.subject}</td>
                <td className="long">{entry.group ?? entry.state ?? entry.roles.join(", ")}</td>
                <td>
                  <Time at={entry.at} /> <span className="muted">by {entry.by}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
