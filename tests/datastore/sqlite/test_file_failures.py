"""A full disk, a read-only file and a damaged one are Unavailable, and `ping` says so."""

import json
import logging
import resource
import sqlite3
import subprocess
import sys
from asyncio import to_thread
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from sqlite3 import Connection
from time import time

import pytest

from penstock.datastore.errors import Unavailable
from penstock.datastore.sqlite import rows
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.table.port import Item, Key, Put, Table
from tests.support.patience import HUNG_SECONDS

PAGES = 200
PAGE_BYTES = 8192


def item(number: int) -> Item:
    return {"pk": "A", "sk": f"{number:05}", "text": "x" * PAGE_BYTES}


@asynccontextmanager
async def open_with(connect: Callable[[], Connection]) -> AsyncIterator[SqliteTable]:
    table = SqliteTable(connect, time)
    try:
        yield table
    finally:
        await table.close()


async def made(path: Path, items: int = 1) -> Path:
    """Make a table with some items, none of which is left in its log."""
    async with open_with(lambda: rows.connect(path, HUNG_SECONDS)) as table:
        await table.create()
        for start in range(0, items, 25):
            await table.write([Put(item(n)) for n in range(start, min(items, start + 25))])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


async def fill(table: Table) -> int:
    """Write items until the store takes no more; return the number that it acknowledged."""
    for number in range(1, 10 * PAGES):
        try:
            await table.transact([Put(item(number))])
        except Unavailable:
            return number - 1
    raise AssertionError("the store is never full")


async def test_a_full_disk_is_unavailable_until_there_is_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, most = await made(tmp_path / "t.db"), [PAGES]

    def connect() -> Connection:
        connection = rows.connect(path, HUNG_SECONDS)
        connection.execute(f"PRAGMA max_page_count = {most[0]}")
        return connection

    with caplog.at_level(logging.WARNING, "penstock.table"):
        async with open_with(connect) as table:
            kept = await fill(table)
            for _ in range(3):
                with pytest.raises(Unavailable, match="no room left"):
                    await table.transact([Put(item(kept + 1))])
            with pytest.raises(Unavailable, match="no room left"):
                await table.ping()
            keys = [Key("A", f"{n:05}") for n in range(kept - 50, kept + 2)]
            assert [*(await table.get(keys)).items] == keys[:-1]
            await table._writer.run(lambda file: file.execute("PRAGMA max_page_count = 100000"))
            await table.ping()
            await table.transact([Put(item(kept + 1))])
    assert [each.getMessage().partition(":")[0] for each in caplog.records] == [
        "writes fail",
        "writes succeed again",
    ]
    assert not any(each.exc_info for each in caplog.records)


async def test_a_file_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    path = await made(tmp_path / "t.db")

    def connect() -> Connection:
        return sqlite3.connect(
            f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
        )

    async with open_with(connect) as table:
        assert len((await table.get([Key("A", "00000")])).items) == 1
        await table.ping()
        with pytest.raises(Unavailable, match="cannot be written"):
            await table.transact([Put(item(1))])
        with pytest.raises(Unavailable, match="cannot be written"):
            await table.ping()
        assert (await table.get([Key("A", "00001")])).items == {}


async def test_a_file_that_is_no_database_is_unavailable(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    path.write_bytes(b"no database at all, but a text" * 1_000)
    async with open_with(lambda: rows.connect(path, HUNG_SECONDS)) as table:
        for call in (table.create, table.ping, lambda: table.transact([Put(item(1))])):
            with pytest.raises(Unavailable, match="is no database"):
                await call()
    assert path.read_bytes() == b"no database at all, but a text" * 1_000


async def test_a_damaged_page_is_unavailable_and_the_others_are_read(tmp_path: Path) -> None:
    path = await made(tmp_path / "t.db", items=400)
    with path.open("r+b") as file:
        for page in range(4, 40):
            file.seek(page * PAGE_BYTES)
            file.write(b"\xff" * PAGE_BYTES)
    async with open_with(lambda: rows.connect(path, HUNG_SECONDS)) as table:
        outcomes = set[int | str]()
        for number in range(400):
            try:
                outcomes.add(len((await table.get([Key("A", f"{number:05}")])).items))
            except Unavailable as refused:
                outcomes.add(refused.message)
    assert outcomes == {1, "The table's file is damaged."}


async def test_a_folder_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    async with open_with(lambda: rows.connect(tmp_path / "none" / "t.db", HUNG_SECONDS)) as table:
        with pytest.raises(Unavailable, match="cannot be opened"):
            await table.create()


WRITE_UNTIL_REFUSED = """
import asyncio, json, sys
from pathlib import Path
from penstock.datastore.errors import Unavailable
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.table.port import Put

async def main():
    table, kept = SqliteTable.open(Path(sys.argv[1])), 0
    try:
        for number in range(1, 5000):
            await table.transact([Put({"pk": "A", "sk": f"{number:05}", "text": "x" * 8192})])
            kept = number
    except Unavailable as refused:
        print(json.dumps({"kept": kept, "message": refused.message}))
    finally:
        await table.close()

asyncio.run(main())
"""


async def test_no_acknowledged_write_is_lost_where_the_system_stops_a_file(tmp_path: Path) -> None:
    path = await made(tmp_path / "t.db")
    limit = 2 * 2**20

    def limit_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = await to_thread(
        subprocess.run,
        [sys.executable, "-c", WRITE_UNTIL_REFUSED, str(path)],
        preexec_fn=limit_files,
        capture_output=True,
        check=True,
        timeout=HUNG_SECONDS,
    )
    told = json.loads(done.stdout)
    assert told["message"] in {
        "There is no room left for the table's file.",
        "The table's file cannot be read or written.",
    }
    async with open_with(lambda: rows.connect(path, HUNG_SECONDS)) as table:
        keys = [Key("A", f"{n:05}") for n in range(1, told["kept"] + 1)]
        found = [await table.get(keys[start : start + 100]) for start in range(0, len(keys), 100)]
    assert sum(len(batch.items) for batch in found) == told["kept"] > 50
