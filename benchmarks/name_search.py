"""Measures searches by parts of names: the first page of 20 of a group or library, embedded."""

import argparse
import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from penstock.datastore.name_search.words import NameFilter
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.session import Session
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.tag_search.tags import TagFilter
from tests.support.sample_resources import SUPER, USA, create_groups, make, tags

MARK: Final = "name search"
LIMIT: Final = 0.1
"""The seconds that a page may take."""

_WRITERS: Final = 50
_WORDS: Final = ("daily", "weekly", "monthly", "yearly")
_PLACES: Final = 25

HAS: Final[Mapping[str, NameFilter]] = {
    "one name": NameFilter(contains="n00042"),
    "ten names": NameFilter(contains="n0004"),
    "a word of 400 names": NameFilter(contains="place07"),
    "a word of one name in four": NameFilter(contains="daily"),
    "a word of every name": NameFilter(contains="report"),
    "two words that never meet": NameFilter(contains="daily weekly"),
    "no name": NameFilter(contains="nothing"),
    "the beginning of 400 names": NameFilter(starts_with="report daily place04"),
}


class Measure(NamedTuple):
    """One page: seconds by the clock and of the processor, read units and entries."""

    seconds: float
    processor: float
    units: float
    entries: int


def name_of(number: int) -> str:
    """The name of a pipeline: words of different frequency, and a word of its own."""
    word, place = _WORDS[number % len(_WORDS)], number % _PLACES
    return f"Report {word} place{place:02} n{number:05}"


async def fill(store: Store, count: int) -> None:
    """Create the pipelines in one group, some at a time."""
    session = await create_groups(store)
    for start in range(0, count, _WRITERS):
        numbers = range(start, min(start + _WRITERS, count))
        tagged = [f"half={number // 7 % 2}" for number in numbers]
        pairs = zip(numbers, tagged, strict=True)
        await asyncio.gather(*(make(session, USA, name_of(n), tag, "m=a/b") for n, tag in pairs))


async def read_page(listed: ListRequest, session: Session) -> Slice[Any]:
    return await session.pipelines.listing.page(listed, Window())


async def measure(
    store: Store, page: Callable[[Session], Awaitable[Slice[Any]]], rounds: int
) -> Measure:
    """Read the page some times; return the medians."""
    found: list[Measure] = []
    for _ in range(rounds):
        table = MeteredTable(store.table)
        session = replace(store, table=table).open_session(SUPER)
        began, used = time.perf_counter(), time.process_time()
        part = await page(session)
        took = time.perf_counter() - began, time.process_time() - used
        found.append(Measure(*took, table.units.rcu, len(part.entries)))
    return Measure(*(median(column) for column in zip(*found, strict=True)))


async def run(count: int, rounds: int) -> dict[str, Measure]:
    """Fill a store in a new folder, and measure each search."""
    results: dict[str, Measure] = {}
    with TemporaryDirectory() as folder:
        table = SqliteTable.open(Path(folder) / "penstock.db")
        await table.create()
        store = Store(table)
        await fill(store, count)
        gc.freeze()
        half = TagFilter(all=tags("half=1"))
        for title, name in HAS.items():
            plain = ListRequest(group=USA, name=name)
            for asked, more in ((plain, ""), (replace(plain, tags=half), ", and a tag")):
                results[title + more] = await measure(store, partial(read_page, asked), rounds)
        await table.close()
    return results


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.name_search", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a page takes 100 ms")
    add_write_option(parser)
    options = parser.parse_args(arguments)
    results = asyncio.run(run(options.count, options.rounds))
    rows = [
        f"{title} | {one.seconds * 1000:.1f} | {one.processor * 1000:.1f} "
        f"| {one.units:.1f} | {one.entries:.0f}"
        for title, one in results.items()
    ]
    table = format_table("names | ms | ms of processor | read units | found", rows)
    show_tables({MARK: below_machine(table)}, options.write)
    if options.check and max(one.processor for one in results.values()) > LIMIT:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
