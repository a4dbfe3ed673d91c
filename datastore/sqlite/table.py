"""The embedded table: one SQLite file, shared by all server processes of one machine.

When a call returns, its data is on the disk. Nothing blocks the event loop: one thread writes, one
reads. A cancelled write may still happen, as it may with DynamoDB.
"""

import logging
import sqlite3
from asyncio import Task, create_task, to_thread
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from time import time
from typing import Final, TypeVar

from penstock.datastore.errors import Unavailable
from penstock.datastore.sqlite import rows
from penstock.datastore.sqlite.file_failures import FileFailed, caller_error
from penstock.datastore.sqlite.group_commit import WorkerThread, read_together, write_together
from penstock.datastore.sqlite.rows import StoredRow
from penstock.datastore.table import limits
from penstock.datastore.table.conditions import apply_operation, condition_holds
from penstock.datastore.table.limits import ItemFootprint
from penstock.datastore.table.port import (
    INDEX_HASH,
    PING,
    Batch,
    Check,
    ConditionFailed,
    Delete,
    FailedCheck,
    Item,
    Key,
    Operation,
    Page,
    Put,
    Query,
    Scan,
    Update,
)

BUSY_SECONDS = 5.0
SWEEP_SECONDS = 60.0
SWEEP_ITEMS = 500
_PROBE_BYTES: Final = 256 * 1024

T = TypeVar("T")

logger = logging.getLogger("penstock.table")


class SqliteTable:
    """A table in one file, for one event loop; a write deletes expired items once a minute."""

    def __init__(self, connect: Callable[[], Connection], now: Callable[[], float]) -> None:
        self._connect = connect
        self._writer = WorkerThread("sqlite-write", connect, write_together)
        self._reader = WorkerThread("sqlite-read", connect, read_together)
        self._now = now
        self._swept = float("-inf")
        self._sweep: Task[None] | None = None
        self._closing = False
        self._failure: FileFailed | None = None

    @classmethod
    def open(
        cls, path: Path, *, busy_seconds: float | None = None, now: Callable[[], float] = time
    ) -> "SqliteTable":
        """Use the file, which need not exist but whose directory must; the threads open it later.

        `busy_seconds` is the wait for another process before a call is Unavailable, by default
        BUSY_SECONDS; `now` gives epoch seconds.
        """
        wait = BUSY_SECONDS if busy_seconds is None else busy_seconds
        return cls(partial(rows.connect, path, wait), now)

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        return await self._reader.run(partial(_get, keys, consistent))

    async def query(self, query: Query) -> Page:
        return await self._reader.run(partial(_query, query))

    async def scan(self, scan: Scan) -> Page:
        return await self._reader.run(partial(_scan, scan))

    async def transact(self, operations: Sequence[Operation]) -> float:
        units = await self._write(partial(_transact, operations))
        self._sweep_if_due()
        return units

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        units = await self._write(partial(_write, operations))
        self._sweep_if_due()
        return units

    async def ping(self) -> None:
        await self._reader.run(partial(_get, [PING], False))
        if self._failure is not None:
            await self._write(_try_to_write)

    async def create(self) -> None:
        await to_thread(_create, self._connect)
        self._sweep_if_due()

    async def verify(self) -> list[str]:
        return await self._reader.run(rows.schema_differences)

    async def find_damage(self) -> list[str]:
        """Describe damaged pages of the file, every page of which is read."""
        return await self._reader.run(rows.find_damage)

    async def close(self) -> None:
        self._closing = True
        if self._sweep is not None:
            await self._sweep
        await self._reader.close()
        await self._writer.close()

    async def _write(self, work: Callable[[Connection], T]) -> T:
        """Run a write, and remember whether the file fails."""
        try:
            written = await self._writer.run(work)
        except FileFailed as failure:
            if self._failure is None:
                logger.error("writes fail: %s %r", failure.message, failure.__cause__)
            self._failure = failure
            raise
        if self._failure is not None:
            self._failure = None
            logger.warning("writes succeed again")
        return written

    def _sweep_if_due(self) -> None:
        now = self._now()
        if now - self._swept >= SWEEP_SECONDS and not self._closing:
            self._swept = now
            self._sweep = create_task(self._sweep_all(now))

    async def _sweep_all(self, now: float) -> None:
        """Delete the expired items in small groups, each behind the writes that wait."""
        # An error that stops a sweep also reaches the next caller, who receives it.
        with suppress(sqlite3.Error, Unavailable):
            while await self._writer.run(partial(_sweep_some, now)) and not self._closing:
                pass


def _create(connect: Callable[[], Connection]) -> None:
    try:
        with closing(connect()) as connection:
            rows.create_schema(connection)
    except sqlite3.Error as error:
        raise caller_error(error) from error


def _try_to_write(connection: Connection) -> None:
    """Write a row that needs more pages than the file may have free, and take it back."""
    row: Item = {**PING._asdict(), "filler": "x" * _PROBE_BYTES}
    rows.put(connection, row, ItemFootprint(_PROBE_BYTES, None))
    rows.delete(connection, PING)


def _sweep_some(now: float, connection: Connection) -> bool:
    """Delete some of the expired items; return whether there may be more."""
    if rows.schema_differences(connection):
        return False
    return rows.sweep(connection, now, SWEEP_ITEMS) == SWEEP_ITEMS


def _get(keys: Sequence[Key], consistent: bool, connection: Connection) -> Batch:
    limits.guard_get(keys)
    found = rows.read(connection, keys)
    sizes = (found[key].footprint.size if key in found else 0 for key in keys)
    return Batch(
        {key: stored.row for key, stored in found.items()},
        limits.batch_units(sizes, consistent=consistent),
    )


def _query(query: Query, connection: Connection) -> Page:
    limits.guard_query(query)
    return rows.read_page(connection, query)


def _scan(scan: Scan, connection: Connection) -> Page:
    limits.guard_scan(scan)
    if scan.segment:
        # One file is read by one thread: all items are in the first segment.
        return Page((), None, 0.0)
    return rows.scan_page(connection, scan)


def _transact(operations: Sequence[Operation], connection: Connection) -> float:
    sizes = limits.guard_transact(operations)
    keys = [operation.key for operation in operations]
    stored = rows.read(connection, keys)
    found = [stored.get(key) for key in keys]
    failed = [
        FailedCheck(position, stored.row.item if stored else None)
        for position, (operation, stored) in enumerate(zip(operations, found, strict=True))
        if operation.condition
        and not condition_holds(operation.condition, stored and stored.row.item)
    ]
    if failed:
        raise ConditionFailed(failed, sum(map(_unwritten_units, found)))
    return sum(
        _put(connection, operation, size, stored, transactional=True)
        if isinstance(operation, Put)
        else _apply(connection, operation, stored, transactional=True)
        for operation, size, stored in zip(operations, sizes, found, strict=True)
    )


def _write(operations: Sequence[Put | Delete], connection: Connection) -> float:
    sizes = limits.guard_write(operations)
    keys = [operation.key for operation in operations]
    found = rows.read(connection, keys)
    return sum(
        _write_one(connection, operation, size, found.get(key))
        for operation, size, key in zip(operations, sizes, keys, strict=True)
    )


def _write_one(
    connection: Connection, operation: Put | Delete, size: int, stored: StoredRow | None
) -> float:
    """Put or delete one row; return write units."""
    if isinstance(operation, Delete):
        return _apply(connection, operation, stored, transactional=False)
    return _put(connection, operation, size, stored, transactional=False)


def _put(
    connection: Connection, put: Put, size: int, stored: StoredRow | None, *, transactional: bool
) -> float:
    """Put a row that was measured; return write units."""
    index_hash = put.item.get(INDEX_HASH)
    after = ItemFootprint(size, index_hash if isinstance(index_hash, str) else None)
    rows.put(connection, put.item, after)
    before, same = stored and stored.footprint, stored is not None and stored.row.item == put.item
    return limits.write_units(before, after, transactional=transactional, same=same)


def _apply(
    connection: Connection,
    operation: Update | Delete | Check,
    stored: StoredRow | None,
    *,
    transactional: bool,
) -> float:
    """Apply the operation to one row; return write units, LimitExceeded if it grew too large."""
    if isinstance(operation, Check):
        return _unwritten_units(stored)
    old, before = (stored.row.item, stored.footprint) if stored else (None, None)
    new = apply_operation(operation, old)
    after = None if new is None else limits.measure_item(new)
    if new is None or after is None:
        rows.delete(connection, operation.key)
    else:
        rows.put(connection, new, after)
    return limits.write_units(before, after, transactional=transactional, same=new == old)


def _unwritten_units(stored: StoredRow | None) -> float:
    return limits.check_units(stored and stored.footprint)
