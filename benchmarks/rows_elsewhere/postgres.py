"""The rows that a pipeline keeps, in a table of Postgres: to compare `benchmarks.kept_rows` with.

The rows are those that `benchmarks.kept_rows` makes of the same numbers, on a server and a database
of your own, which `POSTGRES_URL` names; `psql` is the client. Times are seconds by the clock of the
server, without parallel workers. The table `kept_rows_benchmark` has the latest state of each key
alone, with exact numbers; it is removed.
"""

import argparse
import asyncio
import os
import re
import subprocess
from collections.abc import Sequence
from typing import Final, NamedTuple

from benchmarks.kept_rows import lines_of
from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)

MARK: Final = "kept rows in postgres"
CREATE: Final = """SET client_min_messages = warning;
DROP TABLE IF EXISTS kept_rows_benchmark;
CREATE TABLE kept_rows_benchmark (meter text, day date, kwh numeric, PRIMARY KEY (meter, day));"""
LOAD: Final = """CREATE TEMP TABLE part (meter text, day date, kwh numeric);
COPY part FROM STDIN CSV HEADER;
{rows}\\.
EXPLAIN (ANALYZE, TIMING OFF) INSERT INTO kept_rows_benchmark
SELECT meter, day, kwh * 1.25 FROM part
ON CONFLICT (meter, day) DO UPDATE SET kwh = excluded.kwh;"""
READ: Final = """ANALYZE kept_rows_benchmark;
SET max_parallel_workers_per_gather = 0;
EXPLAIN (ANALYZE, TIMING OFF) SELECT date_trunc('month', day), sum(kwh) FROM kept_rows_benchmark
GROUP BY 1 ORDER BY 1;
EXPLAIN (ANALYZE, TIMING OFF) SELECT * FROM kept_rows_benchmark ORDER BY meter, day LIMIT 50;
DROP TABLE kept_rows_benchmark;"""
_time: Final = re.compile(r"Execution Time: ([0-9.]+) ms")


class PostgresCost(NamedTuple):
    """The seconds of the last part that is written, of the totals and of a page."""

    write: float
    totals: float
    page: float


async def measure_postgres(url: str, rows: int, parts: int) -> PostgresCost:
    """Write the parts one after another, then read as the server does."""
    run_statements(url, CREATE)
    for part in range(parts):
        chunks = [chunk async for chunk in lines_of(part, rows // parts)]
        (write,) = run_statements(url, LOAD.format(rows=b"".join(chunks).decode()))
    totals, page = run_statements(url, READ)
    return PostgresCost(write, totals, page)


def run_statements(url: str, statements: str) -> list[float]:
    """Run statements; return the seconds of those that are explained."""
    command = ["psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", url]
    found = subprocess.run(command, input=statements, capture_output=True, text=True, check=True)
    return [float(text) / 1000 for text in _time.findall(found.stdout)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.rows_elsewhere.postgres", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_100_000)
    parser.add_argument("--parts", type=int, default=10)
    add_write_option(parser)
    options = parser.parse_args(arguments)
    url = os.environ.get("POSTGRES_URL")
    if url is None:
        parser.error("POSTGRES_URL names no server")
    cost = asyncio.run(measure_postgres(url, options.rows, options.parts))
    rows = [
        (f"the write of {options.rows // options.parts:,} rows", f"{cost.write:.2f} s"),
        ("totals by month", f"{cost.totals:.2f} s"),
        ("a page of 50 rows in the order of their keys", f"{cost.page:.4f} s"),
    ]
    head = f"{options.rows:,} rows in {options.parts} parts | Postgres {read_version(url)}"
    show_tables({MARK: below_machine(format_table(head, rows))}, options.write)


def read_version(url: str) -> str:
    command = ["psql", "--no-psqlrc", "--tuples-only", "--no-align", url]
    asked = [*command, "--command", "SHOW server_version"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True)
    return found.stdout.split()[0]


if __name__ == "__main__":
    main()
