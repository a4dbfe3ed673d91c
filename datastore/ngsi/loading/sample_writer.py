"""The writer of samples: stores events in their tables, in few requests."""

import logging
from asyncio import Semaphore, gather
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeVar

from penstock.datastore.errors import LimitExceeded, PenstockError
from penstock.datastore.logged_errors import describe_error
from penstock.datastore.ngsi.dead_letters import Refusal
from penstock.datastore.ngsi.destinations import Destinations, FailureKind, TableItem
from penstock.datastore.ngsi.large_values import LargeValues
from penstock.datastore.ngsi.naming.table_names import is_table_name
from penstock.datastore.ngsi.options import ItemLayout
from penstock.datastore.ngsi.rows import Event, items_of
from penstock.datastore.table import limits
from penstock.datastore.table.port import key_of

T = TypeVar("T")

CONCURRENT_REQUESTS: Final = 4
"""The number of concurrent requests of one batch."""

MAX_CREATED: Final = 100_000

logger = logging.getLogger("penstock.ngsi")


@dataclass(slots=True)
class WriteResult:
    """The result of a write: the number of items, and the events that no table accepts."""

    items: int = 0
    refused: list[tuple[Event, Refusal]] = field(default_factory=list)

    def join(self, other: "WriteResult") -> "WriteResult":
        """Return the result of both writes."""
        return WriteResult(self.items + other.items, [*self.refused, *other.refused])


@dataclass(slots=True)
class SampleWriter:
    """Writes events to tables, and creates each table before its first items.

    An error may leave some of the items stored; storing them again changes nothing.
    """

    destinations: Destinations
    layout: ItemLayout
    values: LargeValues
    _created: set[str] = field(default_factory=set)

    def must_open(self, table: str) -> bool:
        """Whether the table must be created, or examined, before its items can be written."""
        return self.destinations.has_tables and table not in self._created

    async def open_table(self, name: str) -> None:
        """Create the table unless it is there; ValueError for a name that no table can have.

        Raises ForeignTable if another program's table has the name.
        """
        if name not in self._created:
            await self._create_table(name)

    async def store_events(self, events: Sequence[Event], *, patient: bool = True) -> WriteResult:
        """Store events at their destinations; ValueError for a name that no table can have.

        Without `patient`, a request that does not succeed at once is not repeated. Raises
        Unavailable, ForeignTable, and the store's own error if the configuration is wrong.
        """
        placed = {
            (event.table, key_of(item)): TableItem(event.table, item)
            for event in events
            for item in items_of(event, self.layout)
        }
        try:
            await self._write_items(list(placed.values()), patient)
        except Exception as error:
            if not self._is_invalid(error):
                raise
            return await self._store_halves(events, error, patient)
        return WriteResult(len(placed))

    async def _store_halves(
        self, events: Sequence[Event], error: Exception, patient: bool
    ) -> WriteResult:
        """Store each half separately, down to the single events that no table accepts."""
        if len(events) == 1:
            return await self._store_alone(events[0], error, patient)
        middle = len(events) // 2
        one = await self.store_events(events[:middle], patient=patient)
        return one.join(await self.store_events(events[middle:], patient=patient))

    async def _store_alone(self, event: Event, error: Exception, patient: bool) -> WriteResult:
        """Store an event with its large values in files, or refuse it if no table accepts it."""
        refused = WriteResult(refused=[(event, Refusal.from_error(error))])
        if not isinstance(error, PenstockError):
            logger.warning("%s refuses an event: %s", event.table, describe_error(error))
        if not isinstance(error, LimitExceeded):
            return refused
        items = items_of(event, self.layout)
        small = [await self.values.move_values(item) for item in items]
        if small == items:
            return refused
        try:
            await self._write_items([TableItem(event.table, item) for item in small], patient)
        except LimitExceeded:
            return refused
        return WriteResult(len(small))

    def _is_invalid(self, error: Exception) -> bool:
        if isinstance(error, LimitExceeded):
            return True
        return self.destinations.failure_kind(error) is FailureKind.INVALID

    async def _write_items(self, placed: Sequence[TableItem], patient: bool) -> None:
        tables = dict.fromkeys(each.table for each in placed)
        try:
            await self._write_to_created(tables, placed, patient)
        except Exception as error:
            if self.destinations.failure_kind(error) is not FailureKind.MISSING:
                raise
            self._created.difference_update(tables)
            await self._write_to_created(tables, placed, patient)

    async def _write_to_created(
        self, tables: Iterable[str], placed: Sequence[TableItem], patient: bool
    ) -> None:
        missing = [name for name in tables if name not in self._created]
        if missing:
            await _run_concurrently(self._create_table, missing)
        await write_items(self.destinations, placed, patient=patient)

    async def _create_table(self, name: str) -> None:
        if not is_table_name(name):
            raise ValueError(f"{name[:300]!r} is no name of a table")
        await self.destinations.create(name)
        if len(self._created) >= MAX_CREATED:
            self._created.clear()
        self._created.add(name)


async def write_items(
    destinations: Destinations, placed: Sequence[TableItem], *, patient: bool = True
) -> None:
    """Write items with distinct keys, 25 to a request, with a few concurrent requests.

    25 items of at most 400 KB stay below the 16 MB of a request. Raises the first failure after
    all requests have ended.
    """
    starts = range(0, len(placed), limits.WRITE_OPERATIONS)
    await _run_concurrently(
        partial(destinations.write, patient=patient),
        [placed[start : start + limits.WRITE_OPERATIONS] for start in starts],
    )


async def _run_concurrently(work: Callable[[T], Awaitable[None]], things: Sequence[T]) -> None:
    room = Semaphore(CONCURRENT_REQUESTS)

    async def run_one(thing: T) -> None:
        async with room:
            await work(thing)

    for outcome in await gather(*map(run_one, things), return_exceptions=True):
        if outcome is not None:
            raise outcome
