"""The embedded table is durable, shared and exact, and never blocks the event loop."""

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from threading import Event
from typing import Any

import pytest

from penstock.datastore.errors import Unavailable
from penstock.datastore.sqlite.group_commit import DatabaseCall
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.table.port import Key, Put, Query
from tests.datastore.table.sample_items import everything, item, make_sized_item, store, stored_item
from tests.support.patience import HUNG_SECONDS
from tests.support.processor_time import measure_yardstick

KEY = Key("p", "s")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.sqlite"


@asynccontextmanager
async def open_table(
    path: Path, *, busy_seconds: float = HUNG_SECONDS, now: Callable[[], float] = lambda: 0.0
) -> AsyncIterator[SqliteTable]:
    table = SqliteTable.open(path, busy_seconds=busy_seconds, now=now)
    try:
        await table.create()
        yield table
    finally:
        await table.close()


def process(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "tests.datastore.sqlite.writer_process",
        str(path),
        name,
        str(count),
    ]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@contextmanager
def hold_write_lock(path: Path) -> Iterator[None]:
    """Hold the file's write lock, as another process in the middle of a transaction does."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def watch_writes(table: SqliteTable) -> Callable[[], Awaitable[object]]:
    """Return a function that waits until the next writes of the table are being done."""
    begun, turn = Event(), table._writer._turn

    def run_turn(connection: Connection, works: Sequence[DatabaseCall]) -> list[Any]:
        begun.set()
        return turn(connection, works)

    table._writer._turn = run_turn
    return partial(asyncio.to_thread, begun.wait, HUNG_SECONDS)


async def longest_hold(work: Callable[[], Awaitable[object]]) -> float:
    """Run the work; return the longest processor time of one turn of the loop, in seconds."""
    longest, done = 0.0, False

    async def tick() -> None:
        nonlocal longest
        while not done:
            before = time.thread_time()
            await asyncio.sleep(0.001)
            longest = max(longest, time.thread_time() - before)

    ticker = asyncio.create_task(tick())
    await asyncio.sleep(0)
    await work()
    done = True
    await ticker
    return longest


@pytest.mark.parametrize("names", ["p", "abcdefgh"])
async def test_what_was_acknowledged_outlives_a_kill(path: Path, names: str) -> None:
    with process(path, names, 1_000_000) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(200)]
        child.kill()
        lines += child.stdout.readlines()

    assert all(line.endswith("\n") for line in lines)
    acknowledged = Counter(line[0] for line in lines)
    async with open_table(path) as table:
        kept = {name: [each["sk"] for each in await everything(table, name)] for name in names}
        counter = await stored_item(table, "counter", "all")
        assert await table.verify() == []

    for name in names:
        assert len(kept[name]) - acknowledged[name] in {0, 1}
        assert kept[name] == [f"{number:06}" for number in range(len(kept[name]))]
    assert counter == item("counter", "all", n=sum(map(len, kept.values())))


async def test_processes_make_and_share_one_file(path: Path) -> None:
    names = ("a", "b", "c")
    children = [process(path, name, 30) for name in names]
    outputs = await asyncio.gather(
        *(asyncio.to_thread(child.communicate, timeout=HUNG_SECONDS) for child in children)
    )

    assert [len(out.splitlines()) for out, _ in outputs] == [30] * 3
    assert [child.returncode for child in children] == [0] * 3
    async with open_table(path) as table:
        assert await stored_item(table, "counter", "all") == item("counter", "all", n=90)
        for name in names:
            assert len(await everything(table, name)) == 30


async def test_two_tables_on_a_file_see_each_other_at_once(path: Path) -> None:
    async with open_table(path) as one, open_table(path) as other:
        for number in range(10):
            await one.transact([Put(item(*KEY, n=number))])
            assert await stored_item(other, *KEY) == item(*KEY, n=number)


async def test_large_pages_do_not_hold_the_loop(path: Path) -> None:
    async with open_table(path) as table:
        await store(table, (make_sized_item("p", f"{number:05}", 500) for number in range(4000)))

        async def read_all() -> None:
            pages = await asyncio.gather(*(table.query(Query(partition="p")) for _ in range(16)))
            assert {len(page.items) for page in pages} == {1048576 // 500}

        held = [await longest_hold(read_all) / measure_yardstick() for _ in range(3)]

    assert min(held) < 5


async def test_a_file_that_stays_locked_is_unavailable(path: Path) -> None:
    async with open_table(path, busy_seconds=0.3) as table:
        await table.transact([Put(item(*KEY))])
        with hold_write_lock(path), pytest.raises(Unavailable):
            await table.transact([Put(item(*KEY, n=1))])

        assert await stored_item(table, *KEY) == item(*KEY)
        await table.transact([Put(item(*KEY, n=2))])
        assert await stored_item(table, *KEY) == item(*KEY, n=2)


async def test_a_locked_file_can_be_read(path: Path) -> None:
    async with open_table(path, busy_seconds=0.1) as table:
        await table.transact([Put(item(*KEY))])

        with hold_write_lock(path):
            assert await stored_item(table, *KEY) == item(*KEY)
            assert await everything(table, "p") == [item(*KEY)]


async def test_writes_wait_for_a_lock_that_is_let_go_and_do_not_hold_the_loop(path: Path) -> None:
    async with open_table(path) as table:
        begun = watch_writes(table)
        with hold_write_lock(path):
            waiting = asyncio.create_task(table.write([Put(item(*KEY))]))
            await begun()
            assert not waiting.done()

        assert await waiting == 1.0


async def test_closing_finishes_what_was_begun(path: Path) -> None:
    async with open_table(path) as table:
        begun = [asyncio.create_task(table.transact([Put(item("p", str(n)))])) for n in range(9)]
        await asyncio.sleep(0)
        await table.close()

        assert await asyncio.gather(*begun) == [2.0] * 9

    async with open_table(path) as table:
        assert len(await everything(table, "p")) == 9
