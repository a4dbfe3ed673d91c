"""Deleting a resource with any number of versions: at once where it fits, else by a tombstone.

A tombstone is the latest row marked `deletedAt` and listed under `X:<kind>`. From then on the
resource is gone for every reader, and what remains is taken away in transactions of their own, each
leaving the tombstone true; whoever finds one may go on with it.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from datastore.access import Role
from datastore.commit import Moved, Write, commit
from datastore.errors import Unavailable, VersionConflict
from datastore.items import latest_item, load, resource_id
from datastore.layout import TOMBSTONE, Kind
from datastore.records import Resource
from datastore.resources.footprint import difference, footprint
from datastore.resources.reading import Reading
from datastore.resources.scope import Scope
from datastore.table import INDEX_HASH, Compare, Delete, Key, Put, Query

R = TypeVar("R", bound=Resource)

ATTEMPTS = 20
MAX_OPERATIONS = 100
MAX_WRITES = 25


@dataclass(frozen=True, slots=True)
class Deleting(Generic[R]):
    """The deletes of one kind, in the caller's scope."""

    kind: Kind[R]
    scope: Scope

    async def delete(self, id: str, expected_version: int | None = None) -> R:
        """Delete: one read and one transaction, or a tombstone and as many as it takes.

        The name is free and the resource invisible from the first transaction on.
        """
        for _ in range(ATTEMPTS):
            current = await Reading(self.kind, self.scope).one(id, consistent=True)
            self.scope.require_owner(Role.ADMIN, current)
            if expected_version not in (None, current.version):
                raise VersionConflict(current.version)
            try:
                await self._remove(current)
            except Moved:
                continue
            return current
        raise Unavailable(f"The {self.kind.noun} is being written by many at once.")

    async def sweep(self) -> int:
        """Finish every delete that was cut short; return how many there were."""
        query = Query(partition=TOMBSTONE.fill({"kind": self.kind.letter}), index=True)
        page = await self.scope.table.query(query)
        for item in page.items:
            with suppress(Moved):
                await self._finish(load(self.kind.record, item, id=resource_id(item)))
        return len(page.items)

    async def _remove(self, current: R) -> None:
        everything = [
            self._latest_gone(current),
            *(Write(Delete(key)) for key in self._version_keys(current)),
            *difference(footprint(self.kind.letter, current), None),
        ]
        if len(everything) <= MAX_OPERATIONS:
            await commit(self.scope.table, everything)
            return
        buried = self._without_a_grant(current)
        await self._commit_burial(current, buried)
        with suppress(Moved):  # then a sweep elsewhere is finishing it
            await self._finish(buried)

    async def _finish(self, buried: R) -> None:
        """Take away the grants that are left, then the versions, then the tombstone."""
        while buried.groups:
            narrower = self._without_a_grant(buried)
            await self._commit_burial(buried, narrower)
            buried = narrower
        keys = self._version_keys(buried)
        for start in range(0, len(keys), MAX_WRITES):
            batch = [Delete(key) for key in keys[start : start + MAX_WRITES]]
            await self.scope.table.write(batch)
        await commit(self.scope.table, [self._latest_gone(buried)])

    def _without_a_grant(self, resource: R) -> R:
        """The tombstone once the last of its grants, with tags and counts, is gone."""
        return msgspec.structs.replace(
            resource, groups=resource.groups[:-1], revision=resource.revision + 1
        )

    async def _commit_burial(self, before: R, after: R) -> None:
        letter = self.kind.letter
        item = {**latest_item(self.kind, after), "deletedAt": self.scope.clock.timestamp()}
        item[INDEX_HASH] = TOMBSTONE.fill({"kind": letter})
        unchanged = Compare("revision", "=", before.revision)
        writes = difference(footprint(letter, before), footprint(letter, after))
        await commit(self.scope.table, [Write(Put(item, unchanged)), *writes])

    def _latest_gone(self, resource: R) -> Write:
        key = self.kind.latest.key(id=resource.id)
        return Write(Delete(key, Compare("revision", "=", resource.revision)))

    def _version_keys(self, resource: R) -> Sequence[Key]:
        numbers = range(1, resource.version + 1)
        return [self.kind.version.key(id=resource.id, version=n) for n in numbers]
