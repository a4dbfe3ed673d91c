"""The same rows computed from a file to a file by others: Python by hand, and DuckDB.

They do without what the product does for each row: neither says why a row fails, and DuckDB
computes with decimals of fixed width.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Final, NamedTuple, TypeAlias

from benchmarks.executions.one_core import Case

Compute: TypeAlias = Callable[[Path, Path], None]

_DIESEL, _OTHER = Decimal("0.171"), Decimal("0.192")
_THOUSANDTH: Final = Decimal("0.001")


def _compute_trips(rows: Iterator[Sequence[str]]) -> Iterator[Sequence[object]]:
    for day, distance, passengers, fuel in rows:
        try:
            pkm = Decimal(distance) * Decimal(passengers)
        except InvalidOperation:
            continue
        year, month, date = day.split("-")
        time = int(datetime(int(year), int(month), int(date), tzinfo=UTC).timestamp() * 1000)
        co2 = pkm * (_DIESEL if fuel == "diesel" else _OTHER)
        tonnes = (co2 / 1000).quantize(_THOUSANDTH, ROUND_HALF_UP)
        yield time, pkm, co2, tonnes, fuel.upper(), "high" if co2 > 100 else "low"


def _compute_activities(rows: Iterator[Sequence[str]]) -> Iterator[Sequence[object]]:
    for day, activity, factor in rows:
        try:
            co2e = Decimal(activity) * Decimal(factor)
        except InvalidOperation:
            continue
        month, date, year = day.split("/")
        time = datetime(2000 + int(year), int(month), int(date))
        yield f"{time.isoformat(timespec='milliseconds')}Z", co2e


def _by_hand(
    compute: Callable[[Iterator[Sequence[str]]], Iterator[Sequence[object]]],
) -> Compute:
    def compute_file(source: Path, target: Path) -> None:
        with source.open(newline="") as rows, target.open("w", newline="") as output:
            reader = csv.reader(rows)
            next(reader)
            csv.writer(output).writerows(compute(reader))

    return compute_file


_TRIPS: Final = """
SELECT epoch_ms(strptime(date, '%Y-%m-%d')), pkm, co2, round(co2 * 0.001, 3), upper(fuel),
  CASE WHEN co2 > 100 THEN 'high' ELSE 'low' END
FROM (
  SELECT *, pkm * CASE WHEN fuel = 'diesel' THEN 0.171 ELSE 0.192 END AS co2
  FROM (
    SELECT date, fuel,
      try_cast(distance AS DECIMAL(12, 2)) * try_cast(passengers AS DECIMAL(6, 0)) AS pkm
    FROM {rows}
  ) WHERE pkm IS NOT NULL
)
"""
_ACTIVITIES: Final = """
SELECT strftime(strptime("Date", '%m/%d/%y'), '%Y-%m-%dT%H:%M:%S.000Z'), co2e
FROM (
  SELECT *, try_cast("Activity" AS DECIMAL(12, 2)) * "Emission factor"::DECIMAL(6, 3) AS co2e
  FROM {rows}
) WHERE co2e IS NOT NULL
"""


def _by_duckdb(query: str) -> Compute:
    def compute_file(source: Path, target: Path) -> None:
        import duckdb  # noqa: PLC0415 - it comes with an extra

        rows = f"read_csv('{source}', header = true, all_varchar = true)"
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.execute(f"COPY ({query.format(rows=rows)}) TO '{target}' (HEADER false)")

    return compute_file


BY_HAND: Final = "by hand"
DUCKDB: Final = "DuckDB"
PEERS: Final = {
    "six": {BY_HAND: _by_hand(_compute_trips), DUCKDB: _by_duckdb(_TRIPS)},
    "sample": {BY_HAND: _by_hand(_compute_activities), DUCKDB: _by_duckdb(_ACTIVITIES)},
}
"""The peers of each case, by their names."""


class PeerCost(NamedTuple):
    """The processor seconds of a peer, and the rows that it wrote."""

    seconds: float
    written: int


def measure_peer(case: Case, compute: Compute, rows: int) -> PeerCost:
    """Let a peer compute so many rows of a case."""
    with TemporaryDirectory() as folder:
        source, target = Path(folder, "rows.csv"), Path(folder, "output.csv")
        with source.open("wb") as file:
            file.writelines(case.chunks(rows))
        began = process_time()
        compute(source, target)
        return PeerCost(process_time() - began, target.read_bytes().count(b"\n"))
