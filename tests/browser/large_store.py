"""A data folder with 10,000 pipelines and 10,000 executions, made in seconds.

The server's own code writes a hundred pipelines and an execution of each state. Their rows are
then copied under other ids and names, and the counts of what they share are multiplied.
"""

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

from msgspec import structs

from penstock.datastore.clock import iso_timestamp, uuid7
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.listed_rows import list_items
from penstock.datastore.executions.records import ExecutionState
from penstock.datastore.executions.rows import execution_item
from penstock.datastore.session import Session
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.layout import EXECUTION_COUNT
from penstock.datastore.table.port import Delete, Put
from penstock.server.samples.catalogue import GROUPS, sample_pipelines
from penstock.server.samples.seeding import SEEDER
from penstock.server.settings.store_settings import DATABASE
from tests.support.stores import open_files

SIZE = 10_000
ORIGINALS = 100
STATES = (*[ExecutionState.SUCCESS] * 7, *[ExecutionState.FAILED] * 2, ExecutionState.CANCELLED)
COUNTERS = (b"TA:", b"GC:", b"QG:")
OF_PIPELINE = EXECUTION_COUNT.sk.text.encode()
COUNTS = ("count", "deeper", "grants", "versions")
REPLACE = "REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?)"

Row = tuple[bytes, bytes, bytes | None, int, float | None, bytes]


def fill_large_store(folder: Path) -> None:
    """Make the database in the data folder of a server."""
    folder.mkdir(parents=True)
    pipelines, executions = asyncio.run(_write_originals(folder))
    file = sqlite3.connect(folder / DATABASE)
    with file:
        rows: list[Row] = file.execute("SELECT * FROM items").fetchall()
        for row in rows:
            if row[0].startswith(COUNTERS) or row[1] == OF_PIPELINE:
                file.execute(REPLACE, _multiply(row))
        for number, id in pipelines.items():
            own = [row for row in rows if _belongs_to(row, id, f"%3A{number:05}")]
            file.executemany(REPLACE, _copy_pipeline(own, number, id))
        for id in executions:
            own = [row for row in rows if _belongs_to(row, id)]
            copies = (_rename(own, {id: uuid7()}) for _ in range(SIZE // len(executions) - 1))
            file.executemany(REPLACE, chain.from_iterable(copies))
    file.close()


async def _write_originals(folder: Path) -> tuple[dict[int, str], list[str]]:
    """Return the ids of the pipelines by their numbers, and those of the executions."""
    table = SqliteTable.open(folder / DATABASE)
    await table.create()
    async with open_files(folder) as files:
        found = await _write_resources(Store(table, files=files))
    await table.close()
    return found


async def _write_resources(store: Store) -> tuple[dict[int, str], list[str]]:
    session = store.open_session(SEEDER)
    for group in GROUPS:
        await session.groups.create(group, group)
    numbered = enumerate(islice(sample_pipelines(ORIGINALS + 1), 1, None), 1)
    pipelines = {
        number: (await session.pipelines.writing.create(one.group, one.content, None)).id
        for number, one in numbered
    }
    executions = [await _write_execution(store, session, pipelines[1], one) for one in STATES]
    return pipelines, executions


async def _write_execution(
    store: Store, session: Session, pipeline: str, state: ExecutionState
) -> str:
    """Write an execution that is over, as the worker leaves it."""
    made = await session.executions.creating.create(ExecutionRequest(pipeline_id=pipeline))
    now = iso_timestamp(store.clock.now())
    over = structs.replace(made, state=state, started_at=now, finished_at=now)
    await store.table.write(
        [
            *map(Delete, list_items(made)),
            *map(Put, [execution_item(over), *list_items(over).values()]),
        ]
    )
    return made.id


def _belongs_to(row: Row, id: str, name: str = "\0") -> bool:
    """Whether a row is one of a thing alone, by its key; the log of changes is left out."""
    key = (row[0] + b" " + row[1]).decode()
    return (id in key or name in key) and not key.startswith("CL:") and row[1] != OF_PIPELINE


def _copy_pipeline(rows: list[Row], number: int, id: str) -> Iterator[Row]:
    for copy in range(1, SIZE // ORIGINALS):
        other = f"{number + copy * ORIGINALS:05}"
        names = {f"{sign}{number:05}": f"{sign}{other}" for sign in (":", "%3A")}
        yield from _rename(rows, {id: uuid7(), **names})


def _rename(rows: list[Row], names: dict[str, str]) -> Iterator[Row]:
    for pk, sk, g, size, expires, body in rows:
        texts = [pk, sk, body]
        for old, new in names.items():
            texts = [text.replace(old.encode(), new.encode()) for text in texts]
        yield texts[0], texts[1], g, size, expires, texts[2]


def _multiply(row: Row) -> Row:
    """The counts of a row for all copies of what it counts."""
    pk, sk, g, size, expires, body = row
    counts = json.loads(body)
    times = SIZE // len(STATES) if sk == OF_PIPELINE else SIZE // ORIGINALS
    more = {name: counts[name] * times for name in COUNTS if name in counts}
    return pk, sk, g, size, expires, json.dumps({**counts, **more}, separators=(",", ":")).encode()
