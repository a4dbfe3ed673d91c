"""The rows that a pipeline keeps, in a table of SQLite: to compare `benchmarks.kept_rows` with.

The table has the latest state of each key alone, without history, groups and exact decimals.
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Final, NamedTuple

import duckdb

TABLE: Final = (
    "CREATE TABLE kept (meter TEXT, day INTEGER, kwh REAL, PRIMARY KEY (meter, day)) WITHOUT ROWID"
)
UPSERT: Final = "INSERT OR REPLACE INTO kept VALUES (?, ?, ?)"
TOTALS: Final = (
    "SELECT strftime('%Y-%m', day / 1000, 'unixepoch'), sum(kwh) FROM kept GROUP BY 1 ORDER BY 1"
)
PAGE: Final = "SELECT * FROM kept ORDER BY meter, day LIMIT 50"
FILE_ROWS: Final = """SELECT meter, CAST(day AS BIGINT), CAST(kwh AS DOUBLE)
  FROM read_parquet($file) ORDER BY _row"""


class SqliteCost(NamedTuple):
    """The processor seconds of the last part that is written, of the totals and of a page."""

    write: float
    totals: float
    page: float


def measure_sqlite(files: Sequence[str], folder: Path) -> SqliteCost:
    """Write the rows of the files in their order, then read them as the server does."""
    connection = sqlite3.connect(folder / "rows.sqlite")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(TABLE)
    for file in files:
        rows = duckdb.execute(FILE_ROWS, {"file": file}).fetchall()
        write, _ = _measure(connection, UPSERT, rows)
    totals, months = _measure(connection, TOTALS)
    page, shown = _measure(connection, PAGE)
    connection.close()
    assert months
    assert len(shown) == 50
    return SqliteCost(write, totals, page)


def _measure(
    connection: sqlite3.Connection, sql: str, rows: Sequence[tuple[object, ...]] = ()
) -> tuple[float, list[tuple[object, ...]]]:
    started = process_time()
    found = connection.executemany(sql, rows) if rows else connection.execute(sql)
    fetched = [] if rows else found.fetchall()
    connection.commit()
    return process_time() - started, fetched
