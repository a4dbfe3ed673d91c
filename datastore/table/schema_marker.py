"""The row that says which releases can use the table, and the table that obeys it."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

from penstock.datastore.errors import Unavailable
from penstock.datastore.records import StoredRecord
from penstock.datastore.table.forwarding import ForwardingTable
from penstock.datastore.table.items import attributes_of, load
from penstock.datastore.table.layout import KINDS, LISTED, SCHEMA_MARKER
from penstock.datastore.table.port import (
    AnyOf,
    Batch,
    Compare,
    ConditionFailed,
    Delete,
    Key,
    Missing,
    Operation,
    Page,
    Put,
    Query,
    Scan,
    Table,
    Update,
)
from penstock.datastore.table.row_forms import FORMS, needed_number

CHECK_SECONDS: Final = 30.0
_RETRY_AFTER: Final = 60

logger = logging.getLogger("penstock.table")


@dataclass(frozen=True, slots=True)
class Release:
    """The newest form of the rows that a release knows, as a number."""

    schema: int


THIS_RELEASE: Final = Release(schema=FORMS[-1].number)
"""1: formulas may have no ids beside them. 2: every formula has. From 3 on: see `FORMS`."""


class SchemaMarker(StoredRecord, frozen=True, kw_only=True):
    """The form of the rows, and the least that a release must know to read and to write them.

    `step` is the number to which an upgrade is under way, and `cursor` the place that it reached.
    """

    schema: int = 1
    minimum_reader: int = 1
    minimum_writer: int = 1
    step: int | None = None
    cursor: str | None = None


class TooOld(Unavailable):
    """A newer release wrote the rows in a form that this one must not write, or not read."""

    def __init__(self, release: Release, needed: int, use: str) -> None:
        super().__init__(
            f"This release is too old to {use} the table: it knows the rows up to number "
            f"{release.schema}, and {needed} is needed.",
            _RETRY_AFTER,
        )


async def read_marker(table: Table) -> SchemaMarker:
    """Read the marker: a consistent get of `pk = SM, sk = SM`; a table without one has number 1."""
    key = SCHEMA_MARKER.key()
    found = (await table.get([key], consistent=True)).items.get(key)
    return SchemaMarker() if found is None else load(SchemaMarker, found)


async def place_marker(table: Table, release: Release = THIS_RELEASE) -> None:
    """Write the marker if there is none: of this release in a table without resources."""
    if (await table.get([SCHEMA_MARKER.key()], consistent=True)).items:
        return
    partitions = [LISTED.index_partition(kind=kind.letter) for kind in KINDS]
    pages = [await table.query(Query(partition=one, index=True, limit=1)) for one in partitions]
    marker = SchemaMarker(schema=1 if any(page.items for page in pages) else release.schema)
    row = {**SCHEMA_MARKER.item(), **attributes_of(marker), "schema": marker.schema}
    try:
        await table.transact([Put(row, Missing())])
    except ConditionFailed:
        return


async def raise_minimums(table: Table, *, reader: int, writer: int) -> None:
    """Demand of readers and writers that they know the rows up to a number; never lowers it."""
    for name, number in (("minimumReader", reader), ("minimumWriter", writer)):
        lower = AnyOf((Missing(name), Compare(name, "<", number)))
        # A table without a marker has rows of the first form.
        raised = Update(
            key=SCHEMA_MARKER.key(), set={name: number}, default={"schema": 1}, condition=lower
        )
        if number == 1:
            continue
        try:
            await table.transact([raised])
        except ConditionFailed:
            continue


def check_release(marker: SchemaMarker, release: Release, *, writes: bool) -> None:
    """Raise TooOld if a release must not read, or not write, what the marker describes."""
    if release.schema < marker.minimum_reader:
        raise TooOld(release, marker.minimum_reader, "read")
    if writes and release.schema < marker.minimum_writer:
        raise TooOld(release, marker.minimum_writer, "write")


class GuardedTable(ForwardingTable):
    """A table that refuses what the marker does not allow to this release.

    The marker is read before the first call, and again when it is `seconds` old; `now` is a clock
    in seconds. So within that time after an upgrade every server of an older release stops writing.
    The first write of a form of rows raises the marker's minimum to the number of the form.
    """

    def __init__(
        self,
        table: Table,
        release: Release = THIS_RELEASE,
        *,
        seconds: float = CHECK_SECONDS,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._table = table
        self._release = release
        self._seconds = seconds
        self._now = now
        self._read_at = float("-inf")
        self._marker = SchemaMarker()

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        await self._check(writes=False)
        return await self._table.get(keys, consistent=consistent)

    async def query(self, query: Query) -> Page:
        await self._check(writes=False)
        return await self._table.query(query)

    async def scan(self, scan: Scan) -> Page:
        await self._check(writes=False)
        return await self._table.scan(scan)

    async def transact(self, operations: Sequence[Operation]) -> float:
        await self._check(writes=True)
        await self._demand(operations)
        return await self._table.transact(operations)

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        await self._check(writes=True)
        await self._demand(operations)
        return await self._table.write(operations)

    async def ping(self) -> None:
        await self._check(writes=True)
        await self._table.ping()

    async def create(self) -> None:
        await self._table.create()
        await place_marker(self._table, self._release)

    async def _demand(self, operations: Sequence[Operation]) -> None:
        """Raise the marker's minimum before rows of a form that it does not name are written."""
        known = min(self._marker.minimum_reader, self._marker.minimum_writer)
        number = needed_number(operations, known)
        if number > known:
            await raise_minimums(self._table, reader=number, writer=number)
            self._marker = await read_marker(self._table)

    async def _check(self, *, writes: bool) -> None:
        if self._now() - self._read_at >= self._seconds:
            marker = await read_marker(self._table)
            self._read_at = self._now()
            if marker.minimum_writer > max(self._release.schema, self._marker.minimum_writer):
                logger.error("a release that knows number %d is needed", marker.minimum_writer)
            self._marker = marker
        check_release(self._marker, self._release, writes=writes)
