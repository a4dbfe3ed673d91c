import { effectiveRole, type HeldRole } from "../../parts/roles";

interface Sight {
  readonly owner: string;
  readonly groups: readonly string[];
  readonly grantedThrough?: string | null;
}

/** Why a group sees a pipeline: whose it is, or with whom it was shared. */
export function describeSight(
  group: string,
  { owner, grantedThrough: through, groups }: Sight,
  roles: readonly HeldRole[],
): string {
  if (!through) {
    const held = [owner, ...groups].map((one) => effectiveRole(roles, one)).find(Boolean);
    const role = held ? `your role ${held.role.toLowerCase()} at ${held.group}` : "another role";
    return `It is not shared with your group ${group}; you see it by ${role}.`;
  }
  const below = through === group ? "" : ", and what a group sees is seen by all groups below it";
  return through === owner
    ? `Your group ${group} sees it because it belongs to ${owner}${below}.`
    : `Your group ${group} sees it because ${owner} shared it with ${through}${below}.`;
}
