import { Plus } from "lucide-react";
import { useDeferredValue, useState } from "react";
import { Link } from "wouter";
import { useAnswer, useLive, usePages, useServices } from "../../app/queries";
import { CatalogueChanges, type CataloguePipelines } from "../../graphql/generated/catalogue";
import { Viewer } from "../../graphql/generated/shell";
import type { Order, State } from "../../graphql/generated/types";
import { pathOf, useAddress } from "../../parts/address";
import { BelowField, ChoiceField, Field, GroupField, StateField } from "../../parts/fields";
import { formatNumber } from "../../parts/format";
import { RemovablePill, StateBadge, TagPills, Time } from "../../parts/marks";
import { mayCreate } from "../../parts/roles";
import { Empty, Loading, More, Problem } from "../../parts/state";
import { useTitle } from "../../parts/title";
import { ExecutionDots, type DottedExecution } from "./ExecutionDots";
import { Facets } from "./Facets";
import { type Kind, KINDS } from "./kinds";
import {
  type Filter,
  type Mode,
  MODES,
  PARTS,
  readFilter,
  toggleKey,
  toggleTag,
  toInput,
  writeFilter,
  writeTag,
} from "./tagFilter";

const ORDERS: readonly (readonly [Order, string])[] = [
  ["NEWEST_FIRST", "newest first"],
  ["OLDEST_FIRST", "oldest first"],
];

const STATES: readonly State[] = ["ENABLED", "FROZEN", "DISABLED"];
const NARROWING = [...PARTS, "name", "state", "owner"];

interface Entry {
  id: string;
  name: string;
  description?: string | null;
  state: string;
  owner: string;
  updatedAt: string;
  updatedBy: string;
  tags: readonly { key: string; value: string }[];
  executions?: { nodes: readonly DottedExecution[] };
}

interface Page {
  list: { nodes: Entry[]; pageInfo: { hasNextPage: boolean; endCursor?: string | null } };
}

/** Everything of a kind that the caller may see, found by tags, group and name. */
export default function Catalogue({ kind }: { kind: Kind }) {
  const { title, one, operation } = KINDS[kind];
  useTitle(title);
  const { search, change } = useAddress();
  const viewer = useAnswer(Viewer, {}).data?.viewer;
  const yours = viewer?.defaultGroup;
  const mayMake = mayCreate(viewer?.roles ?? []);
  const filter = readFilter(search);
  const [typed, setTyped] = useState(search.get("name") ?? "");
  const name = useDeferredValue(typed);
  const scope = { group: search.get("group"), below: search.get("below") !== "no" };
  const order: Order = search.get("order") === "oldest" ? "OLDEST_FIRST" : "NEWEST_FIRST";
  const tags = toInput(filter);
  const standing = {
    states: STATES.filter((one) => search.getAll("state").includes(one)),
    owner: search.get("owner"),
    name: name.trim() ? { startsWith: name.trim() } : null,
  };
  const variables = { ...scope, ...standing, tags, order };
  const pages = usePages(
    operation as typeof CataloguePipelines,
    variables,
    (page) => (page as Page).list,
  );
  // The list was asked for as the subscription began, so it is not read again because it did.
  useLive(
    CatalogueChanges,
    scope,
    (_, isFirst) => {
      if (!isFirst) void pages.refetch();
    },
    kind === "PIPELINE",
  );
  const filterBy = (mode: Mode, tag: { key: string; value: string }) =>
    change(writeFilter(toggleTag(filter, mode, tag)));
  const leaveOut = (key: string) => change(writeFilter(toggleKey(filter, key)));
  return (
    <>
      <header>
        <div>
          <h1>{title}</h1>
          <SearchCost name={operation.name} key={pages.dataUpdatedAt} />
        </div>
        {mayMake ? (
          <Link className="button primary" href={newPath(one, scope.group)}>
            <Plus size={18} aria-hidden /> New {one}
          </Link>
        ) : null}
      </header>
      <search className="row">
        <Field label="Name begins with" className="grow">
          <input
            type="search"
            value={typed}
            onChange={(event) => {
              setTyped(event.target.value);
              change({ name: event.target.value || null });
            }}
          />
        </Field>
        <GroupField
          label="Seen by group"
          value={scope.group ?? ""}
          placeholder={yours ? `yours, ${yours}` : ""}
          onChange={(path) => change({ group: path || null })}
        />
        <GroupField
          label="Owned by group"
          value={standing.owner ?? ""}
          placeholder="any group"
          onChange={(path) => change({ owner: path || null })}
        />
        <StateField value={standing.states[0]} states={STATES} />
        <BelowField checked={scope.below} />
        <ChoiceField
          label="Order"
          value={order}
          choices={ORDERS}
          onChange={(chosen) => change({ order: chosen === "OLDEST_FIRST" ? "oldest" : null })}
        />
      </search>
      <FilterPills
        filter={filter}
        onRemove={filterBy}
        onRemoveKey={leaveOut}
        onClear={() => change(Object.fromEntries(PARTS.map((part) => [part, null])))}
      />
      <div className="split">
        <Facets
          kind={kind}
          scope={{ ...scope, ...standing }}
          filter={filter}
          onChoose={filterBy}
          onWithout={leaveOut}
        />
        <section aria-label={title} className="stack">
          {pages.error && !pages.nodes ? (
            <Problem error={pages.error} onRetry={() => void pages.refetch()} />
          ) : null}
          {pages.nodes ? null : pages.error ? null : <Loading what={title.toLowerCase()} />}
          <p role="status" className="small muted">
            {pages.nodes && pages.nodes.length > 0
              ? describeShown(pages.nodes.length, pages.hasNextPage, KINDS[kind])
              : ""}
          </p>
          {pages.nodes?.length === 0 ? (
            <NothingFound
              kind={kind}
              isFiltered={NARROWING.some((name) => search.has(name))}
              seenBy={scope.group ?? yours}
              isWhole={scope.below}
              mayMake={mayMake}
            />
          ) : null}
          <ul className="cards">
            {pages.nodes?.map((entry) => (
              <EntryCard key={entry.id} entry={entry} path={KINDS[kind].path} />
            ))}
          </ul>
          <More pages={pages} what={title.toLowerCase()} />
        </section>
      </div>
    </>
  );
}

/** The path of the editor of a new one, in the group whose list this is. */
function newPath(one: string, group: string | null): string {
  return `/new/${one}${group === null ? "" : `?${new URLSearchParams({ group }).toString()}`}`;
}

/** How many are shown, and whether these are all. */
function describeShown(count: number, hasMore: boolean, words: { one: string; title: string }) {
  if (hasMore) return `${count} are shown, and more follow.`;
  return count === 1 ? `1 ${words.one}.` : `${count} ${words.title.toLowerCase()}.`;
}

/** What the shown search cost. */
function SearchCost({ name }: { name: string }) {
  const { api } = useServices();
  const paid = api.costs.find((one) => one.name === name);
  if (!paid) return null;
  return (
    <p className="small muted">
      This search cost {paid.requested} units
      {paid.rcu === undefined ? null : ` and read ${formatNumber(paid.rcu)} read units`}.
    </p>
  );
}

const WORDS: Readonly<Record<Mode, string>> = { all: "", any: "any of: ", none: "not: " };

interface FilterPillsProps {
  filter: Filter;
  onRemove: (mode: Mode, tag: { key: string; value: string }) => void;
  onRemoveKey: (key: string) => void;
  onClear: () => void;
}

function FilterPills({ filter, onRemove, onRemoveKey, onClear }: FilterPillsProps) {
  const chosen = MODES.flatMap((mode) => filter[mode].map((tag) => ({ mode, tag })));
  const parts = chosen.length + filter.without.length;
  if (parts === 0) return null;
  return (
    <div className="row middle">
      <ul className="pills" aria-label="Filter">
        {chosen.map(({ mode, tag }) => (
          <li key={`${mode} ${writeTag(tag)}`}>
            <RemovablePill
              label={`${WORDS[mode]}${tag.key} ${tag.value}`}
              onRemove={() => onRemove(mode, tag)}
            />
          </li>
        ))}
        {filter.without.map((key) => (
          <li key={`without ${key}`}>
            <RemovablePill label={`without ${key}`} onRemove={() => onRemoveKey(key)} />
          </li>
        ))}
      </ul>
      {parts > 1 ? (
        <button type="button" className="button quiet" onClick={onClear}>
          Remove all
        </button>
      ) : null}
    </div>
  );
}

function EntryCard({ entry, path }: { entry: Entry; path: string }) {
  return (
    <li className="card item">
      <div className="row">
        <Link href={pathOf(path, entry.id)} dir="auto">
          <strong>{entry.name}</strong>
        </Link>
        <span className="row middle">
          {entry.executions ? <ExecutionDots executions={entry.executions.nodes} /> : null}
          {entry.state === "ENABLED" ? null : <StateBadge state={entry.state} />}
        </span>
      </div>
      {entry.description ? <p className="muted three-lines">{entry.description}</p> : null}
      <TagPills tags={entry.tags} />
      <p className="small muted">
        {entry.owner} · changed <Time at={entry.updatedAt} /> by <bdi>{entry.updatedBy}</bdi>
      </p>
    </li>
  );
}

interface NothingFoundProps {
  kind: Kind;
  isFiltered: boolean;
  /** The group whose list this is. */
  seenBy: string | null | undefined;
  /** Whether the groups below are searched too. */
  isWhole: boolean;
  /** Whether the caller's roles allow to make any. */
  mayMake: boolean;
}

function NothingFound({ kind, isFiltered, seenBy, isWhole, mayMake }: NothingFoundProps) {
  const { title, one, command } = KINDS[kind];
  if (isFiltered) {
    return (
      <Empty title={`No ${one} is like this`}>
        <p>
          Remove a part of the search above{isWhole ? "" : ", look in the groups below too"}, or
          choose another group{seenBy ? `: this is what ${seenBy} sees.` : "."}
        </p>
      </Empty>
    );
  }
  return (
    <Empty title={`No ${title.toLowerCase()} yet`}>
      {mayMake ? (
        <p>
          <code>{command}</code> fills the catalogue with samples.
        </p>
      ) : (
        <p>Your group sees none: none belongs to it or is shared with it.</p>
      )}
    </Empty>
  );
}
