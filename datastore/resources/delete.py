"""Deletion of a resource with any number of versions: in one transaction, or by a tombstone.

A resource with files, or with too many rows for one transaction, needs a tombstone.

A tombstone is the latest row marked `deletedAt` and listed under `X:<kind>`. From then on the
resource is gone for every reader, and the remaining rows are deleted in further transactions. Each
notes on the tombstone how many derived rows are `taken`; any process may continue from there.
Executions and files are deleted before the tombstone.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.errors import Unavailable, VersionConflict
from penstock.datastore.history.rows import Action, entry_of, resource_writes
from penstock.datastore.objects.own_keys import delete_below
from penstock.datastore.periodic import finish_all
from penstock.datastore.quotas.usage import kept_writes
from penstock.datastore.records import Resource
from penstock.datastore.resources.derived_rows import derive_rows, item_writes, removal_writes
from penstock.datastore.resources.execution_guard import (
    ResourceInUse,
    closing_writes,
    unused_writes,
)
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.resources.use_rows import (
    ResourceKey,
    StillUsed,
    forced_write,
    unused_write,
    use_rows,
    use_writes,
)
from penstock.datastore.resources.users import describe_users
from penstock.datastore.resources.writing.logged_changes import change_writes
from penstock.datastore.resources.writing.steps import MAX_OPERATIONS, RemainingSteps
from penstock.datastore.roles import Role
from penstock.datastore.table.commit import Attempts, StaleRead, Write, commit
from penstock.datastore.table.items import latest_item, load, resource_id
from penstock.datastore.table.layout import TOMBSTONE, KindDefinition
from penstock.datastore.table.port import INDEX_HASH, Attributes, Compare, Delete, Key, Put, Query
from penstock.datastore.table.tombstones import DELETED_AT

R = TypeVar("R", bound=Resource)

MAX_WRITES = 25


@dataclass(frozen=True, slots=True)
class ResourceDeleter(Generic[R]):
    """The deletes of one kind for the caller."""

    kind: KindDefinition[R]
    access: Access

    async def delete(
        self, id: str, expected_version: int | None = None, *, force: bool = False
    ) -> R:
        """Delete: one read and one transaction, or a tombstone and as many as it takes.

        The name is free and the resource invisible from the first transaction on. Raises InUse for
        a resource that others use; `force` deletes it all the same.
        """
        async for _ in Attempts():
            current = await ResourceReader(self.kind, self.access).one(id)
            self.access.require_owner(Role.ADMIN, current)
            if expected_version not in (None, current.version):
                raise VersionConflict(current.version)
            key = ResourceKey.of(current)
            try:
                await self._remove(current, forced_write(key) if force else unused_write(key))
            except StaleRead:
                continue
            except StillUsed:
                if (refusal := await describe_users(self.access, current)) is not None:
                    raise refusal from None
                continue
            return current
        raise Unavailable(f"The {self.kind.noun} is being written by many at once.")

    async def sweep(self) -> int:
        """Continue every delete that was interrupted; return the number of them."""
        items = await self._read_tombstones()

        async def finish(item: Attributes) -> int:
            buried = load(self.kind.record, item, id=resource_id(item))
            with suppress(StaleRead):
                await self._finish(buried, int(str(item["taken"])))
            return 1

        return await finish_all(partial(finish, item) for item in items)

    async def pending(self) -> int:
        """Count the deletes that were interrupted, up to one page of them."""
        return len(await self._read_tombstones())

    async def _read_tombstones(self) -> Sequence[Attributes]:
        query = Query(partition=TOMBSTONE.fill({"kind": self.kind.letter}), index=True)
        return (await self.access.table.query(query)).items

    async def _remove(self, current: R, free: Write) -> None:
        """Delete a resource, or leave a tombstone; `free` is the write about its users."""
        everything = [
            self._latest_row_delete(current),
            *(Write(Delete(key)) for key in self._version_keys(current)),
            *_derived_row_deletes(self.kind.letter, current),
        ]
        entry = entry_of(self.access, Action.DELETED, current, self.kind.letter)
        logged = change_writes(self.kind, current, None, self.access.clock.now())
        logged += [*resource_writes(self.access, entry), free]
        unused, has_run = [*unused_writes(self.kind, current), *logged], False
        pending = current.stepped and await RemainingSteps(self.kind, self.access).are_pending(
            current.id
        )
        at_once = len(everything) + len(unused) <= MAX_OPERATIONS
        if at_once and self.kind.folder is None and not pending:
            try:
                await commit(self.access.table, [*everything, *unused])
            except ResourceInUse:
                has_run = True
            else:
                return
        closing = [*closing_writes(self.kind, current, likely=has_run), *logged]
        # Rows of an unfinished write are deleted once it is finished; to go comes before.
        most = 0 if pending else MAX_OPERATIONS - 1 - len(closing)
        buried, taken = await self._write_tombstone(current, 0, most, closing)
        with suppress(StaleRead):  # then a sweep of another process continues the delete
            await self._finish(buried, taken)

    async def _finish(self, buried: R, taken: int) -> None:
        """Delete the rest of the derived rows, then versions and files, then the tombstone."""
        if buried.stepped:
            await RemainingSteps(self.kind, self.access).finish(buried.id)
        while taken < len(_derived_row_deletes(self.kind.letter, buried)):
            buried, taken = await self._write_tombstone(buried, taken)
        if await self._is_in_use(buried):
            return
        unused = unused_writes(self.kind, buried)
        keys = self._version_keys(buried)
        for start in range(0, len(keys), MAX_WRITES):
            batch = [Delete(key) for key in keys[start : start + MAX_WRITES]]
            await self.access.table.write(batch)
        await self._remove_files(buried)
        with suppress(ResourceInUse):
            await commit(self.access.table, [self._latest_row_delete(buried), *unused])

    async def _remove_files(self, buried: R) -> None:
        if self.kind.folder is None:
            return
        await delete_below(self.access.files, self.kind.folder.format(id=buried.id))

    async def _write_tombstone(
        self, resource: R, taken: int, most: int = MAX_OPERATIONS - 1, closing: Sequence[Write] = ()
    ) -> tuple[R, int]:
        """Delete up to `most` derived rows beyond the first `taken`, and note it on the row.

        Names come first: they are free at once unless the resource has a hundred of them.
        """
        writes = _derived_row_deletes(self.kind.letter, resource)[taken : taken + most]
        buried = msgspec.structs.replace(resource, revision=resource.revision + 1)
        item = {
            **latest_item(self.kind, buried),
            INDEX_HASH: TOMBSTONE.fill({"kind": self.kind.letter}),
            DELETED_AT: self.access.clock.timestamp(),
            "taken": taken + len(writes),
        }
        unchanged = Compare("revision", "=", resource.revision)
        await commit(self.access.table, [Write(Put(item, unchanged)), *closing, *writes])
        return buried, taken + len(writes)

    async def _is_in_use(self, resource: R) -> bool:
        if self.kind.execution_count is None:
            return False
        key = self.kind.execution_count.key(id=resource.id)
        row = (await self.access.table.get([key], consistent=True)).items.get(key, {})
        return row.get("count", 0) != 0

    def _latest_row_delete(self, resource: R) -> Write:
        key = self.kind.latest.key(id=resource.id)
        return Write(Delete(key, Compare("revision", "=", resource.revision)))

    def _version_keys(self, resource: R) -> Sequence[Key]:
        numbers = range(1, resource.version + 1)
        return [self.kind.version.key(id=resource.id, version=n) for n in numbers]


def keys_of_remaining_deletes(kind: KindDefinition[Any], tombstone: Attributes) -> Iterator[Key]:
    """The keys of the derived rows that a tombstone has still to delete or to count down."""
    buried = load(kind.record, tombstone, id=resource_id(tombstone))
    writes = _derived_row_deletes(kind.letter, buried)
    return (write.operation.key for write in writes[int(str(tombstone["taken"])) :])


def _derived_row_deletes(kind: str, resource: Resource) -> list[Write]:
    derived = removal_writes(derive_rows(kind, resource))
    # Last, because a tombstone of an earlier release has taken from the front without them.
    kept = kept_writes(resource, None)
    unlinked = item_writes(use_rows(kind, resource), {})
    return [*derived, *kept, *unlinked, *use_writes(resource, None)]
