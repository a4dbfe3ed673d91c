export interface HeldRole {
  readonly group: string;
  readonly role: string;
}

const RANKS = ["READER", "CONTRIBUTOR", "ADMIN"];

/** Whether a group is another one, or above it. */
export function covers(group: string, path: string): boolean {
  return group === "/" || group === path || path.startsWith(`${group}/`);
}

/** The strongest role that is held at a group, and the group that gives it; null without one. */
export function effectiveRole(roles: readonly HeldRole[], path: string): HeldRole | null {
  const held = roles.filter(({ group }) => covers(group, path));
  return held.reduce<HeldRole | null>(
    (best, one) =>
      best === null || RANKS.indexOf(one.role) > RANKS.indexOf(best.role) ? one : best,
    null,
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
