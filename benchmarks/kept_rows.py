"""Measures kept rows: an execution, totals by month and a page, beside DuckDB and SQLite.

The rows come in parts, of which each after the first corrects a tenth of the keys before it. Times
are processor seconds of all threads. Beside them are those of the same work without rows, of plain
SQL by DuckDB over the same files, and of the same rows in a table of SQLite.
"""

import argparse
import asyncio
import resource
from collections.abc import AsyncIterator, Awaitable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple, TypeVar

import duckdb

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from benchmarks.rows_elsewhere.sqlite import SqliteCost, measure_sqlite
from penstock.datastore.executions.files import ingest_key
from penstock.datastore.kept_rows.conditions import RowFilter
from penstock.datastore.kept_rows.read_totals import Every, Measure, TotalsRequest
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.records import (
    MeasureFunction,
    Output,
    Parameter,
    Pipeline,
    RowKeeping,
    Transform,
    Transformer,
    ValueType,
)
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

T = TypeVar("T")

MARK = "kept rows"
LINES = 10_000
THREADS = 1
"""As many as a query of the server has."""
MONTHLY = TotalsRequest(every=Every.MONTH, measures=(Measure("kwh", MeasureFunction.SUM, "kwh"),))
OUTPUTS = (
    (":meter", "meter", ValueType.STRING),
    ("AS_TIMESTAMP(:day, 'yyyy-MM-dd')", "day", ValueType.TIMESTAMP),
    (":kwh * 1.25", "kwh", ValueType.NUMBER),
)
PLAIN = Transformer(
    parameters=(
        Parameter(index=0, key="meter", type=ValueType.STRING),
        Parameter(index=1, key="day", type=ValueType.TIMESTAMP),
        Parameter(index=2, key="kwh", type=ValueType.NUMBER),
    ),
    transforms=tuple(
        Transform(index=n, formula=formula, outputs=(Output(index=0, key=key, type=type),))
        for n, (formula, key, type) in enumerate(OUTPUTS)
    ),
)
KEPT = Transformer(
    parameters=PLAIN.parameters,
    transforms=PLAIN.transforms,
    rows=RowKeeping(key=("meter", "day"), time="day"),
)


async def lines_of(part: int, rows: int) -> AsyncIterator[bytes]:
    """A file of new meters, a tenth of which are those of the part before."""
    yield b"meter,day,kwh\n"
    first = part * rows * 9 // 10
    for start in range(first, first + rows, LINES):
        numbers = range(start, min(start + LINES, first + rows))
        lines = (
            f"m{n},{2015 + n % 10}-{n % 12 + 1:02}-{n % 28 + 1:02},{n}.{n % 97}" for n in numbers
        )
        yield ("\n".join(lines) + "\n").encode()


async def run_part(store: Store, pipeline: Pipeline, part: int, rows: int) -> float:
    """Run one part; return the processor seconds of the worker."""
    made = await begin_execution(store, pipeline)
    await store.files.write(ingest_key(made), lines_of(part, rows), content_type="text/csv")
    await store.open_session(ANN).executions.uploads.confirm(made.id)
    started = process_time()
    await store.execution_worker("w").run_all()
    spent = process_time() - started
    assert (await current_execution(store, made)).state == "success"
    return spent


async def measure(work: Awaitable[T]) -> tuple[float, T]:
    started = process_time()
    found = await work
    return process_time() - started, found


class KeptRowsCost(NamedTuple):
    """The processor seconds of executions and reads of kept rows, and of plain SQL beside them.

    `peak` are the megabytes of memory that the process took at most before the work beside.
    """

    without: float
    run: float
    totals: float
    totals_again: float
    page: float
    later_page: float
    peak: float
    plain_sql: float
    exact_sql: float
    sqlite: SqliteCost

    def times(self) -> dict[str, float]:
        """The seconds of each work of the server, by its name."""
        return {
            "an execution without kept rows": self.without,
            "an execution with kept rows": self.run,
            "totals by month, again": self.totals_again,
            "a page of 50 by key": self.page,
        }


async def compare(store: Store, folder: Path, rows: int, parts: int) -> KeptRowsCost:
    await create_groups(store)
    plain = await pipeline_in(store, name="plain", transformer=PLAIN)
    kept = await pipeline_in(store, name="kept", transformer=KEPT)
    each = rows // parts
    without = await run_part(store, plain, 0, each)
    spent = [await run_part(store, kept, part, each) for part in range(parts)]
    session = store.open_session(ANN)
    first, _ = await measure(session.kept_rows.totals(kept, RowFilter(), MONTHLY, Window()))
    again, page = await measure(session.kept_rows.totals(kept, RowFilter(), MONTHLY, Window()))
    assert len(page.entries) == 20
    spent_page, rows_page = await measure(
        session.kept_rows.page(kept, RowFilter(), Window(size=50))
    )
    assert len(rows_page.entries) == 50
    behind = Window(size=50, after=rows_page.entries[-1][0])
    spent_behind, _ = await measure(session.kept_rows.page(kept, RowFilter(), behind))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    files = find_parquet(folder)
    assert len(files) == parts
    doubles, decimals = (measure_duckdb(files, type) for type in ("DOUBLE", "DECIMAL(38, 10)"))
    beside = measure_sqlite(files, folder)
    return KeptRowsCost(
        without=without,
        run=min(spent),
        totals=first,
        totals_again=again,
        page=spent_page,
        later_page=spent_behind,
        peak=peak,
        plain_sql=doubles,
        exact_sql=decimals,
        sqlite=beside,
    )


def find_parquet(folder: Path) -> list[str]:
    """The files of kept rows as they are stored, in the order of their executions."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    parquet = [str(path) for path in found if path.read_bytes()[:4] == b"PAR1"]
    first = "SELECT min(_execution) FROM read_parquet($file)"
    return sorted(parquet, key=lambda file: str(duckdb.execute(first, {"file": file}).fetchone()))


def measure_duckdb(files: Sequence[str], type: str) -> float:
    """The same sums by plain SQL over the same files, of the latest of each key."""
    connection = duckdb.connect(":memory:", config={"threads": THREADS})
    sql = f"""SELECT date_trunc('month', _time), sum(CAST(kwh AS {type})) FROM (
      SELECT _key, arg_max(_time, _execution) AS _time, arg_max(kwh, _execution) AS kwh
      FROM read_parquet($files) GROUP BY _key) GROUP BY 1 ORDER BY 1"""
    for _ in range(2):
        started = process_time()
        connection.execute(sql, {"files": list(files)}).fetchall()
        spent = process_time() - started
    return spent


async def measure_store(rows: int, parts: int) -> KeptRowsCost:
    """Measure a new embedded store with so many rows, which come in parts."""
    with TemporaryDirectory() as folder:
        files = await LocalFiles.open(Path(folder) / "files", base_url="http://x", key=b"k" * 32)
        async with open_table("sqlite", Path(folder)) as table:
            cost = await compare(Store(table, files=files), Path(folder), rows, parts)
        await files.close()
    return cost


def cost_table(rows: int, parts: int, cost: KeptRowsCost) -> str:
    """The times of one size, below the memory of the process."""
    write, totals, page = cost.sqlite
    ratio = cost.run / cost.without
    plain = f"{cost.plain_sql:.2f} s as doubles, {cost.exact_sql:.2f} s as decimals"
    lines = [
        (
            f"an execution of {rows // parts:,} rows that are kept; in SQLite their write alone",
            *(f"{cost.run:.2f} s, {ratio:.2f} times one without", "", f"{write:.2f} s"),
        ),
        (
            "totals by month: exact here, as doubles in SQLite; again",
            *(f"{cost.totals:.2f} s; {cost.totals_again:.2f} s", plain, f"{totals:.2f} s"),
        ),
        (
            "a page of 50 rows in the order of their keys; the next one",
            *(f"{cost.page:.2f} s; {cost.later_page:.2f} s", "", f"{page:.4f} s"),
        ),
        ("memory", f"{cost.peak:,.0f} MB", "", ""),
    ]
    return format_table(f"{rows:,} rows in {parts} parts | Penstock | plain SQL | SQLite", lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.kept_rows", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_100_000)
    parser.add_argument("--parts", type=int, default=10)
    parser.add_argument("--mark", default=MARK, help="of the table in the page")
    add_write_option(parser)
    options = parser.parse_args(arguments)
    cost = asyncio.run(measure_store(options.rows, options.parts))
    table = below_machine(cost_table(options.rows, options.parts, cost))
    show_tables({options.mark: table}, options.write)


if __name__ == "__main__":
    main()
