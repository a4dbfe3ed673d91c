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
from penstock.datastore.table.items import load
from penstock.datastore.table.layout import INGEST_COUNT
from penstock.datastore.table.port import Query, Range, Table, Update
from penstock.datastore.table.unreadable_rows import read_all

SHARDS: Final = 16
"""The rows of one count: each process updates its own row, so that servers do not contend."""

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


class Tally:
    """Changes of counts that are written together."""

    def __init__(self) -> None:
        self._changes: dict[ServicePathKey, IngestCounts] = defaultdict(IngestCounts)

    def add(self, at: ServicePathKey, counts: IngestCounts) -> None:
        self._changes[at] += counts

    def writes(self, shard: int) -> list[Write]:
        """The changes as writes, one for each service path."""
        return [
            Write(
                Update(
                    key=INGEST_COUNT.key(service=service, path=path, shard=shard),
                    add=_nonzero_changes(counts),
                )
            )
            for (service, path), counts in self._changes.items()
            if _nonzero_changes(counts)
        ]

    @property
    def places(self) -> list[ServicePathKey]:
        return list(self._changes)


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
