"""Plans and files that the tests of `transform` share, and functions that run them."""

from collections.abc import Iterable, Mapping
from csv import reader
from io import StringIO

from penstock.formula.core.datasets import KeyedRows
from penstock.formula.core.values import FormulaType
from penstock.transform.csv_transform import CsvTransform, RowTransform
from penstock.transform.outcome import OutputChunk, TransformEnding
from penstock.transform.plan import Column, FormulaStep, TransformPlan
from penstock.transform.program import NO_DATA, Program

NUMBER, STRING, BOOLEAN = FormulaType.NUMBER, FormulaType.STRING, FormulaType.BOOLEAN

TRIPS = TransformPlan(
    columns=(Column("distance", NUMBER, required=True), Column("fuel", STRING, label="Fuel type")),
    steps=(
        FormulaStep(":distance * 2", "there and back", NUMBER, "return"),
        FormulaStep("IF(:fuel == 'gas', REF('return') / 4, 0)", "co2", NUMBER),
    ),
)
HEADER = b"distance,Fuel type\n"
OUTPUT = "there and back,co2\r\n"
ERRORS = "row,column,code,message"


def run_chunks(
    transform: RowTransform, chunks: Iterable[bytes]
) -> tuple[str, str, TransformEnding]:
    """Run a transform over chunks; return both files as text, and its ending."""
    written = OutputChunk()
    for chunk in chunks:
        written = take_waiting(transform, written.concat(transform.feed(chunk)))
    written = take_waiting(transform, written.concat(transform.finish()))
    ending = transform.ending
    assert ending.counts.bytes_written == len(written.output) + len(written.errors)
    return written.output.decode(), written.errors.decode(), ending


def take_waiting(transform: RowTransform, written: OutputChunk) -> OutputChunk:
    """Return the results with those of the rows that wait."""
    while transform.has_more:
        written = written.concat(transform.take_more())
    return written


def run(
    data: bytes,
    plan: TransformPlan = TRIPS,
    max_failed: int | None = None,
    datasets: Mapping[str, KeyedRows] = NO_DATA,
) -> tuple[str, str, TransformEnding]:
    return run_chunks(CsvTransform(Program(plan, datasets), max_failed), [data])


def rows(*lines: str) -> bytes:
    return HEADER + "".join(f"{line}\n" for line in lines).encode()


def errors(text: str) -> list[list[str]]:
    """Read the lines of an errors file; leave the rows out."""
    assert text.startswith(ERRORS)
    return [line[:4] for line in reader(StringIO(text, newline=""))][1:]


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]
