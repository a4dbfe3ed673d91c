"""Measures rows that are all corrected twice: the executions, the reads, and the merge of files.

Three executions make the same keys, and the exact sum is checked after each. Times are processor
seconds of all threads. The first page has its time by plain SQL over the same files beside, in one
thread.
"""

import argparse
import asyncio
import resource
from collections.abc import AsyncIterator, Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple

import duckdb

from benchmarks.kept_rows import KEPT, LINES, THREADS, find_parquet, measure
from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from penstock.datastore.access.access import Access
from penstock.datastore.executions.files import ingest_key
from penstock.datastore.kept_rows.conditions import RowCondition, RowFilter
from penstock.datastore.kept_rows.merge_parts import PartMerger
from penstock.datastore.kept_rows.read_totals import Measure, TotalsRequest
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.records import MeasureFunction, Pipeline
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.executions.sample_executions import (
    ANN,
    begin_execution,
    current_execution,
    pipeline_in,
)
from tests.support.sample_resources import create_groups
from tests.support.stores import open_table

MARK = "corrected rows"
TIMES = 3
ALL = TotalsRequest(measures=(Measure("kwh", MeasureFunction.SUM, "kwh"),))


class CorrectionsCost(NamedTuple):
    """The processor seconds of each execution, of reads before and behind the merge, and of it.

    `peak` are the megabytes of memory that the process took at most before the work beside.
    """

    runs: list[float]
    total: float
    pages: dict[str, float]
    peak: float
    plain_page: float
    merge: float
    total_of_merged: float


async def lines_of(turn: int, rows: int) -> AsyncIterator[bytes]:
    """A file in which each meter has its number, and behind the point the turn."""
    yield b"meter,day,kwh\n"
    for start in range(0, rows, LINES):
        numbers = range(start, min(start + LINES, rows))
        lines = (f"m{n},2025-{n % 12 + 1:02}-{n % 28 + 1:02},{n}.{turn}" for n in numbers)
        yield ("\n".join(lines) + "\n").encode()


def sum_after(turn: int, rows: int) -> Decimal:
    """The sum of the rows that stand after a turn: the pipeline multiplies by 1.25."""
    return (Decimal(rows * (rows - 1) // 2) + Decimal(turn) * rows / 10) * Decimal("1.25")


async def run_turn(store: Store, pipeline: Pipeline, turn: int, rows: int) -> None:
    made = await begin_execution(store, pipeline)
    await store.files.write(ingest_key(made), lines_of(turn, rows), content_type="text/csv")
    await store.open_session(ANN).executions.uploads.confirm(made.id)
    await store.execution_worker("w").run_all()
    assert (await current_execution(store, made)).state == "success"


async def read_total(store: Store, pipeline: Pipeline) -> tuple[int, object]:
    rows = store.open_session(ANN).kept_rows
    page = await rows.totals(pipeline, RowFilter(), ALL, Window())
    ((_, total),) = page.entries
    return total.rows, total.values["kwh"]


async def keep_meters(store: Store) -> Pipeline:
    """Make the groups, and a pipeline that keeps its rows."""
    await create_groups(store)
    return await pipeline_in(store, name="kept", transformer=KEPT)


async def measure_pages(store: Store, pipeline: Pipeline, rows: int) -> dict[str, float]:
    """Measure a page by key from each side, the next one, and pages of few of the rows."""
    session = store.open_session(ANN)
    few = RowCondition(output="kwh", gte=Decimal(rows), lt=Decimal(rows + rows // 100))
    former = RowCondition(output="kwh", eq=Decimal(rows // 2))  # as the first execution wrote it
    asked = {
        "of all rows": (RowFilter(), False, 50),
        "of all rows, from the end": (RowFilter(), True, 50),
        "of one row in a hundred": (RowFilter(where=(few,)), False, 50),
        "of no row, as none stands so any more": (RowFilter(where=(former,)), False, 0),
    }
    found = {}
    for name, (wanted, backward, most) in asked.items():
        window = Window(size=50, backward=backward)
        found[name], page = await measure(session.kept_rows.page(pipeline, wanted, window))
        assert len(page.entries) <= most
        if page.more:
            behind = Window(size=50, after=page.reached, backward=backward)
            found[f"{name}, the next"], _ = await measure(
                session.kept_rows.page(pipeline, wanted, behind)
            )
    return found


def measure_plain_page(files: Sequence[str]) -> float:
    """The first page of all rows by plain SQL over the same files."""
    connection = duckdb.connect(":memory:", config={"threads": THREADS})
    sql = """SELECT meter, day, arg_max(kwh, _execution) FROM read_parquet($files)
      GROUP BY meter, day ORDER BY meter, day LIMIT 50"""
    for _ in range(2):
        started = process_time()
        connection.execute(sql, {"files": list(files)}).fetchall()
        spent = process_time() - started
    return spent


async def correct_twice(
    store: Store, pipeline: Pipeline, rows: int, folder: Path
) -> CorrectionsCost:
    """Make and correct so many rows; the sums are those of the last execution."""
    runs = []
    for turn in range(TIMES):
        spent, _ = await measure(run_turn(store, pipeline, turn, rows))
        runs.append(spent)
        total, found = await measure(read_total(store, pipeline))
        assert found == (rows, sum_after(turn, rows))
    pages = await measure_pages(store, pipeline, rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    plain = measure_plain_page(find_parquet(folder))
    access = Access(store.table, ANN, store.clock, store.list_budget, store.files)
    merger = PartMerger(access, store.part_files, least=TIMES)
    merge, _ = await measure(merger.merge(pipeline.id))
    again, found = await measure(read_total(store, pipeline))
    assert found == (rows, sum_after(TIMES - 1, rows))
    return CorrectionsCost(runs, total, pages, peak, plain, merge, again)


async def measure_store(rows: int) -> CorrectionsCost:
    """Measure a new embedded store."""
    with TemporaryDirectory() as folder:
        files = await LocalFiles.open(Path(folder) / "files", base_url="http://x", key=b"k" * 32)
        async with open_table("sqlite", Path(folder)) as table:
            store = Store(table, files=files)
            cost = await correct_twice(store, await keep_meters(store), rows, Path(folder))
        await files.close()
    return cost


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.corrections.kept_rows", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    add_write_option(parser)
    options = parser.parse_args(arguments)
    cost = asyncio.run(measure_store(options.rows))
    runs = ", then ".join(f"{spent:.1f} s" for spent in cost.runs)
    rows = [
        (f"an execution of {options.rows:,} rows, with the making of its input", runs),
        ("exact total of the rows that stand", f"{cost.total:.2f} s"),
        *((f"a page of 50 {name}", f"{spent:.2f} s") for name, spent in cost.pages.items()),
        ("the first of them by plain SQL over the same files", f"{cost.plain_page:.2f} s"),
        ("the merge of the files", f"{cost.merge:.1f} s"),
        ("exact total then", f"{cost.total_of_merged:.2f} s"),
        ("memory", f"{cost.peak:,.0f} MB"),
    ]
    head = f"{options.rows:,} rows, all corrected twice | processor time"
    show_tables({MARK: below_machine(format_table(head, rows))}, options.write)


if __name__ == "__main__":
    main()
