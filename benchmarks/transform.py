"""Measures the rows of a file that one core transforms in a second, and the memory.

Run as `python -m benchmarks.transform [rows]`; the default is 1,000,000 rows. The file is generated
while it is read, in chunks of 256 KB, and the output is dropped; only the transform's processor
time counts. A file of 2 GB has about 110,000,000 rows.
"""

import resource
import sys
from collections.abc import Iterator
from time import process_time
from typing import NamedTuple

from penstock.formula.core.values import FormulaType
from penstock.transform.csv_transform import CsvTransform
from penstock.transform.outcome import RowCounts
from penstock.transform.plan import Column, FormulaStep, TransformPlan
from penstock.transform.program import Program

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


def main() -> None:
    spent, counts = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{counts.rows:,} rows, {counts.failed:,} of them failed")
    print(f"{counts.bytes_read / 1e6:,.0f} MB in, {counts.bytes_written / 1e6:,.0f} MB out")
    print(
        f"{counts.rows / spent:,.0f} rows/s, {counts.bytes_read / spent / 1e6:,.1f} MB/s on a core"
    )
    print(f"{peak:,.0f} MB of memory at most")


if __name__ == "__main__":
    main()
