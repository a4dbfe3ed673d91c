"""Measures executions: rows a second of a core, the stages of a row, large files, and memory.

The rows of two pipelines go from bytes to bytes, in alternating rounds with the first product, if
the history is there, with Python by hand and with DuckDB. Then a large file goes through a server
with one core, with all cores, and on Dask. `benchmarks.large_file` measures the memory.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.executions.rates import EARLIER, earlier_product, measure_rates, rate_table
from benchmarks.executions.server_runs import measure_runs, run_table
from benchmarks.executions.stages import measure_all_stages, stage_table
from benchmarks.page_tables import add_write_option, below_machine, show_tables

LEAST_TIMES = 3.0
"""How many times as many rows as the first product this one has to transform."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.executions", description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000, help="of each pipeline, on a core")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", type=int, default=1_500_000, help="rows of the large file")
    parser.add_argument("--earlier", default=EARLIER, help="the commit of the first product")
    add_write_option(parser)
    parser.add_argument(
        "--check", action="store_true", help=f"exit with 1 below {LEAST_TIMES:g} times"
    )
    options = parser.parse_args(arguments)
    with earlier_product(options.earlier) as earlier:
        rates = measure_rates(options.rows, options.rounds, earlier)
    stages = measure_all_stages(options.rows)
    with TemporaryDirectory() as folder:
        runs = measure_runs(options.large, Path(folder))
    tables = {
        "execution rates": below_machine(rate_table(rates)),
        "execution stages": stage_table(stages),
        "execution runs": run_table(runs),
    }
    show_tables(tables, options.write)
    times = [one.now / one.earlier for one in rates.values() if one.earlier is not None]
    return int(options.check and min(times, default=0.0) < LEAST_TIMES)


if __name__ == "__main__":
    sys.exit(main())
