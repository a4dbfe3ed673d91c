"""Measures a page of a search by three tags beside the least that any search needs.

The page has the newest 20 pipelines
with three tags, of which every second, third and fifth has one, from the embedded store. "SQLite
alone" is one statement over a table of tags and ids and one of rows, without groups, rights, units
or records. The least units are those of DynamoDB for the 20 rows that are shown, if one query could
read them and nothing else.
"""

import argparse
import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Final, NamedTuple

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.pages import Window
from penstock.datastore.tag_search.tags import TagFilter
from tests.support.sample_resources import SUPER, USA, create_groups, make, tags

TAGS: Final[Mapping[str, int]] = {"half=1": 2, "third=1": 3, "fifth=1": 5}
"""Each tag, and the step between the pipelines that have it."""

MARK: Final = "tag search floor"
PAGE: Final = 20
_ROUNDS: Final = 15
_WRITERS: Final = 50
_UNIT_BYTES: Final = 4096
_ROW_BYTES: Final = 300
"""About the bytes of the row from which a list shows a pipeline."""


class SearchCost(NamedTuple):
    """Processor seconds and read units of a page, and the numbers of its pipelines."""

    seconds: float
    units: float
    found: list[int]


async def fill(store: Store, count: int) -> None:
    session = await create_groups(store)
    for start in range(0, count, _WRITERS):
        numbers = range(start, min(start + _WRITERS, count))
        await asyncio.gather(
            *(make(session, USA, f"n{number:06}", *_tags_of(number)) for number in numbers)
        )


def _tags_of(number: int) -> list[str]:
    return [tag for tag, step in TAGS.items() if number % step == 0]


async def search(store: Store) -> SearchCost:
    table = MeteredTable(store.table)
    session = replace(store, table=table).open_session(SUPER)
    began = process_time()
    asked = ListRequest(group=USA, tags=TagFilter(all=tags(*TAGS)))
    part = await session.pipelines.listing.page(asked, Window(size=PAGE))
    taken = process_time() - began
    found = [int(entry.name.removeprefix("n")) for _, entry in part.entries]
    return SearchCost(taken, table.units.rcu, found)


def search_alone(count: int) -> Callable[[], SearchCost]:
    """Fill two tables of SQLite; return the search over them."""
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE TABLE tagged (tag TEXT, id INTEGER, PRIMARY KEY (tag, id)) WITHOUT ROWID"
    )
    connection.execute("CREATE TABLE pipelines (id INTEGER PRIMARY KEY, content BLOB)")
    connection.executemany(
        "INSERT INTO tagged VALUES (?, ?)",
        [(tag, number) for number in range(count) for tag in _tags_of(number)],
    )
    connection.executemany(
        "INSERT INTO pipelines VALUES (?, ?)",
        [(number, bytes(_ROW_BYTES)) for number in range(count)],
    )
    statement = (
        "SELECT id, content FROM tagged a JOIN tagged b USING (id) JOIN tagged c USING (id)"
        " JOIN pipelines USING (id) WHERE a.tag = ? AND b.tag = ? AND c.tag = ?"
        f" ORDER BY id DESC LIMIT {PAGE}"
    )

    def run() -> SearchCost:
        began = process_time()
        rows = connection.execute(statement, list(reversed(list(TAGS)))).fetchall()
        taken = process_time() - began
        return SearchCost(taken, ceil(PAGE * _ROW_BYTES / _UNIT_BYTES) / 2, [id for id, _ in rows])

    return run


async def measure(count: int) -> dict[str, SearchCost]:
    """The middle costs of a page in Penstock and in SQLite alone; both pages are full."""
    with TemporaryDirectory() as folder:
        table = SqliteTable.open(Path(folder) / "penstock.db")
        await table.create()
        store = Store(table)
        await fill(store, count)
        ours = [await search(store) for _ in range(_ROUNDS)]
        await table.close()
    run = search_alone(count)
    alone = [run() for _ in range(_ROUNDS)]
    for one in (*ours, *alone):
        assert len(one.found) == PAGE
        assert all(number % step == 0 for number in one.found for step in TAGS.values())
    return {"Penstock": _middle(ours), "SQLite alone": _middle(alone)}


def _middle(costs: list[SearchCost]) -> SearchCost:
    return costs[0]._replace(seconds=median(one.seconds for one in costs))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.tag_search_floor", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="of pipelines")
    add_write_option(parser)
    options = parser.parse_args(arguments)
    rows = []
    for name, one in asyncio.run(measure(options.count)).items():
        least = "at least " if name != "Penstock" else ""
        rows.append((name, f"{one.seconds * 1e3:.2f}", f"{least}{one.units:.1f}"))
    table = format_table("a page of 20 by three tags | ms of processor | read units", rows)
    show_tables({MARK: below_machine(table)}, options.write)


if __name__ == "__main__":
    main()
