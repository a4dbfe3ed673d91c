"""The rows that a pipeline keeps, in a table of Postgres: to compare `benchmarks.kept_rows` with.

Run as `python -m benchmarks.rows_elsewhere.postgres URL [rows] [parts]`, with the rows that
`benchmarks.kept_rows` makes of the same numbers, on a server and a database of your own; `psql` is
the client. It prints seconds by the clock of the server, without parallel workers. The table
`kept_rows_benchmark` has the latest state of each key alone, with exact numbers; it is removed.
"""

import asyncio
import re
import subprocess
import sys
from typing import Final, NamedTuple

from benchmarks.kept_rows import lines_of

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


def main() -> None:
    url = sys.argv[1]
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    parts = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    cost = asyncio.run(measure_postgres(url, rows, parts))
    print(f"Postgres: write {rows // parts:,} rows {cost.write:.2f} s, ", end="")
    print(f"totals {cost.totals:.2f} s, a page {cost.page:.4f} s")


if __name__ == "__main__":
    main()
