import type {
  DurationFilter,
  ExecutionsQuery,
  ExecutionsQueryVariables,
  TagInput,
} from "../../graphql/generated/types";

export type Row = ExecutionsQuery["executions"]["nodes"][number];

/** Whether a list asked for with these variables holds a row; of the group's are all that come. */
export function fits(row: Row, wanted: ExecutionsQueryVariables): boolean {
  const { states, pipeline, createdBy, from, to, duration, tags } = wanted;
  const all = ([tags?.all ?? []] as const).flat();
  return (
    (!states || ([states] as const).flat().includes(row.state)) &&
    (!pipeline || row.pipeline.id === pipeline) &&
    (!createdBy || row.createdBy === createdBy) &&
    (!from || row.createdAt >= from) &&
    (!to || row.createdAt < to) &&
    (!duration || lasts(row, duration)) &&
    all.every((tag) => row.tags.some((one) => carries(one, tag)))
  );
}

/** Whether an execution has ended after a time of the range. */
function lasts(row: Row, { atLeast, atMost }: DurationFilter): boolean {
  const seconds = row.finishedAt ? row.durationSeconds : null;
  return seconds != null && seconds >= (atLeast ?? 0) && seconds <= (atMost ?? Infinity);
}

/** Whether a tag is another one or below it, whatever the case of letters. */
function carries(tag: TagInput, wanted: TagInput): boolean {
  const [key, value, wantedKey, wantedValue] = [tag.key, tag.value, wanted.key, wanted.value].map(
    (text) => text.trim().toLowerCase(),
  );
  return key === wantedKey && `${value ?? ""}/`.startsWith(`${wantedValue ?? ""}/`);
}

/** The pages of a list, newest first, after a change of one row; null stands for no row any more. */
export function withChange(
  pages: readonly ExecutionsQuery[],
  id: string,
  row: Row | null,
): ExecutionsQuery[] {
  const rest = pages.map((page) =>
    withNodes(page, (nodes) => nodes.filter((one) => one.id !== id)),
  );
  if (row === null) return rest;
  const isEarlier = (one: Row) => one.createdAt <= row.createdAt;
  const found = rest.findIndex((page) => page.executions.nodes.some(isEarlier));
  const hasMore = rest.at(-1)?.executions.pageInfo.hasNextPage ?? false;
  if (found < 0 && hasMore) return rest;
  const place = found < 0 ? rest.length - 1 : found;
  return rest.map((page, index) =>
    index === place ? withNodes(page, (nodes) => insert(nodes, row, isEarlier)) : page,
  );
}

function insert(nodes: readonly Row[], row: Row, isEarlier: (one: Row) => boolean): Row[] {
  const found = nodes.findIndex(isEarlier);
  const at = found < 0 ? nodes.length : found;
  return [...nodes.slice(0, at), row, ...nodes.slice(at)];
}

function withNodes(page: ExecutionsQuery, change: (nodes: Row[]) => Row[]): ExecutionsQuery {
  const { executions } = page;
  return { ...page, executions: { ...executions, nodes: change(executions.nodes) } };
}
