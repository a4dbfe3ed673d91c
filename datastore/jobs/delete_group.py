"""Deletion of a group with everything in it and below it, as a job of repeatable steps.

All groups of the subtree are marked first, from the top down. Nothing can be added to a marked
group, so the job finds everything there is. Then the groups are emptied and removed, the deepest
first. The table itself holds the progress: a worker that takes over repeats both walks from the
start.

The table of a job writes nothing once another worker has the job: one that was paused takes nothing
of a later group of the same path.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from penstock.datastore.access.access import Access, group_not_found_error, key_of_group
from penstock.datastore.access.open_uploads import find_places_of_group, free_places
from penstock.datastore.errors import IllegalState, NotFound, Unavailable
from penstock.datastore.groups.repository import Groups
from penstock.datastore.groups.rows import close_shards, count_group, remove_group
from penstock.datastore.history.rows import Action, entry_about, group_writes
from penstock.datastore.jobs.jobs import Job, JobKind, find_jobs, new_job
from penstock.datastore.jobs.leases import JobLease
from penstock.datastore.jobs.rows import creation_writes
from penstock.datastore.manifest.delete import delete_manifest
from penstock.datastore.records import Group, Resource
from penstock.datastore.resources.delete import ResourceDeleter
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.resources.writing.steps import RemainingSteps
from penstock.datastore.resources.writing.writer import ResourceWriter
from penstock.datastore.roles import ROOT, GroupPath, Role, covers, parent
from penstock.datastore.table.commit import Attempts, Write, commit
from penstock.datastore.table.items import read_rows, resource_id
from penstock.datastore.table.layout import GRANT, GROUP, KINDS, MANIFEST, OWNED, KindDefinition
from penstock.datastore.table.pages import query_pages
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Attributes,
    Compare,
    ConditionFailed,
    Exists,
    Item,
    Missing,
    Query,
    Range,
    Update,
)
from penstock.datastore.table.sharded_counts import DELETING
from penstock.datastore.text import unescape


class _MarkedByOtherJob(Exception):
    """Another job already marked the group."""

    def __init__(self, job: str) -> None:
        super().__init__(job)
        self.job = job


def notify_nobody(*_about: object) -> None:
    """Ignore a notice; there is nobody to notify."""


@dataclass(frozen=True, slots=True)
class GroupDeletions:
    """Deletion of groups for the caller; `on_job_created` is called for each new job."""

    access: Access
    on_job_created: Callable[[Job], None] = notify_nobody

    async def delete(self, path: GroupPath) -> tuple[Group, Job | None]:
        """Delete an empty group at once and return None, or begin a job that deletes all of it.

        From then on nothing can be added to the group. If a job is deleting the group already, that
        job is returned. If that job has failed, a new one continues its work. The caller must be
        admin at the path, and at every group below for which they have a role.
        """
        groups = Groups(self.access)
        try:
            return await groups.delete(path), None
        except IllegalState:
            if path == ROOT:
                raise
        for held in self.access.caller.roles:
            if covers(path, held):
                self.access.require_role(Role.ADMIN, held)
        return await groups.one(path), await self._begin(path)

    async def _begin(self, path: GroupPath) -> Job:
        job, given_up = new_job(self.access, JobKind.DELETE_GROUP, group=path), ""
        entry = entry_about(self.access, Action.GROUP_DELETED, path, "group")
        logged = group_writes(self.access, entry, [parent(path) or ROOT])
        async for _ in Attempts():
            try:
                made = creation_writes(job)
                marked = self._mark_write(path, job, given_up)
                await commit(self.access.table, [*made, marked, *logged])
            except _MarkedByOtherJob as marked:
                (standing,) = await find_jobs(self.access.table, [marked.job])
                if standing is not None and not standing.is_over:
                    await close_shards(self.access.table, path, _mark_of(standing))
                    return standing
                given_up = marked.job
            else:
                await close_shards(self.access.table, path, _mark_of(job))
                self.on_job_created(job)
                return job
        raise Unavailable(f"The group {path} is being deleted by many at once.")

    def _mark_write(self, path: GroupPath, job: Job, given_up: str) -> Write:
        """Mark the group for the job, unless a job that has not failed has marked it."""
        free = AnyOf((Missing("job"), Compare("job", "=", given_up)))

        def describe_conflict(standing: Item | None) -> Exception:
            return (
                group_not_found_error(path)
                if standing is None
                else _MarkedByOtherJob(str(standing["job"]))
            )

        mark = Update(key=key_of_group(path), set=_mark_of(job), condition=AllOf((Exists(), free)))
        return Write(mark, describe_conflict)


async def delete_subtree(access: Access, lease: JobLease) -> None:
    """Run the job of a lease; `access` must be that of a caller who may do everything."""
    work = _SubtreeDeletion(access, lease, GroupPath(str(lease.job.group)))
    if await work.is_marked():
        groups = await work.mark_all()
        await work.plan_steps(groups)
        for group in reversed(groups):
            await work.empty_group(group)
            await work.remove_group(group)


@dataclass(frozen=True, slots=True)
class _SubtreeDeletion:
    """The deletion of one group, `top`, and of everything below it."""

    access: Access
    lease: JobLease
    top: GroupPath

    async def is_marked(self) -> bool:
        """Whether the job marked this group, and not an older group of the same path."""
        key = key_of_group(self.top)
        rows = await read_rows(self.access.table, [key], consistent=True)
        return rows.get(key, {}).get("job") == self.lease.job.id

    async def mark_all(self) -> list[GroupPath]:
        """Mark every group below; return all groups of the subtree, level by level."""
        await close_shards(self.access.table, self.top, self._new_mark())
        found, level = [self.top], [self.top]
        while level:
            level = [child for group in level for child in await self._mark_children(group)]
            found += level
        return found

    async def plan_steps(self, groups: Sequence[GroupPath]) -> None:
        """Plan one step for each group, and one for each resource in each group."""
        counts = [await count_group(self.access.table, group) for group in groups]
        await self.lease.set_steps_left(sum(1 + count.grants for count in counts))

    async def empty_group(self, group: GroupPath) -> None:
        """Delete everything that the group's counter counts.

        The index may lag behind the counter. A resource that is counted but not listed may belong
        to a revoke or a delete that was interrupted, which is finished first; otherwise raises
        Unavailable, and the job waits for the index.
        """
        while left := await self._count_left(group):
            if await self._delete_listed(group):
                continue
            for kind in KINDS:
                await RemainingSteps(kind, self.access).sweep()
                await ResourceDeleter(kind, self.access).sweep()
            if await self._count_left(group) == left:
                raise Unavailable(f"{left} resources in {group} are not listed yet.")

    async def remove_group(self, group: GroupPath) -> None:
        """Remove the empty group, unless another worker did so."""
        with suppress(NotFound):
            # Before the removal, because this process may die behind it.
            places = await find_places_of_group(self.access.table, group)
            await free_places(self.access.table, places)
            await remove_group(self.access.table, group, marked=True)
            await self.lease.advance(1)

    async def _mark_children(self, above: GroupPath) -> list[GroupPath]:
        closed = []
        async for page in query_pages(
            self.access.table,
            Query(
                partition=GROUP.pk.fill({"parent": above}),
                range=Range(GROUP.sk.prefix({})),
                consistent=True,
            ),
        ):
            for item in page:
                child = GroupPath(unescape(GROUP.sk.parse(str(item["sk"]))["group"]))
                if DELETING in item or await self._mark_child(child, above):
                    await close_shards(self.access.table, child, self._new_mark())
                    closed.append(child)
                await self.lease.advance()
        return closed

    async def _mark_child(self, group: GroupPath, above: GroupPath) -> bool:
        """Mark a group if it exists.

        The group above must be marked: otherwise this is a new group of the same path.
        """
        mark = self._new_mark()
        marked = Update(key=key_of_group(group), default=mark, condition=Exists())
        # This update changes nothing. A condition check would need one more IAM permission.
        still = Update(key=key_of_group(above), default=mark, condition=Exists(DELETING))
        try:
            await self.access.table.transact([marked, still])
        except ConditionFailed:
            return False
        return True

    async def _count_left(self, group: GroupPath) -> int:
        return (await count_group(self.access.table, group)).grants

    def _new_mark(self) -> Item:
        return {DELETING: self.access.clock.timestamp(), "job": self.lease.job.id}

    async def _delete_listed(self, group: GroupPath) -> int:
        """Delete or revoke what is listed in the group; return the number of resources."""
        taken = await self._delete_manifests(group)
        for row in (GRANT, OWNED):
            listed = Query(partition=row.index_partition(group=group), index=True)
            async for page in query_pages(self.access.table, listed):
                for kind in KINDS:
                    taken += await self._delete_page(kind, page, group)
        return taken

    async def _delete_manifests(self, group: GroupPath) -> int:
        taken = 0
        listed = Query(partition=MANIFEST.pk.fill({"group": group}), consistent=True)
        async for page in query_pages(self.access.table, listed):
            for item in page:
                await delete_manifest(self.access, item, self.lease.advance)
                await self.lease.advance(1)
                taken += 1
        return taken

    async def _delete_page(
        self, kind: KindDefinition[Any], page: Sequence[Attributes], group: GroupPath
    ) -> int:
        rows = [item for item in page if str(item["pk"]).startswith(f"{kind.letter}:")]
        reading = ResourceReader(kind, self.access)
        found = await reading.many([resource_id(item) for item in rows])
        there = [resource for resource in found if not isinstance(resource, NotFound)]
        return sum([await self._delete_or_revoke(kind, resource, group) for resource in there])

    async def _delete_or_revoke(
        self, kind: KindDefinition[Any], resource: Resource, group: GroupPath
    ) -> bool:
        """Delete a resource of the subtree; for one owned elsewhere, revoke the group's grant."""
        with suppress(NotFound):
            if covers(self.top, resource.owner):
                # Whoever may delete a group decides about all that its resources are used by.
                await ResourceDeleter(kind, self.access).delete(resource.id, force=True)
                homes = {*resource.groups, resource.owner}
                await self.lease.advance(sum(covers(self.top, home) for home in homes))
            else:
                await ResourceWriter(kind, self.access).revoke(resource.id, group)
                await self.lease.advance(1)
            return True
        return False


def _mark_of(job: Job) -> Item:
    """The attributes that mark a group for the job."""
    return {DELETING: job.created_at, "job": job.id}
