"""The embedded table: one SQLite file, shared by as many server processes as the machine runs.

What a call returned is on the disk. Nothing blocks the event loop: one thread writes, a few read.
A cancelled write may still happen, as one that was sent to DynamoDB may.
"""

from asyncio import to_thread
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from time import time

from datastore import limits, sqlite_rows
from datastore.sqlite_changes import changed, holds
from datastore.sqlite_rows import Stored
from datastore.sqlite_threads import Threads
from datastore.table import (
    Batch,
    Check,
    ConditionFailed,
    Delete,
    FailedCheck,
    Key,
    Operation,
    Page,
    Put,
    Query,
)

BUSY_SECONDS = 5.0
# Decoding holds the interpreter's lock: more readers gain nothing, and the event loop waits longer.
READERS = 2
SWEEP_SECONDS = 60.0
SWEEP_ITEMS = 500


class SqliteTable:
    """A table in one file; expired items go when it is opened, and with a write once a minute."""

    def __init__(self, writer: Threads, readers: Threads, now: Callable[[], float]) -> None:
        self._writer = writer
        self._readers = readers
        self._now = now
        self._swept = float("-inf")
        self._closing = False
        self._sweep_if_due()

    @classmethod
    def open(
        cls, path: Path, *, busy_seconds: float = BUSY_SECONDS, now: Callable[[], float] = time
    ) -> "SqliteTable":
        """Use the file, which need not exist but whose directory must; threads open it, not this.

        `busy_seconds` is how long a call waits for another process before it is Unavailable; `now`
        gives epoch seconds.
        """
        connect = partial(sqlite_rows.connect, path, busy_seconds)
        writer = Threads("sqlite-write", 1, connect)
        readers = Threads("sqlite-read", READERS, connect)
        return cls(writer, readers, now)

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        return await self._readers.run(partial(_get, keys, consistent))

    async def query(self, query: Query) -> Page:
        return await self._readers.run(partial(_query, query))

    async def transact(self, operations: Sequence[Operation]) -> float:
        units = await self._writer.run(partial(_transact, operations))
        self._sweep_if_due()
        return units

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        units = await self._writer.run(partial(_write, operations))
        self._sweep_if_due()
        return units

    async def create(self) -> None:
        await self._writer.run(sqlite_rows.create)

    async def verify(self) -> list[str]:
        return await self._readers.run(sqlite_rows.differences)

    async def close(self) -> None:
        self._closing = True
        await to_thread(self._readers.close)
        await to_thread(self._writer.close)

    def _sweep_if_due(self) -> None:
        now = self._now()
        if now - self._swept >= SWEEP_SECONDS and not self._closing:
            self._swept = now
            # What keeps a sweep from happening meets the next caller as well, who is told.
            self._writer.start(partial(self._sweep, now))

    def _sweep(self, now: float, connection: Connection) -> None:
        """Delete a few of the expired items, and the others behind the writes that wait."""
        if sqlite_rows.differences(connection):
            return
        deleted = sqlite_rows.sweep(connection, now, SWEEP_ITEMS)
        if deleted == SWEEP_ITEMS and not self._closing:
            self._writer.start(partial(self._sweep, now))


def _get(keys: Sequence[Key], consistent: bool, connection: Connection) -> Batch:
    limits.guard_get(keys)
    with sqlite_rows.reading(connection):
        found = {key: sqlite_rows.read(connection, key) for key in keys}
    sizes = (stored.footprint.size if stored else 0 for stored in found.values())
    return Batch(
        {key: stored.item for key, stored in found.items() if stored},
        limits.batch_units(sizes, consistent=consistent),
    )


def _query(query: Query, connection: Connection) -> Page:
    limits.guard_query(query)
    return sqlite_rows.page(connection, query)


def _transact(operations: Sequence[Operation], connection: Connection) -> float:
    limits.guard_transact(operations)
    with sqlite_rows.writing(connection):
        found = [sqlite_rows.read(connection, operation.key) for operation in operations]
        failed = [
            FailedCheck(position, stored.item if stored else None)
            for position, (operation, stored) in enumerate(zip(operations, found, strict=True))
            if operation.condition and not holds(operation.condition, stored and stored.item)
        ]
        if failed:
            raise ConditionFailed(failed, sum(map(_unwritten_units, found)))
        return sum(
            _do(connection, operation, stored, transactional=True)
            for operation, stored in zip(operations, found, strict=True)
        )


def _write(operations: Sequence[Put | Delete], connection: Connection) -> float:
    limits.guard_write(operations)
    with sqlite_rows.writing(connection):
        return sum(
            _do(
                connection,
                operation,
                sqlite_rows.read(connection, operation.key),
                transactional=False,
            )
            for operation in operations
        )


def _do(
    connection: Connection, operation: Operation, stored: Stored | None, *, transactional: bool
) -> float:
    """Change one row as the operation says; write units, or LimitExceeded if it grew too large."""
    if isinstance(operation, Check):
        return _unwritten_units(stored)
    old, before = stored or (None, None)
    new = changed(operation, old)
    after = None if new is None else limits.footprint(new)
    if new is None or after is None:
        sqlite_rows.delete(connection, operation.key)
    else:
        sqlite_rows.put(connection, new, after)
    return limits.write_units(before, after, transactional=transactional, same=new == old)


def _unwritten_units(stored: Stored | None) -> float:
    return limits.unwritten_units(stored and stored.footprint)
