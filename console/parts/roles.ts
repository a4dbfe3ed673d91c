import type { Role } from "../graphql/generated/types";

export interface HeldRole {
  readonly group: string;
  readonly role: string;
}

const RANKS = ["READER", "CONTRIBUTOR", "ADMIN"];

/** Whether a group is another one, or above it. */
export function covers(group: string, path: string): boolean {
  return group === "/" || group === path || path.startsWith(`${group}/`);
}

/** The role that holds at a group: that of the nearest group at or above it; null without one. */
export function effectiveRole(roles: readonly HeldRole[], path: string): HeldRole | null {
  const held = roles.filter(({ group }) => covers(group, path));
  return held.reduce<HeldRole | null>(
    (nearest, one) => (nearest === null || one.group.length > nearest.group.length ? one : nearest),
    null,
  );
}

/** Whether a role, or a stronger one, is held at a group. */
export function hasRole(roles: readonly HeldRole[], role: Role, path: string): boolean {
  const held = effectiveRole(roles, path);
  return held !== null && RANKS.indexOf(held.role) >= RANKS.indexOf(role);
}

/** Whether something may be made in some group. */
export function mayCreate(roles: readonly HeldRole[]): boolean {
  return roles.some(({ role }) => role !== "READER");
}

interface Shared {
  readonly owner: string;
  readonly groups: readonly string[];
}

/** Whether a pipeline may be run: by contributors of a group that sees it, as the server checks again. */
export function mayRun(roles: readonly HeldRole[], { owner, groups }: Shared): boolean {
  return (
    [owner, ...groups].some((group) => hasRole(roles, "CONTRIBUTOR", group)) ||
    roles.some(({ group, role }) => role !== "READER" && groups.some((one) => covers(one, group)))
  );
}

const MAY: Readonly<Record<string, string>> = {
  READER: "You may read what this group sees",
  CONTRIBUTOR: "You may read, change and run what this group has",
  ADMIN: "You may change what this group has, and decide who sees it",
};

/** What a role lets the caller do at a group, and who gave it. */
export function describeRole(role: HeldRole | null, path: string): string {
  if (role === null) return "You have no role here, only in a group below.";
  const name = role.role.toLowerCase();
  const reach = role.group === path ? "here" : `at ${role.group}, which holds in all groups below`;
  return `${MAY[role.role] ?? "You have a role here"}: your sign-in gives you the role ${name} ${reach}.`;
}

/** The topmost groups of roles: those that no other one covers. */
export function topGroups(roles: readonly HeldRole[]): string[] {
  const groups = [...new Set(roles.map(({ group }) => group))];
  return groups.filter((path) => !groups.some((one) => one !== path && covers(one, path))).sort();
}
