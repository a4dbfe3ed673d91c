"""Measures the rows of a file that one core transforms in a second, and the memory.

The file is generated while it is read, in chunks of 256 KB, and the output is dropped; only the
transform's processor time counts. A file of 2 GB has about 110,000,000 rows.

Beside it, the same rows are computed by hand, with Python's csv and decimal, and by DuckDB with one
thread and decimals of fixed width: what no engine in Python comes near, and what a vectorised one
in C++ does. Neither says why a row fails.
"""

import argparse
import csv
import resource
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple

import penstock.server  # noqa: F401 - garbage is collected as seldom as in a worker
from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from penstock.formula.core.values import FormulaType
from penstock.transform.csv_transform import CsvTransform
from penstock.transform.outcome import RowCounts
from penstock.transform.plan import Column, FormulaStep, TransformPlan
from penstock.transform.program import Program

MARK = "transform"
CHUNK = 256 * 1024
NUMBER, STRING = FormulaType.NUMBER, FormulaType.STRING
PLAN = TransformPlan(
    columns=(
        Column("distance", NUMBER, required=True),
        Column("passengers", NUMBER, required=True),
        Column("fuel", STRING),
    ),
    steps=(
        FormulaStep(":distance * :passengers", "pkm", NUMBER, "pkm"),
        FormulaStep("REF('pkm') * IF(:fuel == 'diesel', 0.171, 0.192)", "co2", NUMBER, "co2"),
        FormulaStep("UPPERCASE(:fuel)", "fuel", STRING),
    ),
)
FUELS = ("diesel", "petrol", "gas")


def chunks(rows: int) -> Iterator[bytes]:
    """A file with this number of rows, one in a thousand of which lacks a required number."""
    lines, size = ["distance,passengers,fuel"], 0
    for n in range(rows):
        distance = f"{n % 9000}.{n % 10}" if n % 1000 else "far"
        lines.append(f"{distance},{n % 5 + 1},{FUELS[n % 3]}")
        size += len(lines[-1]) + 1
        if size >= CHUNK:
            yield ("\n".join(lines) + "\n").encode()
            lines, size = [], 0
    yield ("\n".join(lines) + "\n").encode()


class TransformCost(NamedTuple):
    """The processor seconds of a file, and its counts."""

    seconds: float
    counts: RowCounts


def measure(rows: int) -> TransformCost:
    """Send a file with so many rows through the pipeline."""
    transform = CsvTransform(Program(PLAN))
    spent = 0.0
    for chunk in chunks(rows):
        started = process_time()
        transform.feed(chunk)
        spent += process_time() - started
    transform.finish()
    return TransformCost(spent, transform.ending.counts)


def compute_by_hand(source: Path, target: Path) -> None:
    """Compute the rows of a file as somebody would write it for these formulas alone."""
    diesel, other = Decimal("0.171"), Decimal("0.192")
    with source.open(newline="") as rows, target.open("w", newline="") as output:
        write = csv.writer(output).writerow
        for distance, passengers, fuel in csv.reader(rows):
            try:
                pkm = Decimal(distance) * Decimal(passengers)
            except InvalidOperation:
                continue
            write((pkm, pkm * (diesel if fuel == "diesel" else other), fuel.upper()))


IN_SQL = """
COPY (
  SELECT pkm, pkm * CASE WHEN fuel = 'diesel' THEN 0.171 ELSE 0.192 END AS co2, upper(fuel)
  FROM (
    SELECT try_cast(distance AS DECIMAL(12, 2)) * try_cast(passengers AS DECIMAL(6, 0)) AS pkm, fuel
    FROM read_csv('{source}', header = true, all_varchar = true)
  ) WHERE pkm IS NOT NULL
) TO '{target}' (HEADER false)
"""


def compute_by_duckdb(source: Path, target: Path) -> None:
    import duckdb  # noqa: PLC0415 - it comes with an extra

    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(IN_SQL.format(source=source, target=target))


PEERS: dict[str, Callable[[Path, Path], None]] = {
    "by hand": compute_by_hand,
    "DuckDB": compute_by_duckdb,
}


def measure_peers(rows: int) -> dict[str, TransformCost]:
    """Let each peer compute the same rows from a file to a file."""
    found = {}
    with TemporaryDirectory() as folder:
        source, target = Path(folder, "rows.csv"), Path(folder, "output.csv")
        with source.open("wb") as file:
            file.writelines(chunks(rows))
        for name, compute in PEERS.items():
            started = process_time()
            compute(source, target)
            spent = process_time() - started
            done = target.read_bytes().count(b"\n")
            read, written = source.stat().st_size, target.stat().st_size
            found[name] = TransformCost(spent, RowCounts(rows, done, rows - done, read, written))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.transform", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    add_write_option(parser)
    options = parser.parse_args(arguments)
    ours = measure(options.rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"Penstock": ours} | measure_peers(options.rows)
    rows = []
    for name, one in found.items():
        assert one.counts.succeeded == ours.counts.succeeded
        rate, megabytes = options.rows / one.seconds, one.counts.bytes_read / one.seconds / 1e6
        memory = f"{peak:,.0f}" if one is ours else ""
        times = f"{ours.seconds / one.seconds:.2f}"
        rows.append((name, f"{rate:,.0f}", f"{megabytes:.1f}", times, memory))
    head = f"{options.rows:,} rows on one core | rows/s | MB/s | times as fast | MB of memory"
    show_tables({MARK: below_machine(format_table(head, rows))}, options.write)


if __name__ == "__main__":
    main()
