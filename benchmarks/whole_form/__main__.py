"""Runs the benchmarks at their whole size, one after the other: `make bench BENCH=--whole`.

With `--write` each puts its tables into its page as soon as it has ended. One that fails leaves its
old tables, and the others go on; the exit code is then 1.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.page_tables import NoPlace, check_marks
from benchmarks.whole_form.registry import BENCHMARKS, ROOT, WholeBenchmark


class Outcome(NamedTuple):
    """The end of a benchmark in words, and its minutes."""

    name: str
    words: str
    minutes: float
    has_failed: bool = False


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make bench BENCH=--whole", description=__doc__)
    add = parser.add_argument
    add("--only", choices=BENCHMARKS, nargs="+", default=list(BENCHMARKS), help="the benchmarks")
    add("--write", action="store_true", help="put the tables into their pages")
    add("--brief", action="store_true", help="with the least work, to see that each one runs")
    add("--list", action="store_true", help="say what there is, and run nothing")
    options = parser.parse_args(arguments)
    chosen = {name: BENCHMARKS[name] for name in options.only}
    if options.list:
        print("\n".join(f"{name}: {describe(one)}" for name, one in chosen.items()))
        return 0
    if options.write and (missing := find_missing_marks(chosen)):
        print("\n".join(missing), file=sys.stderr)
        return 1
    outcomes = run_all(chosen, is_brief=options.brief, writes=options.write)
    for one in outcomes:
        say(f"{one.name}: {one.words}, {one.minutes:.1f} min")
    return int(any(one.has_failed for one in outcomes))


def describe(one: WholeBenchmark) -> str:
    return f"{', '.join(one.marks)} in {one.page}, {one.minutes:g} min"


def find_missing_marks(chosen: Mapping[str, WholeBenchmark]) -> list[str]:
    """Sentences about marks that a page does not have."""
    sentences = []
    for name, one in chosen.items():
        try:
            check_marks((ROOT / one.page).read_text(), one.marks)
        except NoPlace as error:
            sentences.append(f"{name}, {one.page}: {error}")
    return sentences


def run_all(chosen: Mapping[str, WholeBenchmark], *, is_brief: bool, writes: bool) -> list[Outcome]:
    """Run one after the other, and say before each what is left."""
    left = sum(one.minutes for one in chosen.values())
    outcomes = []
    for number, (name, one) in enumerate(chosen.items(), 1):
        say(f"\n{number} of {len(chosen)}, {name}: {one.minutes:g} of {left:g} min that are left")
        outcomes.append(run_one(name, one, one.line(is_brief=is_brief, writes=writes)))
        left -= one.minutes
    return outcomes


def run_one(name: str, one: WholeBenchmark, line: Sequence[str]) -> Outcome:
    if one.needs is not None and one.needs not in os.environ:
        return Outcome(name, f"left out, as {one.needs} is not set", 0.0)
    begun = time.monotonic()
    code = subprocess.run(line, cwd=ROOT, check=False).returncode
    minutes = (time.monotonic() - begun) / 60
    return Outcome(name, f"failed with {code}" if code else "done", minutes, code != 0)


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
