"""Changes of resources, detected by polling their latest rows in the table.

Any process may write the table, so memory cannot tell. Each round of polling is one batched get of
all followed rows, however many followers there are.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final, NoReturn, TypeVar

from penstock.datastore.access.access import known_grants
from penstock.datastore.change_log.feed import ChangeFeed
from penstock.datastore.clock import Clock
from penstock.datastore.errors import NotFound
from penstock.datastore.periodic import cancel_tasks, try_once
from penstock.datastore.records import Resource
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.roles import Caller
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.port import Attributes, Key, Table

R = TypeVar("R", bound=Resource)

logger = logging.getLogger("penstock.changes")


def revision_of(row: Attributes) -> int:
    """Read the revision of a row that counts its writes."""
    return int(str(row["revision"]))


class RowWatch:
    """One row for one follower: the latest state waits for the follower, earlier ones are lost.

    `read_revision` reads the number of a state, which grows.
    """

    __slots__ = ("_arrived", "_item", "_read_revision", "_revision")

    def __init__(
        self,
        revision: int,
        arrived: asyncio.Event,
        read_revision: Callable[[Attributes], int] = revision_of,
    ) -> None:
        self._revision = revision
        self._read_revision = read_revision
        self._item: Attributes | None = None
        self._arrived = arrived

    def offer(self, item: Attributes | None) -> None:
        """Store the row as it was read, None if it is gone; a known or older state is ignored."""
        if item is not None:
            revision = self._read_revision(item)
            if revision <= self._revision:
                return
            self._revision = revision
        elif not self._revision:
            return  # It was not there before.
        self._item = item
        self._arrived.set()

    async def next(self) -> Attributes | None:
        """Wait for a state later than the last one that was returned; None when the row is gone."""
        await self._arrived.wait()
        self._arrived.clear()
        return self._item


class RowChanges:
    """The rows that this process follows, which `poll` reads; `feed` are the changes of lists."""

    __slots__ = ("_table", "_wanted", "_watches", "feed")

    def __init__(self, table: Table, clock: Clock | None = None) -> None:
        self.feed: Final = ChangeFeed(table, clock or Clock())
        self._table = table
        self._watches: dict[Key, set[RowWatch]] = {}
        self._wanted = asyncio.Event()

    @contextmanager
    def watch(
        self,
        key: Key,
        revision: int,
        arrived: asyncio.Event | None = None,
        read_revision: Callable[[Attributes], int] = revision_of,
    ) -> Iterator[RowWatch]:
        """Follow a row beyond the known revision; `arrived` is set when a state of it waits."""
        watch = RowWatch(revision, arrived or asyncio.Event(), read_revision)
        watches = self._watches.setdefault(key, set())
        watches.add(watch)
        self._wanted.set()
        try:
            yield watch
        finally:
            watches.discard(watch)
            if not watches:
                del self._watches[key]
            if not self._watches:
                self._wanted.clear()

    async def poll(self) -> None:
        """Read every followed row once, and give each follower the new state."""
        keys = tuple(self._watches)
        rows = await read_rows(self._table, keys, consistent=True)
        for key in keys:
            for watch in tuple(self._watches.get(key, ())):
                watch.offer(rows.get(key))

    async def run(self, seconds: float) -> NoReturn:
        """Poll at this interval while any row is followed."""
        while True:
            await self._wanted.wait()
            await asyncio.sleep(seconds)
            await try_once(self.poll, logger, "the followed rows could not be read")


@asynccontextmanager
async def open_changes(
    table: Table, seconds: float, clock: Clock | None = None
) -> AsyncIterator[RowChanges]:
    """Poll the changes of a table at this interval until the block ends."""
    changes = RowChanges(table, clock)
    works = (changes.run(seconds), changes.feed.run(seconds))
    polling = [asyncio.create_task(work) for work in works]
    try:
        yield changes
    finally:
        await cancel_tasks(polling)


async def follow_resource(
    reading: ResourceReader[R], changes: RowChanges, id: str
) -> AsyncIterator[R]:
    """Yield a resource as it is now, then its latest state after each write that the caller sees.

    A grant to a group that the caller may not know of is no event. A slow follower misses states,
    never the latest. Ends when the resource is deleted or the caller no longer sees it. Raises
    NotFound where the caller does not see it at first.
    """
    resource = await reading.one(id)
    yield resource
    shown = shown_state(reading.access.caller, resource)
    with changes.watch(reading.kind.latest.key(id=id), resource.revision) as watch:
        while True:
            found = reading.admit(await watch.next())
            if isinstance(found, NotFound):
                return
            before, shown = shown, shown_state(reading.access.caller, found)
            if shown != before:
                yield found


def shown_state(caller: Caller, resource: Resource) -> tuple[object, ...]:
    """Return a value that differs after every write of which the caller may know.

    A grant to a group that the caller may not know of is none.
    """
    known = known_grants(caller, resource.owner, resource.groups)
    return resource.version, resource.state, known
