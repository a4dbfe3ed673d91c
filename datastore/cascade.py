"""Deleting a group with all that lies in it and below: what the caller asks for begins a job."""

from collections.abc import Callable
from dataclasses import dataclass

from penstock.datastore.access import Role
from penstock.datastore.commit import Write, commit, done
from penstock.datastore.errors import IllegalState, Unavailable
from penstock.datastore.groups import Groups
from penstock.datastore.jobs import Job, JobKind, find_jobs, item_of, new_job
from penstock.datastore.paths import ROOT, GroupPath, covers
from penstock.datastore.records import Group
from penstock.datastore.resources.groups import DELETING, key_of_group, unknown
from penstock.datastore.resources.scope import Scope
from penstock.datastore.table import AllOf, AnyOf, Compare, Exists, Item, Missing, Put, Update

ATTEMPTS = 20


class _Marked(Exception):
    """The group was marked by another job."""

    def __init__(self, job: str) -> None:
        super().__init__(job)
        self.job = job


def begun_unheard() -> None:
    """Tell nobody that a job was begun."""


@dataclass(frozen=True, slots=True)
class Cascades:
    """The deletions of whole subtrees, in the caller's scope; `begun` is called for each job."""

    scope: Scope
    begun: Callable[[], None] = begun_unheard

    async def delete(self, path: GroupPath) -> tuple[Group, Job | None]:
        """Delete an empty group at once, with None, or begin the job that deletes it with the rest.

        From then on nothing more is let into the group. A group that is being deleted already gives
        the job that does it; one whose job was given up gets a new one, which goes on from there.
        The caller is admin at the path, and at every group below for which they hold a role.
        """
        groups = Groups(self.scope)
        try:
            return await groups.delete(path), None
        except IllegalState:
            if path == ROOT:
                raise
        for held in self.scope.caller.roles:
            if covers(path, held):
                self.scope.require_at(Role.ADMIN, held)
        return await groups.one(path), await self._begin(path)

    async def _begin(self, path: GroupPath) -> Job:
        job, given_up = new_job(self.scope, JobKind.DELETE_GROUP, group=path), ""
        for _ in range(ATTEMPTS):
            try:
                made = Write(Put(item_of(job), Missing()), done)
                await commit(self.scope.table, [made, self._marked(path, job, given_up)])
            except _Marked as marked:
                (standing,) = await find_jobs(self.scope.table, [marked.job])
                if standing is not None and not standing.is_over:
                    return standing
                given_up = marked.job
            else:
                self.begun()
                return job
        raise Unavailable(f"The group {path} is being deleted by many at once.")

    def _marked(self, path: GroupPath, job: Job, given_up: str) -> Write:
        """Mark the group as the job's, unless it is that of a job that was not given up."""
        free = AnyOf((Missing("job"), Compare("job", "=", given_up)))

        def refused(standing: Item | None) -> Exception:
            return unknown(path) if standing is None else _Marked(str(standing["job"]))

        mark = Update(
            key=key_of_group(path),
            set={DELETING: job.created_at, "job": job.id},
            condition=AllOf((Exists(), free)),
        )
        return Write(mark, refused)
