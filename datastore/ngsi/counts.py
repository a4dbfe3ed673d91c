"""Counts of received events by service path and state; they always add up.

A received event is persisted, a duplicate, dead-lettered or pending. Each count changes in the same
transaction as the rows that it counts.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final, TypeAlias

from penstock.datastore.records import StoredRecord
from penstock.datastore.table.commit import Write
from penstock.datastore.table.items import load, read_all
from penstock.datastore.table.layout import INGEST_COUNT
from penstock.datastore.table.port import Exists, Key, Query, Range, Table, Update

SHARDS: Final = 16
"""The rows of one count: each process updates its own row, so that servers do not contend."""

OPEN_PREFIX: Final = "open:"
"""Before the id of a segment: the attribute of a count whose segment is not settled."""

ServicePathKey: TypeAlias = tuple[str, str]
"""A service and one of its service paths."""


class IngestCounts(StoredRecord, frozen=True, kw_only=True):
    """Events (updates of entities) of a service path by state, and the number of stored items."""

    received: int = 0
    persisted: int = 0
    duplicates: int = 0
    dead_lettered: int = 0
    pending: int = 0
    items: int = 0

    def __add__(self, other: "IngestCounts") -> "IngestCounts":
        return IngestCounts(
            received=self.received + other.received,
            persisted=self.persisted + other.persisted,
            duplicates=self.duplicates + other.duplicates,
            dead_lettered=self.dead_lettered + other.dead_lettered,
            pending=self.pending + other.pending,
            items=self.items + other.items,
        )

    @property
    def adds_up(self) -> bool:
        """Whether the states add up to the received events."""
        settled = self.persisted + self.duplicates + self.dead_lettered
        return self.received == settled + self.pending


class SegmentSettled(Exception):
    """The segment is settled already."""


class Tally:
    """Changes of counts that are written together."""

    def __init__(self) -> None:
        self._changes: dict[ServicePathKey, IngestCounts] = defaultdict(IngestCounts)

    def add(self, at: ServicePathKey, counts: IngestCounts) -> None:
        self._changes[at] += counts

    def writes(self, shard: int, opened: str | None = None) -> list[Write]:
        """The changes as writes, one for each service path.

        Where events become pending, the row names the segment `opened` until it is settled.
        """
        return [
            Write(
                Update(
                    key=count_key(at, shard),
                    add=_nonzero_changes(counts),
                    set={OPEN_PREFIX + opened: 1} if opened and counts.pending > 0 else {},
                )
            )
            for at, counts in self._changes.items()
            if _nonzero_changes(counts)
        ]

    def settling_writes(self, shard: int, segment: str) -> list[Write]:
        """The changes by a segment that is settled; raises SegmentSettled if it was before."""
        mark = OPEN_PREFIX + segment
        return [
            Write(
                Update(
                    key=count_key(at, shard),
                    add=_nonzero_changes(counts),
                    remove=(mark,),
                    condition=Exists(mark),
                ),
                lambda _: SegmentSettled(),
            )
            for at, counts in self._changes.items()
        ]

    @property
    def places(self) -> list[ServicePathKey]:
        return list(self._changes)


def count_key(at: ServicePathKey, shard: int) -> Key:
    """The key of one shard of the counts of a service path."""
    service, path = at
    return INGEST_COUNT.key(service=service, path=path, shard=shard)


async def read_counts(table: Table, at: ServicePathKey) -> IngestCounts:
    """The counts of one service path: `pk = NC:<service>:<path>`, all shards together."""
    service, path = at
    pk = INGEST_COUNT.pk.fill({"service": service, "path": path})
    page = await table.query(
        Query(partition=pk, range=Range(INGEST_COUNT.sk.prefix({})), consistent=True)
    )
    return sum_counts(read_all(partial(load, IngestCounts), page.items))


def sum_counts(counts: Iterable[IngestCounts]) -> IngestCounts:
    return sum(counts, IngestCounts())


def _nonzero_changes(counts: IngestCounts) -> Mapping[str, int]:
    changes = {
        "received": counts.received,
        "persisted": counts.persisted,
        "duplicates": counts.duplicates,
        "deadLettered": counts.dead_lettered,
        "pending": counts.pending,
        "items": counts.items,
    }
    return {name: change for name, change in changes.items() if change}
