"""Storing events at their destination: in as few requests as the limits allow, all or known."""

from asyncio import Semaphore, gather
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from datastore import limits
from datastore.errors import LimitExceeded
from datastore.ngsi.naming import is_table_name
from datastore.ngsi.options import Layout
from datastore.ngsi.rows import Event, items_of
from datastore.ngsi.samples import Destinations, Samples
from datastore.table import Item, Key, Put, key_of

AT_ONCE: Final = 4
"""How many requests to one destination are on their way at a time."""

MAX_MADE: Final = 100_000


@dataclass(slots=True)
class Stored:
    """What came of events: how many items were written, and which events no table can hold."""

    items: int = 0
    refused: list[tuple[Event, str]] = field(default_factory=list)


@dataclass(slots=True)
class Persisting:
    """Writes events to tables, each of which is made before its first items.

    Every method may raise Unavailable, and what a store raises that is set up wrongly: then some of
    the items may be stored, and storing them again changes nothing.
    """

    destinations: Destinations
    layout: Layout
    _made: set[str] = field(default_factory=set)

    async def store(self, name: str, events: Sequence[Event]) -> Stored:
        """Store what is meant for one destination; ValueError for a name that no table can have."""
        if not is_table_name(name):
            raise ValueError(f"{name[:300]!r} is no name of a table")
        stored = Stored()
        found = (item for event in events for item in items_of(event, self.layout))
        items = {key_of(item): item for item in found}
        try:
            await self._write(name, items, stored)
        except LimitExceeded:
            for event in self._too_large(events, stored):
                for item in items_of(event, self.layout):
                    items.pop(key_of(item), None)
            await self._write(name, items, stored)
        return stored

    async def _write(self, name: str, items: dict[Key, Item], stored: Stored) -> None:
        try:
            await self._write_made(name, items)
        except Exception as error:
            if not self.destinations.is_missing(error):
                raise
            self._made.discard(name)
            await self._write_made(name, items)
        stored.items = len(items)

    async def _write_made(self, name: str, items: dict[Key, Item]) -> None:
        if name not in self._made:
            await self.destinations.create(name)
            if len(self._made) >= MAX_MADE:
                self._made.clear()
            self._made.add(name)
        await write(self.destinations.table(name), list(items.values()))

    def _too_large(self, events: Sequence[Event], stored: Stored) -> Iterator[Event]:
        """Find the events that no table can hold, and note why."""
        for event in events:
            try:
                for item in items_of(event, self.layout):
                    limits.footprint(item)
            except LimitExceeded as refused:
                stored.refused.append((event, refused.message))
                yield event


async def write(table: Samples, items: Sequence[Item]) -> None:
    """Write items with distinct keys, 25 to a request, a few requests side by side.

    So many of at most 400 KB are less than the 16 MB that a request may have. Raises the first
    failure once nothing is on its way any more.
    """
    room = Semaphore(AT_ONCE)

    async def send(batch: Sequence[Item]) -> None:
        async with room:
            await table.write([Put(item) for item in batch])

    starts = range(0, len(items), limits.WRITE_OPERATIONS)
    batches = (items[start : start + limits.WRITE_OPERATIONS] for start in starts)
    for outcome in await gather(*map(send, batches), return_exceptions=True):
        if outcome is not None:
            raise outcome
