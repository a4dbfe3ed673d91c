"""Changes of resources, detected by polling their latest rows in the table.

Any process may write the table, so memory cannot tell. Each round of polling is one batched get of
all followed rows, however many followers there are.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final, NoReturn, TypeVar

import msgspec

from penstock.datastore.access.access import known_grants
from penstock.datastore.access.work import FREE_WORK, WorkAccount
from penstock.datastore.change_log.feed import ChangeFeed
from penstock.datastore.clock import Clock
from penstock.datastore.errors import NotFound, RateLimited
from penstock.datastore.periodic import cancel_tasks, try_once
from penstock.datastore.records import Resource
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.roles import Caller
from penstock.datastore.table.items import load, read_rows, stored_units
from penstock.datastore.table.port import Attributes, Key, Table

R = TypeVar("R", bound=Resource)

logger = logging.getLogger("penstock.changes")


UNITS_IN_A_TURN: Final = 50
"""Read units of followed rows, of 4 KB each, that are looked at before others have their turn."""


class _Revision(msgspec.Struct, frozen=True):
    """The one attribute of a row that is read of each state."""

    revision: int


def revision_of(row: Attributes) -> int:
    """Read the revision of a row that counts its writes."""
    return load(_Revision, row).revision


class RowWatch:
    """One row for one follower: the latest state waits for the follower, earlier ones are lost.

    `read_revision` reads the number of a state, which grows. `work` pays for reading a large row.
    """

    __slots__ = ("_arrived", "_item", "_read_revision", "_revision", "work")

    def __init__(
        self,
        revision: int,
        arrived: asyncio.Event,
        read_revision: Callable[[Attributes], int] = revision_of,
        work: WorkAccount = FREE_WORK,
    ) -> None:
        self.work = work
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
    """The rows that this process follows, which `poll` reads; `feed` are the changes of lists.

    A row that takes more than a read unit is paid by one of its followers at each poll. It is not
    read while all of them are in debt.
    """

    __slots__ = ("_large", "_table", "_wanted", "_watches", "feed")

    def __init__(self, table: Table, clock: Clock | None = None) -> None:
        self.feed: Final = ChangeFeed(table, clock or Clock())
        self._table = table
        self._watches: dict[Key, set[RowWatch]] = {}
        self._large: set[Key] = set()
        self._wanted = asyncio.Event()

    @contextmanager
    def watch(
        self,
        key: Key,
        revision: int,
        arrived: asyncio.Event | None = None,
        read_revision: Callable[[Attributes], int] = revision_of,
        work: WorkAccount = FREE_WORK,
    ) -> Iterator[RowWatch]:
        """Follow a row beyond the known revision; `arrived` is set when a state of it waits."""
        watch = RowWatch(revision, arrived or asyncio.Event(), read_revision, work)
        watches = self._watches.setdefault(key, set())
        watches.add(watch)
        self._wanted.set()
        try:
            yield watch
        finally:
            watches.discard(watch)
            if not watches:
                del self._watches[key]
                self._large.discard(key)
            if not self._watches:
                self._wanted.clear()

    async def poll(self) -> None:
        """Read every followed row once, and give each follower the new state."""
        payers = {key: self._find_payer(key) for key in self._watches}
        keys = [key for key, payer in payers.items() if payer is not None]
        rows = await read_rows(self._table, keys, consistent=True)
        units = 0
        for key in keys:
            if units >= UNITS_IN_A_TURN:
                await asyncio.sleep(0)
                units = 0
            row = rows.get(key)
            units += self._pay(key, row, payers[key])
            for watch in tuple(self._watches.get(key, ())):
                watch.offer(row)

    def _find_payer(self, key: Key) -> WorkAccount | None:
        """Find who pays for a row, if it is large; None if all its followers are in debt."""
        watches = self._watches[key]
        if key not in self._large:
            return next(iter(watches)).work
        for watch in watches:
            with suppress(RateLimited):
                watch.work.spend_more(0)
                return watch.work
        return None

    def _pay(self, key: Key, row: Attributes | None, payer: WorkAccount | None) -> int:
        """Let the payer owe what a row takes beyond its first read unit; return all its units."""
        units = 1 if row is None else stored_units(row)
        if units > 1 and key in self._watches:
            self._large.add(key)
            if payer is not None:
                payer.owe(units - 1)
        else:
            self._large.discard(key)
        return units

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
    key, work = reading.kind.latest.key(id=id), reading.access.work
    with changes.watch(key, resource.revision, work=work) as watch:
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
