"""The work of deleting a group with all that lies in it and below, in steps that may be repeated.

All groups of the subtree are marked first, from the top down: nothing is let into a marked group,
so what is found there is all there is. Then they are emptied and removed, the deepest first. Where
it stands is read off the table: a worker who goes on after another begins with the same two walks.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from penstock.datastore.commit import commit
from penstock.datastore.errors import LimitExceeded, NotFound, Unavailable
from penstock.datastore.items import resource_id
from penstock.datastore.keys import unescape
from penstock.datastore.layout import GRANT, GROUP, KINDS, MANIFEST, OWNED, Kind
from penstock.datastore.leases import Lease
from penstock.datastore.manifest.deleting import delete_manifest
from penstock.datastore.paths import GroupPath, covers
from penstock.datastore.records import Resource
from penstock.datastore.resources.deleting import Deleting
from penstock.datastore.resources.groups import DELETING, key_of_group, removed
from penstock.datastore.resources.reading import Reading
from penstock.datastore.resources.rows import read_rows
from penstock.datastore.resources.scope import Scope
from penstock.datastore.resources.writing import Writing
from penstock.datastore.table import Attributes, ConditionFailed, Exists, Query, Range, Update
from penstock.datastore.walks import pages


async def delete_subtree(scope: Scope, lease: Lease) -> None:
    """Do the job of a lease, in the scope of somebody who may do everything."""
    work = _Subtree(scope, lease, GroupPath(str(lease.job.group)))
    if await work.is_marked():
        groups = await work.close()
        await work.count(groups)
        for group in reversed(groups):
            await work.empty(group)
            await work.remove(group)


@dataclass(frozen=True, slots=True)
class _Subtree:
    """One group to be deleted, `top`, and all below it."""

    scope: Scope
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
                await Deleting(kind, self.scope).sweep()
            if await self._left(group) == left:
                raise Unavailable(f"{left} resources in {group} are not listed yet.")

    async def remove(self, group: GroupPath) -> None:
        """Remove the empty group, unless another worker did."""
        with suppress(NotFound):
            await commit(self.scope.table, removed(group, marked=True))
            await self.lease.advance(1)

    async def _close_children(self, above: GroupPath) -> list[GroupPath]:
        closed = []
        async for page in pages(
            self.scope.table,
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
        mark = {DELETING: self.scope.clock.timestamp(), "job": self.lease.job.id}
        marked = Update(key=key_of_group(group), default=mark, condition=Exists())
        # Changes nothing: a check would need a permission that nothing else does.
        still = Update(key=key_of_group(above), default=mark, condition=Exists(DELETING))
        try:
            await self.scope.table.transact([marked, still])
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
            async for page in pages(self.scope.table, listed):
                for kind in KINDS:
                    taken += await self._take_page(kind, page, group)
        return taken

    async def _take_manifests(self, group: GroupPath) -> int:
        taken = 0
        listed = Query(partition=MANIFEST.pk.fill({"group": group}), consistent=True)
        async for page in pages(self.scope.table, listed):
            for item in page:
                await delete_manifest(self.scope, item, self.lease.advance)
                await self.lease.advance(1)
                taken += 1
        return taken

    async def _take_page(
        self, kind: Kind[Any], page: Sequence[Attributes], group: GroupPath
    ) -> int:
        rows = [item for item in page if str(item["pk"]).startswith(f"{kind.letter}:")]
        reading = Reading(kind, self.scope)
        found = await reading.many([resource_id(item) for item in rows], consistent=True)
        there = [resource for resource in found if not isinstance(resource, NotFound)]
        return sum([await self._take(kind, resource, group) for resource in there])

    async def _take(self, kind: Kind[Any], resource: Resource, group: GroupPath) -> bool:
        """Delete a resource of the subtree; of one from elsewhere, revoke the group's grant."""
        with suppress(NotFound):
            if covers(self.top, resource.owner):
                await Deleting(kind, self.scope).delete(resource.id)
                homes = {*resource.groups, resource.owner}
                await self.lease.advance(sum(covers(self.top, home) for home in homes))
            else:
                await self._revoke(kind, resource.id, group)
                await self.lease.advance(1)
            return True
        return False

    async def _revoke(self, kind: Kind[Any], id: str, group: GroupPath) -> None:
        try:
            await Writing(kind, self.scope).revoke(id, group)
        except LimitExceeded as exceeded:
            what = f"{exceeded.limit}, to revoke the {kind.noun} {id} from {group}"
            raise LimitExceeded(what, exceeded.maximum, exceeded.actual) from exceeded

    async def _rows(self, groups: Sequence[GroupPath]) -> dict[GroupPath, Attributes]:
        keys = {group: key_of_group(group) for group in groups}
        rows = await read_rows(self.scope.table, keys.values(), consistent=True)
        return {group: rows.get(key, {}) for group, key in keys.items()}


def _number(item: Attributes, attribute: str) -> int:
    return int(str(item.get(attribute, 0)))
