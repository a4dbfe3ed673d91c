"""Measures a large reference dataset: its load, a copy of its index, and lookups.

Its rows have two key columns and three others. Times are processor seconds of all threads; memory
is that of the process.
"""

import argparse
import asyncio
import resource
from collections.abc import AsyncIterator, Awaitable, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import process_time
from typing import Final, NamedTuple, TypeVar

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from penstock.datastore.datasets.files import draft_content
from penstock.datastore.datasets.table_cache import DatasetTableCache
from penstock.datastore.jobs.jobs import Job, JobState
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.records import DatasetColumn, DatasetContent, ReferenceDataset, ValueType
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.formula.core.datasets import KeyedRows
from tests.datastore.datasets.sample_datasets import lookup_dataset
from tests.support.sample_resources import SUPER, USA, create_groups
from tests.support.stores import open_table

T = TypeVar("T")

MARK: Final = "large dataset"
LINES: Final = 10_000
LOOKUPS: Final = 100_000
COLUMNS: Final = tuple(
    DatasetColumn(name=name, type=type)
    for name, type in (
        ("plant", ValueType.STRING),
        ("month", ValueType.STRING),
        ("fuel", ValueType.STRING),
        ("factor", ValueType.NUMBER),
        ("source", ValueType.STRING),
    )
)
KEYS: Final = ("plant", "month")


class LargeDatasetCost(NamedTuple):
    """The processor seconds of the work on a dataset; sizes in bytes, memory in megabytes.

    `memory` is what the process took at most until the dataset was loaded, `before` that before.
    """

    before: int
    memory: int
    load: float
    copy: float
    lookups: float
    repeated: float
    content: DatasetContent


def key_of(row: int) -> tuple[str, str]:
    return f"plant-{row // 12:07}", f"{2000 + row % 25}-{row % 12 + 1:02}"


async def write_lines(rows: int) -> AsyncIterator[bytes]:
    yield ",".join(column.name for column in COLUMNS).encode() + b"\n"
    for start in range(0, rows, LINES):
        numbers = range(start, min(start + LINES, rows))
        lines = (
            f"{','.join(key_of(n))},fuel {n % 40},{n % 9973}.{n % 1000:03},report {n % 300}\n"
            for n in numbers
        )
        yield "".join(lines).encode()


async def measure(work: Awaitable[T]) -> tuple[float, T]:
    started = process_time()
    found = await work
    return process_time() - started, found


def memory_peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000


def measure_lookups(rows: KeyedRows, keys: list[tuple[str, str]]) -> float:
    started = process_time()
    for key in keys:
        assert rows.find(key, (*KEYS, "factor")) is not None
    return process_time() - started


async def begin_load(session: Session, store: Store, rows: int) -> tuple[ReferenceDataset, Job]:
    dataset = await lookup_dataset(session, USA, "factors")
    ticket = await session.dataset_files.upload(USA, store.dataset_limits.size)
    key = dict(ticket.form.fields)["key"]
    await store.files.write(key, write_lines(rows), content_type="text/csv")
    content = draft_content(COLUMNS, KEYS)
    return dataset, await session.dataset_loads.begin(dataset.id, 1, content, ticket.id)


async def measure_dataset(rows: int, folder: Path) -> LargeDatasetCost:
    """Load a dataset of so many rows, and look values up in it."""
    files = await LocalFiles.open(folder / "files", base_url="http://localhost", key=b"k" * 32)
    async with open_table("sqlite", folder) as table:
        store = Store(table, files=files)
        session = await create_groups(store)
        dataset, job = await begin_load(session, store, rows)
        before = memory_peak()
        load, _ = await measure(store.run_jobs("w"))
        memory = memory_peak()
        (over,) = await session.jobs.many([job.id])
        assert isinstance(over, Job)
        assert over.state is JobState.DONE, over
        made = await store.open_session(SUPER).datasets.reading.one(dataset.id)
        copy, found = await measure(DatasetTableCache().rows(files, made))
        numbers = Random(5).choices(range(rows), k=LOOKUPS)
        lookups = measure_lookups(found, [key_of(n) for n in numbers])
        repeated = measure_lookups(found, [key_of(n % 5_000) for n in numbers])
        return LargeDatasetCost(before, memory, load, copy, lookups, repeated, made.content)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.large_dataset", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    add_write_option(parser)
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        cost = asyncio.run(measure_dataset(options.rows, Path(folder)))
    size, index = cost.content.size_bytes / 1e6, cost.content.index_bytes / 1e6
    rows = [
        ("the load", f"{cost.load:.1f} s, with {cost.memory} MB of memory ({cost.before} before)"),
        ("the index", f"{index:,.0f} MB on the disk"),
        ("its copy to another server", f"{cost.copy:.2f} s"),
        (f"{LOOKUPS:,} lookups by both keys", f"{cost.lookups:.2f} s"),
        (f"{LOOKUPS:,} lookups of 5,000 different keys", f"{cost.repeated:.2f} s"),
    ]
    table = format_table(f"{options.rows:,} rows, a file of {size:,.0f} MB | takes", rows)
    show_tables({MARK: below_machine(table)}, options.write)


if __name__ == "__main__":
    main()
