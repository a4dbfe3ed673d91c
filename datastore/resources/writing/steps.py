"""The rest of a write that is too large for one transaction, done in steps behind a marker.

The first transaction of such a write decides everything: the record, its grants and its names. It
also puts a marker, `W:<revision>`, with the state before and after. The rest follows in
transactions of their own, each of which notes on the marker how many writes are `taken`, on
condition that nobody else took them. So any process may continue, and no step happens twice. The
last step removes the marker.

A write that finds markers of earlier ones puts its own behind them; they are finished in the order
of their revisions.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.errors import PenstockError
from penstock.datastore.periodic import finish_all
from penstock.datastore.records import Footprint, Resource, StoredRecord
from penstock.datastore.resources.derived_rows import derive_rows, difference
from penstock.datastore.resources.use_rows import listed_uses
from penstock.datastore.table.commit import Write, commit, retry_on_conflict
from penstock.datastore.table.counters import CounterDrift
from penstock.datastore.table.items import attributes_of, load, resource_id
from penstock.datastore.table.layout import UNFINISHED, KindDefinition
from penstock.datastore.table.limits import guard_transact
from penstock.datastore.table.port import (
    Attributes,
    Compare,
    Delete,
    Key,
    Missing,
    Put,
    Query,
    Range,
    Update,
    key_of,
)

MAX_OPERATIONS: Final = 100
LOGGER: Final = logging.getLogger(__name__)


class _Marker(StoredRecord, frozen=True, kw_only=True):
    """The row of an unfinished write; without `before` it creates the resource."""

    before: Footprint | None = None
    after: Footprint
    taken: int = 0


@dataclass(frozen=True, slots=True)
class RemainingSteps:
    """The unfinished writes of one kind of resource."""

    kind: KindDefinition[Any]
    access: Access

    def marker_write(self, before: Resource | None, after: Resource) -> Write:
        """The write that marks what is left to do from one state of a resource to the next."""
        letter = self.kind.letter
        row = UNFINISHED.item(kind=letter, id=after.id, revision=after.revision)
        marker = _Marker(before=_footprint(before) if before else None, after=_footprint(after))
        return Write(Put({**row, **attributes_of(marker), "taken": 0}, Missing()))

    def check_limits(self, writes: Sequence[Write]) -> None:
        """Raise LimitExceeded where a step would, while the write can still be refused."""
        for step in _steps_of(writes, 0):
            guard_transact([write.operation for write in step])

    async def are_pending(self, id: str) -> bool:
        """Whether a write of the resource is unfinished."""
        return bool(await self._read_markers(id, 1))

    async def finish(self, id: str) -> None:
        """Finish every write of the resource; raises Unavailable where others do so all the time.

        List unfinished writes: `pk = P:<id>`, `sk` from `W:` on, in the order of revisions.
        """

        async def attempt() -> None:
            for item in await self._read_markers(id):
                await self._finish(item)

        await retry_on_conflict(self.kind.noun, attempt)

    async def finish_or_leave(self, id: str) -> None:
        """Finish every write of the resource, or leave that to the sweep where it fails.

        What is written must not be reported as a failure.
        """
        try:
            await self.finish(id)
        except (PenstockError, CounterDrift):
            LOGGER.warning("the rest of a write of %s is left for later", id, exc_info=True)

    async def sweep(self) -> int:
        """Finish the writes that were interrupted; return the number of their resources."""

        async def finish(id: str) -> int:
            await self.finish(id)
            return 1

        ids = dict.fromkeys(resource_id(item) for item in await self._list_markers())
        return await finish_all(partial(finish, id) for id in ids)

    async def pending(self) -> int:
        """Count the writes that were interrupted, up to one page of them."""
        return len(await self._list_markers())

    async def _list_markers(self) -> Sequence[Attributes]:
        listed = UNFINISHED.index_partition(kind=self.kind.letter)
        return (await self.access.table.query(Query(partition=listed, index=True))).items

    async def _read_markers(self, id: str, limit: int | None = None) -> Sequence[Attributes]:
        query = Query(
            partition=UNFINISHED.pk.fill({"kind": self.kind.letter, "id": id}),
            range=Range(UNFINISHED.sk.prefix({})),
            limit=limit,
            consistent=True,
        )
        return (await self.access.table.query(query)).items

    async def _finish(self, item: Attributes) -> None:
        key, (writes, taken) = key_of(item), _writes_of(self.kind.letter, item)
        for step in _steps_of(writes, taken):
            note = _note_write(key, taken, taken + len(step), len(writes))
            await commit(self.access.table, [note, *step])
            taken += len(step)


def keys_of_remaining_steps(kind: str, marker: Attributes) -> Iterator[Key]:
    """The keys of the rows that an unfinished write has still to write, by its marker."""
    writes, taken = _writes_of(kind, marker)
    return (write.operation.key for write in writes[taken:])


def _writes_of(kind: str, item: Attributes) -> tuple[Sequence[Write], int]:
    """The writes that a marker stands for, in their order, and how many of them are taken."""
    id, marker = resource_id(item), load(_Marker, item)
    before, after = (
        derive_rows(kind, msgspec.structs.replace(state, id=id)) if state else None
        for state in (marker.before, marker.after)
    )
    return difference(before, after).rest, marker.taken


def _steps_of(writes: Sequence[Write], taken: int) -> Iterator[Sequence[Write]]:
    """The writes beyond the first `taken`, as many as fit a transaction with the note of them."""
    for start in range(taken, len(writes), MAX_OPERATIONS - 1):
        yield writes[start : start + MAX_OPERATIONS - 1]


def _note_write(key: Key, before: int, after: int, total: int) -> Write:
    """Note on a marker how many writes are taken; after the last one remove it."""
    still = Compare("taken", "=", before)
    if after == total:
        return Write(Delete(key, still))
    return Write(Update(key=key, set={"taken": after}, condition=still))


def _footprint(resource: Resource) -> Footprint:
    return Footprint(
        name=resource.name if resource.named else "",
        owner=resource.owner,
        groups=resource.groups,
        tags=resource.tags,
        shard=resource.shard,
        named=resource.named,
        uses=tuple(used.text for used in listed_uses(resource)),
    )
