"""Measures rows that are all corrected twice: the executions, the reads, and the merge of files.

Run as `python -m benchmarks.corrections.kept_rows [rows]`; the default is 1,000,000. Three
executions make the same keys. It checks the exact sum after each, and prints processor seconds of
all threads.
"""

import asyncio
import resource
import sys
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple

from benchmarks.kept_rows import KEPT, LINES, measure
from penstock.datastore.access.access import Access
from penstock.datastore.executions.files import ingest_key
from penstock.datastore.kept_rows.conditions import RowFilter
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

TIMES = 3
ALL = TotalsRequest(measures=(Measure("kwh", MeasureFunction.SUM, "kwh"),))


class CorrectionsCost(NamedTuple):
    """The processor seconds of each execution, of reads before and behind the merge, and of it."""

    runs: list[float]
    total: float
    page: float
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


async def correct_twice(store: Store, pipeline: Pipeline, rows: int) -> CorrectionsCost:
    """Make and correct so many rows; the sums are those of the last execution."""
    runs = []
    for turn in range(TIMES):
        spent, _ = await measure(run_turn(store, pipeline, turn, rows))
        runs.append(spent)
        total, found = await measure(read_total(store, pipeline))
        assert found == (rows, sum_after(turn, rows))
    wanted = store.open_session(ANN).kept_rows.page(pipeline, RowFilter(), Window(size=50))
    page, listed = await measure(wanted)
    assert len(listed.entries) == min(rows, 50)
    access = Access(store.table, ANN, store.clock, store.list_budget, store.files)
    merger = PartMerger(access, store.part_files, least=TIMES)
    merge, _ = await measure(merger.merge(pipeline.id))
    again, found = await measure(read_total(store, pipeline))
    assert found == (rows, sum_after(TIMES - 1, rows))
    return CorrectionsCost(runs, total, page, merge, again)


async def measure_store(rows: int) -> CorrectionsCost:
    """Measure a new embedded store."""
    with TemporaryDirectory() as folder:
        files = await LocalFiles.open(Path(folder) / "files", base_url="http://x", key=b"k" * 32)
        async with open_table("sqlite", Path(folder)) as table:
            store = Store(table, files=files)
            cost = await correct_twice(store, await keep_meters(store), rows)
        await files.close()
    return cost


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    started = process_time()
    cost = asyncio.run(measure_store(rows))
    for turn, spent in enumerate(cost.runs):
        print(f"execution {turn + 1} of {rows:,} rows with the same keys: {spent:.1f} s")
    print(f"exact total of {rows:,} rows of {TIMES * rows:,} versions: {cost.total:.2f} s")
    print(f"a page of 50 by key: {cost.page:.2f} s")
    print(f"merge of the files: {cost.merge:.2f} s, then a total: {cost.total_of_merged:.2f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak of memory: {peak:,.0f} MB; all: {process_time() - started:.0f} s")


if __name__ == "__main__":
    main()
