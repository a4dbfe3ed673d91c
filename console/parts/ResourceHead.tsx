import type { ReactNode } from "react";
import { Link } from "wouter";
import { DenialNote, useRoles } from "./denial";
import { CopyButton, StateBadge, TagPills } from "./marks";
import { hasRole } from "./roles";

interface Resource {
  readonly id: string;
  readonly name: string;
  readonly description?: string | null;
  readonly owner: string;
  readonly version: number;
  readonly state: string;
  readonly tags: readonly { key: string; value: string }[];
}

interface ResourceHeadProps {
  /** The path and the name of the list that it is in. */
  list: readonly [path: string, name: string];
  resource: Resource;
  summary?: string | null;
  /** What is said of the version besides. */
  about?: ReactNode;
  /** What the caller's role does not allow, as the beginning of a sentence. */
  denied?: string;
  /** What can be done with it. */
  children?: ReactNode;
}

/** The head of the screen of a resource: whose it is, what it is for, its version and its tags. */
export function ResourceHead({
  list: [path, listName],
  resource: { id, name, description, owner, version, state, tags },
  summary,
  about,
  denied = "Changing it",
  children,
}: ResourceHeadProps) {
  const roles = useRoles();
  return (
    <header>
      <div className="stack tight grow">
        <p className="crumbs">
          <Link href={path}>{listName}</Link> · {owner} <CopyButton text={id} what="the id" />
        </p>
        <h1>{name}</h1>
        {summary ? <p>{summary}</p> : null}
        {description ? <p className={summary ? "muted" : ""}>{description}</p> : null}
        <div className="row middle">
          <StateBadge state={state} />
          <p className="muted shrink">
            version {version}
            {about}
          </p>
        </div>
        <TagPills tags={tags} />
        {roles === undefined || hasRole(roles, "CONTRIBUTOR", owner) ? null : (
          <DenialNote>
            You may read it. {denied} needs the role contributor at {owner}.
          </DenialNote>
        )}
      </div>
      {children}
    </header>
  );
}
