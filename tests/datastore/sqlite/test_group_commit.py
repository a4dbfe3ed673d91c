"""Calls that run together look to each caller as if they ran alone."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from threading import Thread
from typing import Any
from unittest.mock import patch

import pytest

from penstock.datastore.errors import Unavailable
from penstock.datastore.sqlite import group_commit
from penstock.datastore.sqlite.group_commit import (
    DatabaseCall,
    FailedCall,
    WorkerThread,
    read_together,
    write_together,
)
from penstock.datastore.sqlite.rows import connect
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.table.port import (
    ConditionFailed,
    FailedCheck,
    Key,
    Missing,
    Put,
    Query,
    Update,
)
from tests.datastore.sqlite.test_table import hold_write_lock, open_table, path, watch_writes
from tests.datastore.table.sample_items import everything, item, stored_item

__all__ = ["path"]

CHAIN = 20


@pytest.fixture
def connection(path: Path) -> Iterator[Connection]:
    with closing(connect(path, 0.1)) as made:
        made.execute("PRAGMA journal_mode = WAL")
        made.execute("CREATE TABLE numbers (n INTEGER PRIMARY KEY, text BLOB)")
        yield made


def insert(number: int, connection: Connection, size: int = 1) -> int:
    connection.execute("INSERT INTO numbers VALUES (?, zeroblob(?))", (number, size))
    return number


def fail(error: Exception, connection: Connection) -> None:
    """Fail if a row was written already."""
    insert(99, connection)
    raise error


def numbers(connection: Connection) -> list[int]:
    return [number for (number,) in connection.execute("SELECT n FROM numbers ORDER BY n")]


def transaction_statements(connection: Connection, work: Callable[[], object]) -> list[str]:
    """The transactions that the work begins and ends."""
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    work()
    connection.set_trace_callback(None)
    return [one for one in statements if one.startswith(("BEGIN", "COMMIT", "ROLLBACK"))]


def test_writes_share_one_commit(connection: Connection) -> None:
    works = [partial(insert, number) for number in range(3)]

    assert transaction_statements(connection, lambda: write_together(connection, works)) == [
        "BEGIN IMMEDIATE",
        "COMMIT",
    ]
    assert numbers(connection) == [0, 1, 2]


def test_reads_share_one_moment(connection: Connection, path: Path) -> None:
    def write_elsewhere(_: Connection) -> int:
        with closing(connect(path, 0.1)) as other:
            return insert(1, other)

    assert read_together(connection, [numbers, write_elsewhere, numbers]) == [[], 1, []]
    assert read_together(connection, [numbers]) == [[1]]


def test_a_read_that_fails_fails_alone(connection: Connection) -> None:
    error = ValueError("mine")

    assert read_together(connection, [numbers, partial(fail, error), numbers])[1] == FailedCall(
        error
    )


@pytest.mark.parametrize("error", [ValueError("mine"), sqlite3.DataError("mine")])
def test_a_write_that_fails_undoes_itself_alone(connection: Connection, error: Exception) -> None:
    works: list[DatabaseCall] = [partial(insert, 1), partial(fail, error), partial(insert, 2)]

    assert write_together(connection, works) == [1, FailedCall(error), 2]
    assert numbers(connection) == [1, 2]


def test_a_write_that_fills_the_disk_fails_alone(connection: Connection) -> None:
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    works = [partial(insert, 1), partial(insert, 2, size=100_000), partial(insert, 3)]

    one, large, three = write_together(connection, works)

    assert (one, three) == (1, 3)
    assert "full" in str(large.error)
    assert numbers(connection) == [1, 3]


def test_what_undoes_the_whole_group_undoes_no_neighbour(connection: Connection) -> None:
    def undo_all(connection: Connection) -> None:
        connection.execute("ROLLBACK")
        raise sqlite3.OperationalError("disk I/O error")

    one, undone, two = write_together(
        connection, [partial(insert, 1), undo_all, partial(insert, 2)]
    )

    assert (one, two) == (1, 2)
    assert str(undone.error) == "disk I/O error"
    assert numbers(connection) == [1, 2]


def test_a_commit_that_fails_is_nobodys_success(connection: Connection) -> None:
    def deny(action: int, what: str | None, *_: object) -> int:
        commits = action == sqlite3.SQLITE_TRANSACTION and what == "COMMIT"
        return sqlite3.SQLITE_DENY if commits else sqlite3.SQLITE_OK

    connection.set_authorizer(deny)
    outcomes = write_together(connection, [partial(insert, 1), partial(insert, 2)])
    connection.set_authorizer(None)

    assert [str(outcome.error) for outcome in outcomes] == ["not authorized"] * 2
    assert not connection.in_transaction
    assert numbers(connection) == []


def test_a_group_waits_once_for_a_lock(connection: Connection, path: Path) -> None:
    works = [partial(insert, number) for number in range(50)]

    def wait_in_vain() -> None:
        with hold_write_lock(path), pytest.raises(sqlite3.OperationalError, match="locked"):
            write_together(connection, works)

    assert transaction_statements(connection, wait_in_vain) == ["BEGIN IMMEDIATE"]
    assert numbers(connection) == []


@pytest.mark.parametrize("together", [read_together, write_together])
def test_a_long_turn_ends_early(
    connection: Connection, together: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "TURN_SECONDS", 0.0)

    assert together(connection, [partial(insert, number) for number in range(3)]) == [0]
    assert numbers(connection) == [0]


async def test_everyone_is_answered_in_turns_that_end_early(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "TURN_SECONDS", 0.0)
    async with open_table(path) as table:
        writes = [table.transact([Update(key=Key("p", "s"), add={"n": 1})]) for _ in range(CHAIN)]
        assert await asyncio.gather(*writes) == [2.0] * CHAIN
        found = await asyncio.gather(*(stored_item(table, "p", "s") for _ in range(CHAIN)))

    assert found == [item("p", "s", n=CHAIN)] * CHAIN


@pytest.mark.own_pace
async def test_conditions_are_decided_in_the_order_of_asking(path: Path) -> None:
    async with open_table(path) as table:
        first, second, third, fourth = await asyncio.gather(
            table.transact([Put(item("p", "s", n=1, x="t"), Missing())]),
            table.transact([Put(item("p", "t")), Put(item("p", "s", n=2), Missing())]),
            table.transact([Update(key=Key("p", "s"), add={"n": 7, "x": 1})]),
            table.transact([Update(key=Key("p", "s"), add={"n": 1})]),
            return_exceptions=True,
        )

        assert (first, fourth) == (2.0, 2.0)
        assert isinstance(second, ConditionFailed)
        assert second.failed == (FailedCheck(1, item("p", "s", n=1, x="t")),)
        assert isinstance(third, TypeError)
        assert await everything(table, "p") == [item("p", "s", n=2, x="t")]


async def test_all_who_wait_for_a_lock_are_told_so(path: Path) -> None:
    async with open_table(path, busy_seconds=0.1) as table:
        with hold_write_lock(path):
            writes = [table.transact([Put(item("p", str(number)))]) for number in range(5)]
            outcomes = await asyncio.gather(*writes, return_exceptions=True)

        assert {type(outcome) for outcome in outcomes} == {Unavailable}
        assert await everything(table, "p") == []
        assert await table.write([Put(item("p", "s"))]) == 1.0


@pytest.mark.own_pace
async def test_a_write_that_is_cancelled_while_it_waits_is_not_done(path: Path) -> None:
    async with open_table(path) as table:
        tasks = [
            asyncio.create_task(table.transact([Put(item("p", str(number)))]))
            for number in range(3)
        ]
        await asyncio.sleep(0)
        tasks[1].cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)

        assert [outcomes[0], outcomes[2]] == [2.0, 2.0]
        assert isinstance(outcomes[1], asyncio.CancelledError)
        assert await everything(table, "p") == [item("p", "0"), item("p", "2")]


@pytest.mark.own_pace
async def test_a_write_that_is_cancelled_while_it_is_done_leaves_its_neighbours(path: Path) -> None:
    async with open_table(path) as table:
        # Behind the sweep.
        await table.write([Put(item("q", "s"))])
        begun = watch_writes(table)
        with hold_write_lock(path):
            tasks = [
                asyncio.create_task(table.transact([Put(item("p", str(number)))]))
                for number in range(3)
            ]
            await begun()
            tasks[0].cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)

        assert isinstance(outcomes[0], asyncio.CancelledError)
        assert outcomes[1:] == [2.0, 2.0]
        assert [each["sk"] for each in await everything(table, "p")] == ["0", "1", "2"]


async def test_reads_see_what_was_acknowledged_before_they_were_asked_for(path: Path) -> None:
    async with open_table(path) as table:

        async def count(name: str) -> None:
            for number in range(CHAIN):
                await table.transact([Put(item(name, "s", n=number))])
                assert await stored_item(table, name, "s") == item(name, "s", n=number)
                page = await table.query(Query(partition=name))
                assert page.items == (item(name, "s", n=number),)

        await asyncio.gather(*(count(name) for name in "abcdefgh"))


async def test_a_lane_that_cannot_open_its_file_tells_everyone_and_tries_again(path: Path) -> None:
    attempts = []

    def open_second_time() -> Connection:
        attempts.append(path)
        if len(attempts) == 1:
            raise sqlite3.OperationalError("unable to open database file")
        return connect(path, 0.1)

    lane = WorkerThread("test", open_second_time, read_together)
    outcomes = await asyncio.gather(lane.run(bool), lane.run(bool), return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["unable to open database file"] * 2
    assert await lane.run(bool) is True
    await lane.close()


async def test_a_closed_table_refuses_what_comes(path: Path) -> None:
    async with open_table(path) as table:
        await table.close()
        with pytest.raises(RuntimeError, match="closed"):
            await table.get([Key("p", "s")])


async def test_a_table_that_was_never_used_makes_no_file(path: Path) -> None:
    await SqliteTable.open(path).close()

    assert not await asyncio.to_thread(path.exists)


async def test_a_thread_that_cannot_start_is_told_of_and_tried_again(path: Path) -> None:
    lane = WorkerThread("late", partial(connect, path, 0.1), read_together)
    failing = patch.object(Thread, "start", side_effect=RuntimeError("can't start new thread"))
    with failing, pytest.raises(Unavailable, match="no thread"):
        await lane.run(_one)
    assert await lane.run(_one) == 1
    await lane.close()


def _one(connection: Connection) -> int:
    found: int = connection.execute("SELECT 1").fetchone()[0]
    return found
