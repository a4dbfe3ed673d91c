"""Runs all benchmarks in a short form and compares them with the last release.

Each runs in a process of its own. The table has the numbers of the last release beside those of
today. The exit code is 1 if a number is worse by more than a third, after a second try. With
`--whole` each runs at its whole size instead (`make bench BENCH="--whole --help"`).
"""

import argparse
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.page_tables import add_write_option, show_tables
from benchmarks.short_form.benchmarks import BENCHMARKS
from benchmarks.short_form.figures import (
    Figure,
    find_worse,
    measure_machine,
    read_figures,
    relate_times,
    replace_measured,
    table_lines,
    write_figures,
)

MARK: Final = "bench"
LAST: Final = Path(__file__).parent / "last_release.json"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--only", choices=BENCHMARKS, nargs="+", default=list(BENCHMARKS), help="the benchmarks"
    )
    parser.add_argument("--last", type=Path, default=LAST, help="the figures to compare with")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the figures, as JSON")
    add_write_option(parser)
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.in_this_process:
        (name,) = options.only
        with redirect_stdout(sys.stderr):
            figures = measure_here(name)
        sys.stdout.buffer.write(msgspec.json.encode(figures))
        return 0
    last = read_figures(options.last)
    figures = measure_apart(options.only, last)
    show_tables({MARK: "\n".join(table_lines(figures, last))}, options.write)
    if options.save is not None:
        write_figures(options.save, replace_measured(read_figures(options.save), figures))
    worse = find_worse(figures, last)
    for one in worse:
        print(f"worse than the last release: {one.title}", file=sys.stderr)
    return int(bool(worse))


def measure_here(name: str) -> list[Figure]:
    """Measure one benchmark in this process, with the machine's speed before and after it."""
    before = measure_machine()
    figures = BENCHMARKS[name]()
    return relate_times(figures, min(before, measure_machine()))


def measure_apart(names: Iterable[str], last: dict[str, Figure]) -> list[Figure]:
    """Measure each benchmark in a process of its own; once more what seems to be worse."""
    found: list[Figure] = []
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        figures = _measure_in_process(name)
        if find_worse(figures, last):
            again = {one.title: one for one in _measure_in_process(name)}
            pairs = [(one, again[one.title]) for one in figures]
            figures = [min(pair, key=lambda one: one.compared) for pair in pairs]
        found += figures
    return found


def _measure_in_process(name: str) -> list[Figure]:
    command = [sys.executable, "-m", "benchmarks.short_form", "--in-this-process", "--only", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return msgspec.json.decode(done.stdout, type=list[Figure])


if __name__ == "__main__":
    sys.exit(main())
