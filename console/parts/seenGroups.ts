import { useQuery } from "@tanstack/react-query";
import type { Api } from "../app/api";
import { useServices } from "../app/queries";
import { GroupsBelow, GroupsBelowAll, ViewedGroups } from "../graphql/generated/parts";

export interface SeenGroup {
  readonly path: string;
  readonly name: string;
}

export interface SeenGroups {
  readonly groups: readonly SeenGroup[];
  /** Whether these are all: so many are searched at most. */
  readonly isWhole: boolean;
}

const MOST = 400;
const AT_ONCE = 20;
const FRESH_FOR = 60_000;

interface FoundGroup extends SeenGroup {
  readonly id: string;
  readonly children?: { nodes: readonly FoundGroup[]; pageInfo: { hasNextPage: boolean } };
}

/** The groups that the caller sees, once they are wanted: read level by level. */
export function useSeenGroups(isWanted: boolean) {
  const { api } = useServices();
  return useQuery({
    queryKey: ["groups that are seen"],
    queryFn: () => readSeenGroups(api),
    enabled: isWanted,
    staleTime: FRESH_FOR,
  });
}

async function readSeenGroups(api: Api): Promise<SeenGroups> {
  const { viewer } = await api.run(ViewedGroups, {});
  const paths = [...new Set(viewer.roles.map(({ group }) => group))];
  const tops = await Promise.all(paths.map((path) => api.run(GroupsBelow, { path })));
  let level: readonly FoundGroup[] = tops.flatMap(({ group }) => group ?? []);
  const found = new Map<string, SeenGroup>();
  let isWhole = true;
  while (level.length > 0) {
    level.forEach(({ path, name }) => found.set(path, { path, name }));
    isWhole &&= level.every(({ children }) => !children?.pageInfo.hasNextPage);
    const below = level.flatMap(({ children }) => children?.nodes ?? []);
    below.forEach(({ path, name }) => found.set(path, { path, name }));
    if (found.size >= MOST)
      return { groups: sorted(found), isWhole: isWhole && below.length === 0 };
    level = await readBelow(api, below);
  }
  return { groups: sorted(found), isWhole };
}

/** The same groups with those below them. */
async function readBelow(api: Api, groups: readonly FoundGroup[]): Promise<FoundGroup[]> {
  const ids = groups.map(({ id }) => id);
  const chunks = Array.from({ length: Math.ceil(ids.length / AT_ONCE) }, (_, index) =>
    ids.slice(index * AT_ONCE, (index + 1) * AT_ONCE),
  );
  const answers = await Promise.all(chunks.map((chunk) => api.run(GroupsBelowAll, { ids: chunk })));
  return answers.flatMap(({ nodes }) => nodes.flatMap((one) => (one && "path" in one ? one : [])));
}

const sorted = (found: ReadonlyMap<string, SeenGroup>) =>
  [...found.values()].sort((one, other) => one.path.localeCompare(other.path));

/** The groups whose path or name has what was typed, in any letter case. */
export function matchGroups(groups: readonly SeenGroup[], typed: string): SeenGroup[] {
  const wanted = typed.trim().toLowerCase();
  return groups.filter(({ path, name }) =>
    [path, name].some((text) => text.toLowerCase().includes(wanted)),
  );
}

/** The path that was meant by what was typed, or what is wrong with it, in words. */
export function readGroup(
  { groups, isWhole }: SeenGroups,
  typed: string,
): { path: string } | { wrong: string } {
  const text = typed.trim();
  if (text === "" || text.startsWith("/")) return { path: text };
  const found = matchGroups(groups, text);
  const folded = text.toLowerCase();
  const exact = found.filter(
    ({ path, name }) => path.toLowerCase().endsWith(`/${folded}`) || name.toLowerCase() === folded,
  );
  const [only, ...others] = exact.length > 0 ? exact : found;
  if (only && others.length === 0) return { path: only.path };
  if (only) return { wrong: `Several groups match: ${listed([only, ...others])}. Type more.` };
  return {
    wrong: isWhole
      ? `No group that you see has “${text}” in its path or name.`
      : `None of the first groups has “${text}” in its path or name. Type the path, such as /usa.`,
  };
}

function listed(groups: readonly SeenGroup[]): string {
  const shown = groups.slice(0, 3).map(({ path }) => path);
  return [...shown, ...(groups.length > shown.length ? ["…"] : [])].join(", ");
}
