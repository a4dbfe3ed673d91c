import { Link } from "wouter";
import { usePages } from "../app/queries";
import { UsedBy as UsedByPage } from "../graphql/generated/parts";
import type { UserFragment } from "../graphql/generated/types";
import { pathOf } from "./address";
import { More, PendingList } from "./state";

const SCREENS: Readonly<Record<string, string>> = {
  Pipeline: "pipelines",
  Calculation: "calculations",
  ReferenceDataset: "datasets",
  Metric: "metrics",
};
const WORDS: Readonly<Record<string, string>> = { ReferenceDataset: "dataset" };

/** What uses a resource in its latest version, as far as the reader sees it. */
export function UsedBy({ id }: { id: string }) {
  const pages = usePages(UsedByPage, { id }, ({ node }) =>
    node && "usedBy" in node ? node.usedBy : undefined,
  );
  return (
    <section className="card stack tight" aria-label="Used by">
      <h2>Used by</h2>
      {pages.nodes ? null : <PendingList pages={pages} what="what uses it" />}
      {pages.nodes?.length === 0 ? <p className="muted">Nothing that you see.</p> : null}
      <ul className="plain-list">
        {pages.nodes?.map((user) => (
          <li key={user.id}>
            <User user={user} />
          </li>
        ))}
      </ul>
      <More pages={pages} what="users" />
    </section>
  );
}

function User({ user: { __typename: type, id, name, owner } }: { user: UserFragment }) {
  const screen = SCREENS[type];
  return (
    <>
      {screen ? <Link href={pathOf(screen, id)}>{name}</Link> : name}{" "}
      <span className="small muted">
        {WORDS[type] ?? type.toLowerCase()} of {owner}
      </span>
    </>
  );
}
