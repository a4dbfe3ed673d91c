"""Measures the rows per second that one core evaluates: compiled once, and parsed for each row.

There are three rounds, in which the variants take
turns; times are processor times. "From datasets" looks factors up in reference datasets of 1,000
rows that were read from their files. "By the server" is the work of `evaluate` below GraphQL, for
1,000 rows at a time, reading the table each time.

Beside them, the same formulas are written in Python by hand, and computed by DuckDB with one thread
and decimals of fixed width, over a table that it holds in memory. Neither explains a value, or says
what is wrong with a row.
"""

import argparse
import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from decimal import Decimal
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from penstock.datastore import records
from penstock.datastore.evaluation.evaluations import Evaluations
from penstock.datastore.evaluation.evaluator import MAX_ROWS, PreparedFormula
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.records import DatasetColumn, Output
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.formula.checking.check import Surroundings
from penstock.formula.checking.linker import link
from penstock.formula.core.datasets import LATEST, InMemoryDatasets
from penstock.formula.core.values import FormulaParameter, FormulaType
from penstock.formula.evaluate import CompiledFormula, Row, compile_formula
from penstock.formula.syntax.parser import parse_uncached

MARK = "formula"
ROUNDS = 3
MORE = 20
"""How many times as many rows DuckDB computes, whose time could not be told from nothing else."""

Work = Callable[[], Awaitable[None] | None]
NUMBER, STRING = FormulaType.NUMBER, FormulaType.STRING
TRIVIAL = ":a*:b"
TRIVIAL_AROUND = Surroundings(
    (FormulaParameter("a", NUMBER), FormulaParameter("b", NUMBER)), NUMBER
)
VEHICLE = (
    "IF(COALESCE(:passengers,0)>0,"
    "IMPACT('passenger_vehicles',:vehicleType,:pollutant)*:distance*:passengers,"
    "IMPACT('vehicles',:vehicleType,:pollutant)*:distance)"
)
VEHICLE_AROUND = Surroundings(
    (
        FormulaParameter("vehicleType", STRING),
        FormulaParameter("pollutant", STRING),
        FormulaParameter("distance", NUMBER),
        FormulaParameter("passengers", NUMBER, required=False),
    ),
    NUMBER,
)
FACTORS = {(kind, "co2"): Decimal("0.175") for kind in ("car", "van", "bus")}
DATA = InMemoryDatasets(
    impacts={("passenger_vehicles", LATEST): FACTORS, ("vehicles", LATEST): FACTORS}
)


def trivial_rows(count: int) -> list[Row]:
    return [{"a": Decimal(n) / 8, "b": Decimal("1.5")} for n in range(count)]


def vehicle_rows(count: int) -> list[Row]:
    kinds = ("car", "van", "bus")
    return [
        {
            "vehicleType": kinds[n % 3],
            "pollutant": "co2",
            "distance": Decimal(n) / 8,
            "passengers": Decimal(n % 4) if n % 2 else None,
        }
        for n in range(count)
    ]


def run_compiled(text: str, around: Surroundings, rows: Sequence[Row]) -> None:
    results = compile_formula(text, around).run_all(rows, DATA)
    assert not results.errors


def run_uncached(text: str, around: Surroundings, rows: Sequence[Row]) -> None:
    for row in rows:
        CompiledFormula(link(parse_uncached(text), around)).run(row, DATA)


def run_with_datasets(prepared: PreparedFormula, rows: Sequence[Row]) -> None:
    compiled = compile_formula(prepared.text, prepared.surroundings)
    assert not compiled.run_all(rows, prepared.lookups).errors


async def prepare(evaluations: Evaluations) -> PreparedFormula:
    parameters = [
        records.Parameter(
            index=n, key=one.key, type=records.ValueType(one.type), required=one.required
        )
        for n, one in enumerate(VEHICLE_AROUND.parameters)
    ]
    output = Output(index=0, type=records.ValueType.NUMBER)
    return await evaluations.prepare_draft(ROOT, VEHICLE, parameters, [output])


@asynccontextmanager
async def open_evaluations() -> AsyncIterator[Evaluations]:
    """A store with both datasets of the formula, each of 1,000 rows."""
    with TemporaryDirectory() as folder:
        table = SqliteTable.open(Path(folder) / "table.db")
        await table.create()
        files = await LocalFiles.open(Path(folder) / "files", base_url="http://x", key=b"k" * 32)
        session = Store(table, files=files).open_session(Caller("bench", {ROOT: Role.ADMIN}, ROOT))
        columns = [
            DatasetColumn(name="vehicle", type=records.ValueType.STRING),
            DatasetColumn(name="co2", type=records.ValueType.NUMBER),
        ]
        kinds = ("car", "van", "bus", *(f"kind {n}" for n in range(997)))
        csv = "vehicle,co2\n" + "".join(f"{kind},0.175\n" for kind in kinds)
        for name in ("vehicles", "passenger_vehicles"):
            brought = await session.dataset_files.check_text(columns, None, csv)
            writing = session.datasets.writing.with_attachment(brought.file)
            content = {"name": name, "tags": (), "content": brought.content}
            await writing.create(ROOT, content, None)
        yield session.evaluations
        await files.close()
        await table.close()


async def run_by_server(evaluations: Evaluations, rows: Sequence[Row]) -> None:
    for start in range(0, len(rows), MAX_ROWS):
        prepared = await prepare(evaluations)
        assert not (await prepared.evaluate(rows[start : start + MAX_ROWS])).errors


def compute_trivial_by_hand(rows: Sequence[Row]) -> None:
    [row["a"] * row["b"] for row in rows]  # type: ignore[operator]


def compute_vehicle_by_hand(rows: Sequence[Row]) -> None:
    for row in rows:
        passengers, factor = row["passengers"], FACTORS[row["vehicleType"], row["pollutant"]]  # type: ignore[index]
        if passengers is not None and passengers > 0:  # type: ignore[operator]
            factor * row["distance"] * passengers  # type: ignore[operator]
        else:
            factor * row["distance"]  # type: ignore[operator]


IN_SQL = {
    "trivial": "SELECT sum((distance * 1.5::DECIMAL(2, 1))) FROM trips",
    "vehicle": """
SELECT sum(
  CASE WHEN coalesce(passengers, 0) > 0
  THEN factor * distance * passengers ELSE factor * distance END
) FROM trips JOIN factors USING (kind, pollutant)
""",
}
"""Each formula over all rows; the sum keeps it from writing them."""


@contextmanager
def open_duckdb(count: int) -> Iterator[Callable[[str], None]]:
    """Fill tables in memory with the rows of the formulas; give a function that runs one."""
    import duckdb  # noqa: PLC0415 - it comes with an extra

    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(f"""
CREATE TABLE trips AS SELECT
  ['car', 'van', 'bus'][n % 3 + 1] AS kind, 'co2' AS pollutant,
  (n::DECIMAL(12, 3) / 8)::DECIMAL(12, 3) AS distance,
  CASE WHEN n % 2 = 1 THEN (n % 4)::DECIMAL(6, 0) END AS passengers
FROM range({count}) rows(n);
CREATE TABLE factors AS SELECT unnest(['car', 'van', 'bus']) AS kind, 'co2' AS pollutant,
  0.175::DECIMAL(4, 3) AS factor;
""")

        def run(formula: str) -> None:
            connection.execute(IN_SQL[formula]).fetchall()

        yield run


async def measure_rate(work: Work, rows: int) -> float:
    gc.collect()
    started = process_time()
    going_on = work()
    if going_on is not None:
        await going_on
    return rows / (process_time() - started)


def variants(count: int) -> dict[str, tuple[Work, int]]:
    few = max(1, count // 500)
    trivial, vehicle = trivial_rows(count), vehicle_rows(count)
    return {
        "trivial, compiled once": (lambda: run_compiled(TRIVIAL, TRIVIAL_AROUND, trivial), count),
        "trivial, read anew": (lambda: run_uncached(TRIVIAL, TRIVIAL_AROUND, trivial[:few]), few),
        "vehicle, compiled once": (lambda: run_compiled(VEHICLE, VEHICLE_AROUND, vehicle), count),
        "vehicle, read anew": (lambda: run_uncached(VEHICLE, VEHICLE_AROUND, vehicle[:few]), few),
        "trivial, by hand": (lambda: compute_trivial_by_hand(trivial), count),
        "vehicle, by hand": (lambda: compute_vehicle_by_hand(vehicle), count),
    }


async def measure(count: int) -> dict[str, list[float]]:
    measured: dict[str, list[float]] = {}
    async with AsyncExitStack() as stack:
        evaluations = await stack.enter_async_context(open_evaluations())
        compute = stack.enter_context(open_duckdb(count * MORE))
        prepared, rows = await prepare(evaluations), vehicle_rows(count)
        chosen = variants(count) | {
            "vehicle, from datasets": (lambda: run_with_datasets(prepared, rows), count),
            "vehicle, by the server": (lambda: run_by_server(evaluations, rows), count),
            "trivial, DuckDB": (lambda: compute("trivial"), count * MORE),
            "vehicle, DuckDB": (lambda: compute("vehicle"), count * MORE),
        }
        for _ in range(ROUNDS):
            for name, (work, rows_of) in chosen.items():
                measured.setdefault(name, []).append(await measure_rate(work, rows_of))
    return measured


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.formula", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    add_write_option(parser)
    options = parser.parse_args(arguments)
    rows = [
        (name, *(f"{number:,.0f}" for number in (min(rates), median(rates), max(rates))))
        for name, rates in asyncio.run(measure(options.rows)).items()
    ]
    table = format_table("rows/s of one core | least | median | most", rows)
    show_tables({MARK: below_machine(table)}, options.write)


if __name__ == "__main__":
    main()
