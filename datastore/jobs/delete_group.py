"""Deleting a group with all that lies in it and below: what the caller asks for begins a job.

The work of deleting a group with all that lies in it and below, in steps that may be repeated.

All groups of the subtree are marked first, from the top down: nothing is let into a marked group,
so what is found there is all there is. Then they are emptied and removed, the deepest first. Where
it stands is read off the table: a worker who goes on after another begins with the same two walks.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from penstock.datastore.access.access import Access, key_of_group, unknown
from penstock.datastore.errors import IllegalState, LimitExceeded, NotFound, Unavailable
from penstock.datastore.groups.repository import Groups
from penstock.datastore.groups.rows import DELETING, removed
from penstock.datastore.jobs.jobs import Job, JobKind, find_jobs, item_of, new_job
from penstock.datastore.jobs.leases import Lease
from penstock.datastore.manifest.delete import delete_manifest
from penstock.datastore.records import Group, Resource
from penstock.datastore.resources.delete import Deleting
from penstock.datastore.resources.reading import Reading
from penstock.datastore.resources.write import Writing
from penstock.datastore.roles import ROOT, GroupPath, Role, covers
from penstock.datastore.table.items import read_rows, resource_id
from penstock.datastore.table.layout import GRANT, GROUP, KINDS, MANIFEST, OWNED, Kind
from penstock.datastore.table.pages import pages
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Attributes,
    Compare,
    ConditionFailed,
    Exists,
    Item,
    Missing,
    Put,
    Query,
    Range,
    Update,
)
from penstock.datastore.table.transaction import Write, commit, done
from penstock.datastore.text import unescape

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

    access: Access
    begun: Callable[[], None] = begun_unheard

    async def delete(self, path: GroupPath) -> tuple[Group, Job | None]:
        """Delete an empty group at once, with None, or begin the job that deletes it with the rest.

        From then on nothing more is let into the group. A group that is being deleted already gives
        the job that does it; one whose job was given up gets a new one, which goes on from there.
        The caller is admin at the path, and at every group below for which they hold a role.
        """
        groups = Groups(self.access)
        try:
            return await groups.delete(path), None
        except IllegalState:
            if path == ROOT:
                raise
        for held in self.access.caller.roles:
            if covers(path, held):
                self.access.require_at(Role.ADMIN, held)
        return await groups.one(path), await self._begin(path)

    async def _begin(self, path: GroupPath) -> Job:
        job, given_up = new_job(self.access, JobKind.DELETE_GROUP, group=path), ""
        for _ in range(ATTEMPTS):
            try:
                made = Write(Put(item_of(job), Missing()), done)
                await commit(self.access.table, [made, self._marked(path, job, given_up)])
            except _Marked as marked:
                (standing,) = await find_jobs(self.access.table, [marked.job])
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


async def delete_subtree(access: Access, lease: Lease) -> None:
    """Do the job of a lease, in the scope of somebody who may do everything."""
    work = _Subtree(access, lease, GroupPath(str(lease.job.group)))
    if await work.is_marked():
        groups = await work.close()
        await work.count(groups)
        for group in reversed(groups):
            await work.empty(group)
            await work.remove(group)


@dataclass(frozen=True, slots=True)
class _Subtree:
    """One group to be deleted, `top`, and all below it."""

    access: Access
    lease: Lease
    top: GroupPath

    async def is_marked(self) -> bool:
        """Whether the group is still the one that was marked, and no later one of its path."""
        return (await self._rows([self.top]))[self.top].get("job") == self.lease.job.id

    async def close(self) -> list[GroupPath]:
        """Mark every group below; all groups of the subtree, a level at a time."""
        found, level = [self.top], [self.top]
        while level:
            level = [child for group in level for child in await self._close_children(group)]
            found += level
        return found

    async def count(self, groups: Sequence[GroupPath]) -> None:
        """Plan a step for each group, and for each resource in each of them."""
        rows = await self._rows(groups)
        await self.lease.plan(sum(1 + _number(row, "grants") for row in rows.values() if row))

    async def empty(self, group: GroupPath) -> None:
        """Take away all that the group counts.

        What is listed may lag behind what is counted. What stays counted and unlisted may be part
        of a delete that was cut short; else raises Unavailable, as it has to be waited for.
        """
        while left := await self._left(group):
            if await self._take_away(group):
                continue
            for kind in KINDS:
                await Deleting(kind, self.access).sweep()
            if await self._left(group) == left:
                raise Unavailable(f"{left} resources in {group} are not listed yet.")

    async def remove(self, group: GroupPath) -> None:
        """Remove the empty group, unless another worker did."""
        with suppress(NotFound):
            await commit(self.access.table, removed(group, marked=True))
            await self.lease.advance(1)

    async def _close_children(self, above: GroupPath) -> list[GroupPath]:
        closed = []
        async for page in pages(
            self.access.table,
            Query(
                partition=GROUP.pk.fill({"parent": above}),
                range=Range(GROUP.sk.prefix({})),
                consistent=True,
            ),
        ):
            for item in page:
                child = GroupPath(unescape(GROUP.sk.read(str(item["sk"]))["group"]))
                if DELETING in item or await self._close(child, above):
                    closed.append(child)
                await self.lease.advance()
        return closed

    async def _close(self, group: GroupPath, above: GroupPath) -> bool:
        """Mark a group, if it is there; one below a marked group is no later one of its path."""
        mark = {DELETING: self.access.clock.timestamp(), "job": self.lease.job.id}
        marked = Update(key=key_of_group(group), default=mark, condition=Exists())
        # Changes nothing: a check would need a permission that nothing else does.
        still = Update(key=key_of_group(above), default=mark, condition=Exists(DELETING))
        try:
            await self.access.table.transact([marked, still])
        except ConditionFailed:
            return False
        return True

    async def _left(self, group: GroupPath) -> int:
        return _number((await self._rows([group]))[group], "grants")

    async def _take_away(self, group: GroupPath) -> int:
        """Delete or revoke what is listed in the group; how many resources that were."""
        taken = await self._take_manifests(group)
        for row in (GRANT, OWNED):
            listed = Query(partition=row.index_of(group=group), index=True)
            async for page in pages(self.access.table, listed):
                for kind in KINDS:
                    taken += await self._take_page(kind, page, group)
        return taken

    async def _take_manifests(self, group: GroupPath) -> int:
        taken = 0
        listed = Query(partition=MANIFEST.pk.fill({"group": group}), consistent=True)
        async for page in pages(self.access.table, listed):
            for item in page:
                await delete_manifest(self.access, item, self.lease.advance)
                await self.lease.advance(1)
                taken += 1
        return taken

    async def _take_page(
        self, kind: Kind[Any], page: Sequence[Attributes], group: GroupPath
    ) -> int:
        rows = [item for item in page if str(item["pk"]).startswith(f"{kind.letter}:")]
        reading = Reading(kind, self.access)
        found = await reading.many([resource_id(item) for item in rows], consistent=True)
        there = [resource for resource in found if not isinstance(resource, NotFound)]
        return sum([await self._take(kind, resource, group) for resource in there])

    async def _take(self, kind: Kind[Any], resource: Resource, group: GroupPath) -> bool:
        """Delete a resource of the subtree; of one from elsewhere, revoke the group's grant."""
        with suppress(NotFound):
            if covers(self.top, resource.owner):
                await Deleting(kind, self.access).delete(resource.id)
                homes = {*resource.groups, resource.owner}
                await self.lease.advance(sum(covers(self.top, home) for home in homes))
            else:
                await self._revoke(kind, resource.id, group)
                await self.lease.advance(1)
            return True
        return False

    async def _revoke(self, kind: Kind[Any], id: str, group: GroupPath) -> None:
        try:
            await Writing(kind, self.access).revoke(id, group)
        except LimitExceeded as exceeded:
            what = f"{exceeded.limit}, to revoke the {kind.noun} {id} from {group}"
            raise LimitExceeded(what, exceeded.maximum, exceeded.actual) from exceeded

    async def _rows(self, groups: Sequence[GroupPath]) -> dict[GroupPath, Attributes]:
        keys = {group: key_of_group(group) for group in groups}
        rows = await read_rows(self.access.table, keys.values(), consistent=True)
        return {group: rows.get(key, {}) for group, key in keys.items()}


def _number(item: Attributes, attribute: str) -> int:
    return int(str(item.get(attribute, 0)))
