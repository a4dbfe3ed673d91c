interface Sight {
  readonly owner: string;
  readonly grantedThrough?: string | null;
}

/** Why a group sees a pipeline: whose it is, or with whom it was shared. */
export function describeSight(group: string, { owner, grantedThrough: through }: Sight): string {
  if (!through) {
    return `It is not shared with your group ${group}; you see it by a role in another group.`;
  }
  const below = through === group ? "" : ", and what a group sees is seen by all groups below it";
  return through === owner
    ? `Your group ${group} sees it because it belongs to ${owner}${below}.`
    : `Your group ${group} sees it because ${owner} shared it with ${through}${below}.`;
}
