"""Input files for the sample pipelines: made up, the same ones each time."""

from collections.abc import Iterator
from decimal import Decimal

HEADER = "Date,Activity,Emission factor"
BAD_EVERY = 1000


def sample_rows(count: int) -> Iterator[str]:
    """The lines of a file with so many rows; of every thousandth, the activity is no number."""
    yield HEADER
    for n in range(1, count + 1):
        activity = "unknown" if n % BAD_EVERY == 0 else f"{n % 9000 + 1}.{n % 10}"
        yield f"{n % 12 + 1}/{n % 28 + 1}/{20 + n % 7},{activity},0.{100 + n % 400}"


def total(count: int) -> Decimal:
    """What the outputs of the good rows add up to, in kg CO2e."""
    found = Decimal(0)
    for n in range(1, count + 1):
        if n % BAD_EVERY:
            found += Decimal(f"{n % 9000 + 1}.{n % 10}") * Decimal(f"0.{100 + n % 400}")
    return found
