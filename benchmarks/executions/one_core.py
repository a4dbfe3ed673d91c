"""Sends the rows of a case through the transform of one core, from bytes to bytes.

It also runs by itself, as `python one_core.py CASE ROWS`, and then imports nothing but the product,
so that it measures an earlier one as well: the one that comes first on the path of Python.
"""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from time import process_time
from typing import Final, NamedTuple

import penstock.server  # noqa: F401 - garbage is collected as seldom as in a worker
from penstock.formula.core.values import FormulaType
from penstock.transform.csv_transform import CsvTransform
from penstock.transform.plan import Column, FormulaStep, TransformPlan
from penstock.transform.program import Program

CHUNK: Final = 256 * 1024
BAD_EVERY: Final = 1_000
NUMBER, STRING, TIMESTAMP = FormulaType.NUMBER, FormulaType.STRING, FormulaType.TIMESTAMP
_FUELS: Final = ("diesel", "petrol", "gas")


class Case(NamedTuple):
    """A pipeline, and the rows that it is measured with; `row` makes one by its number."""

    title: str
    plan: TransformPlan
    header: str
    row: Callable[[int], str]

    def lines(self, rows: int) -> Iterator[str]:
        """Yield the lines of a file with so many rows."""
        yield self.header
        yield from map(self.row, range(1, rows + 1))

    def chunks(self, rows: int) -> Iterator[bytes]:
        """Yield the bytes of a file with so many rows."""
        waiting: list[str] = []
        size = 0
        for line in self.lines(rows):
            waiting.append(line)
            size += len(line) + 1
            if size >= CHUNK:
                yield ("\n".join(waiting) + "\n").encode()
                waiting, size = [], 0
        yield ("\n".join(waiting) + "\n").encode()


def _trip(n: int) -> str:
    distance = f"{n % 9000}.{n % 10}" if n % BAD_EVERY else "far"
    return f"2026-{n % 12 + 1:02}-{n % 28 + 1:02},{distance},{n % 5 + 1},{_FUELS[n % 3]}"


def _activity(n: int) -> str:
    activity = f"{n % 9000 + 1}.{n % 10}" if n % BAD_EVERY else "unknown"
    return f"{n % 12 + 1}/{n % 28 + 1}/{20 + n % 7},{activity},0.{100 + n % 400}"


def _sample_plan() -> TransformPlan:
    """The plan of a sample pipeline, with ISO 8601 where the product can write that."""
    columns = (
        Column("date", TIMESTAMP, required=True, label="Date"),
        Column("activity", NUMBER, required=True, label="Activity"),
        Column("factor", NUMBER, required=True, label="Emission factor"),
    )
    steps = (
        FormulaStep("AS_TIMESTAMP(:date,'M/d/yy')", "time", TIMESTAMP, "time"),
        FormulaStep(":activity*:factor", "co2e", NUMBER, "co2e"),
    )
    if "iso_timestamps" in TransformPlan.__struct_fields__:
        return TransformPlan(columns, steps, iso_timestamps=True)
    return TransformPlan(columns, steps)


CASES: Final = {
    "six": Case(
        "six formulas",
        TransformPlan(
            columns=(
                Column("date", TIMESTAMP, required=True),
                Column("distance", NUMBER, required=True),
                Column("passengers", NUMBER, required=True),
                Column("fuel", STRING),
            ),
            steps=(
                FormulaStep("AS_TIMESTAMP(:date, 'yyyy-MM-dd')", "time", TIMESTAMP, "time"),
                FormulaStep(":distance * :passengers", "pkm", NUMBER, "pkm"),
                FormulaStep(
                    "REF('pkm') * IF(:fuel == 'diesel', 0.171, 0.192)", "co2", NUMBER, "co2"
                ),
                FormulaStep("ROUND(REF('co2') / 1000, 3)", "tonnes", NUMBER),
                FormulaStep("UPPERCASE(:fuel)", "fuel", STRING),
                FormulaStep("IF(REF('co2') > 100, 'high', 'low')", "class", STRING),
            ),
        ),
        "date,distance,passengers,fuel",
        _trip,
    ),
    "sample": Case(
        "the sample pipeline", _sample_plan(), "Date,Activity,Emission factor", _activity
    ),
}
"""The two cases with which executions were measured first, by their names."""


class CoreCost(NamedTuple):
    """The processor seconds of a file, the rows that succeeded, and a digest of the output."""

    seconds: float
    succeeded: int
    digest: str


def measure(case: Case, rows: int) -> CoreCost:
    """Send a file with so many rows through a new transform, and digest what comes out."""
    data = list(case.chunks(rows))
    digest = sha256()
    began = process_time()
    transform = CsvTransform(Program(case.plan))
    written = [transform.feed(chunk) for chunk in data]
    written.append(transform.finish())
    seconds = process_time() - began
    for each in written:
        digest.update(each.output)
    return CoreCost(seconds, transform.ending.counts.succeeded, digest.hexdigest())


def main(arguments: Sequence[str]) -> None:
    name, rows = arguments
    print(json.dumps(measure(CASES[name], int(rows))))


if __name__ == "__main__":
    main(sys.argv[1:])
