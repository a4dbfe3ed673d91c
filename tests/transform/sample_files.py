"""Plans and files that the tests of `transform` share, and functions that run them."""

from collections.abc import Iterable, Mapping, Sequence

from penstock.formula.core.datasets import Rows
from penstock.formula.core.values import ValueType
from penstock.transform.csv_transform import CsvTransform, Transform
from penstock.transform.outcome import Ending, Written
from penstock.transform.plan import Column, Plan, Step
from penstock.transform.program import NO_DATA, Program

NUMBER, STRING, BOOLEAN = ValueType.NUMBER, ValueType.STRING, ValueType.BOOLEAN

TRIPS = Plan(
    columns=(
        Column("distance", NUMBER, required=True),
        Column("fuel", STRING, label="Fuel type"),
    ),
    steps=(
        Step(":distance * 2", "there and back", NUMBER, "return"),
        Step("IF(:fuel == 'gas', REF('return') / 4, 0)", "co2", NUMBER),
    ),
)
HEADER = b"distance,Fuel type\n"
OUTPUT = "there and back,co2\r\n"
ERRORS = "row,column,code,message\r\n"


def fed(transform: Transform, chunks: Iterable[bytes]) -> tuple[str, str, Ending]:
    """Run a transform over chunks; return both files as text, and its ending."""
    written = Written()
    for chunk in chunks:
        written = written.then(transform.feed(chunk))
    written = written.then(transform.finish())
    ending = transform.ending
    assert ending.counts.bytes_written == len(written.output) + len(written.errors)
    return written.output.decode(), written.errors.decode(), ending


def run(
    data: bytes,
    plan: Plan = TRIPS,
    max_failed: int | None = None,
    datasets: Mapping[str, Rows] = NO_DATA,
) -> tuple[str, str, Ending]:
    return fed(CsvTransform(Program(plan, datasets), max_failed), [data])


def rows(*lines: str) -> bytes:
    return HEADER + "".join(f"{line}\n" for line in lines).encode()


def errors(text: str) -> list[Sequence[str]]:
    """Split the lines of an errors file whose messages contain no commas."""
    assert text.startswith(ERRORS)
    return [line.split(",", 3) for line in text.removeprefix(ERRORS).splitlines()]


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]
