"""Tells who follows a resource that it was written, by asking the table for its latest row.

Any process may write the table, so the table is asked and nothing in memory is. However many follow
what, a round of asking is one batched get of the rows that are followed.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import NoReturn, TypeVar

from penstock.datastore.errors import NotFound
from penstock.datastore.periodic import stopped, tried
from penstock.datastore.records import Resource
from penstock.datastore.resources.reading import Reading
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.port import Attributes, Key, Table

R = TypeVar("R", bound=Resource)

logger = logging.getLogger("penstock.changes")


class Watch:
    """One row for one follower: its latest state waits for them, earlier ones are forgotten."""

    __slots__ = ("_arrived", "_item", "_revision")

    def __init__(self, revision: int) -> None:
        self._revision = revision
        self._item: Attributes | None = None
        self._arrived = asyncio.Event()

    def offer(self, item: Attributes | None) -> None:
        """Take the row as it was read, None where it is gone; what is known or older is left."""
        if item is not None:
            revision = int(str(item["revision"]))
            if revision <= self._revision:
                return
            self._revision = revision
        self._item = item
        self._arrived.set()

    async def next(self) -> Attributes | None:
        """Wait for a state later than the last one that was given; None when the row is gone."""
        await self._arrived.wait()
        self._arrived.clear()
        return self._item


class Changes:
    """The rows that somebody in this process follows, for `poll` to read."""

    __slots__ = ("_table", "_wanted", "_watches")

    def __init__(self, table: Table) -> None:
        self._table = table
        self._watches: dict[Key, set[Watch]] = {}
        self._wanted = asyncio.Event()

    @contextmanager
    def watch(self, key: Key, revision: int) -> Iterator[Watch]:
        """Follow a row beyond the revision that is known."""
        watch = Watch(revision)
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
        """Read every followed row once, and give each follower what is new to them."""
        keys = tuple(self._watches)
        rows = await read_rows(self._table, keys)
        # A row that was just made may be missing from an eventually consistent answer.
        missing = [key for key in keys if key not in rows]
        rows.update(await read_rows(self._table, missing, consistent=True))
        for key in keys:
            for watch in tuple(self._watches.get(key, ())):
                watch.offer(rows.get(key))

    async def run(self, seconds: float) -> NoReturn:
        """Poll every so many seconds while there is anybody who follows anything."""
        while True:
            await self._wanted.wait()
            await asyncio.sleep(seconds)
            await tried(self.poll, logger, "the followed rows could not be read")


@asynccontextmanager
async def polled(table: Table, seconds: float) -> AsyncIterator[Changes]:
    """Open the changes of a table, asked for every so many seconds until the end."""
    changes = Changes(table)
    polling = asyncio.create_task(changes.run(seconds))
    try:
        yield changes
    finally:
        await stopped([polling])


async def followed(reading: Reading[R], changes: Changes, id: str) -> AsyncIterator[R]:
    """Yield a resource as it is now, then its latest version or grants after each write of them.

    A follower who is slow misses states, never the latest. Ends when the resource is deleted or the
    caller no longer sees it. Raises NotFound where they do not see it to begin with.
    """
    resource = await reading.one(id, consistent=True)
    yield resource
    with changes.watch(reading.kind.latest.key(id=id), resource.revision) as watch:
        while True:
            found = reading.admitted(await watch.next())
            if isinstance(found, NotFound):
                return
            yield found
