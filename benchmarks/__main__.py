"""Runs the benchmarks: `make bench` in their short form, with `--whole` at their whole size."""

import sys
from collections.abc import Sequence

from benchmarks.short_form.__main__ import main as run_short_form
from benchmarks.whole_form.__main__ import main as run_whole_form

WHOLE = "--whole"


def main(arguments: Sequence[str]) -> int:
    rest = [word for word in arguments if word != WHOLE]
    return run_whole_form(rest) if WHOLE in arguments else run_short_form(rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
