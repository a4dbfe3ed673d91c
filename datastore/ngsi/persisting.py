"""Storing events at their destination: in as few requests as the limits allow, all or known."""

from asyncio import Semaphore, gather
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from penstock.datastore import limits
from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.naming import is_table_name
from penstock.datastore.ngsi.options import Layout
from penstock.datastore.ngsi.rows import Event, items_of
from penstock.datastore.ngsi.samples import Destinations, Placed, Trouble
from penstock.datastore.table import key_of

T = TypeVar("T")

AT_ONCE: Final = 4
"""How many requests of one batch are on their way at a time."""

MAX_MADE: Final = 100_000


@dataclass(slots=True)
class Stored:
    """What came of events: how many items were written, and which events no table can hold."""

    items: int = 0
    refused: list[tuple[Event, str]] = field(default_factory=list)


@dataclass(slots=True)
class Persisting:
    """Writes events to tables, each of which is made before its first items.

    What it raises may have left some of the items stored; storing them again changes nothing.
    """

    destinations: Destinations
    layout: Layout
    _made: set[str] = field(default_factory=set)

    async def store(self, events: Sequence[Event]) -> Stored:
        """Store events at their destinations; ValueError for a name that no table can have.

        Raises Unavailable, and what a store raises that is set up wrongly.
        """
        placed = {
            (event.table, key_of(item)): Placed(event.table, item)
            for event in events
            for item in items_of(event, self.layout)
        }
        try:
            await self._write(list(placed.values()))
        except Exception as error:
            if not self._is_invalid(error):
                raise
            return await self._isolate(events, error)
        return Stored(len(placed))

    def is_set_up_wrong(self, error: Exception) -> bool:
        """Whether a failure is one that waits for people."""
        return self.destinations.trouble(error) is Trouble.SET_UP

    async def _isolate(self, events: Sequence[Event], error: Exception) -> Stored:
        """Store each half by itself, down to the events that no table takes."""
        if len(events) == 1:
            return Stored(refused=[(events[0], str(error))])
        middle = len(events) // 2
        one = await self.store(events[:middle])
        other = await self.store(events[middle:])
        return Stored(one.items + other.items, [*one.refused, *other.refused])

    def _is_invalid(self, error: Exception) -> bool:
        if isinstance(error, LimitExceeded):
            return True
        return self.destinations.trouble(error) is Trouble.INVALID

    async def _write(self, placed: Sequence[Placed]) -> None:
        tables = dict.fromkeys(each.table for each in placed)
        try:
            await self._write_made(tables, placed)
        except Exception as error:
            if self.destinations.trouble(error) is not Trouble.MISSING:
                raise
            self._made.difference_update(tables)
            await self._write_made(tables, placed)

    async def _write_made(self, tables: Iterable[str], placed: Sequence[Placed]) -> None:
        missing = [name for name in tables if name not in self._made]
        if missing:
            await _each(self._make, missing)
        await write(self.destinations, placed)

    async def _make(self, name: str) -> None:
        if not is_table_name(name):
            raise ValueError(f"{name[:300]!r} is no name of a table")
        await self.destinations.create(name)
        if len(self._made) >= MAX_MADE:
            self._made.clear()
        self._made.add(name)


async def write(destinations: Destinations, placed: Sequence[Placed]) -> None:
    """Write items with distinct keys, 25 to a request, a few requests side by side.

    So many of at most 400 KB are less than the 16 MB that a request may have. Raises the first
    failure once nothing is on its way any more.
    """
    starts = range(0, len(placed), limits.WRITE_OPERATIONS)
    await _each(
        destinations.write, [placed[start : start + limits.WRITE_OPERATIONS] for start in starts]
    )


async def _each(work: Callable[[T], Awaitable[None]], things: Sequence[T]) -> None:
    room = Semaphore(AT_ONCE)

    async def one(thing: T) -> None:
        async with room:
            await work(thing)

    for outcome in await gather(*map(one, things), return_exceptions=True):
        if outcome is not None:
            raise outcome
