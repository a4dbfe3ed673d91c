"""The numbers of a run, and how they compare with those of the last release.

Times of two machines do not compare. So each time is also divided by the time of a fixed work that
runs in the same process, and releases are compared by these ratios. Counted numbers, such as read
units, are compared as they are; those that are the same in each run may not be larger at all.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Final, Literal, TypeAlias

import msgspec

TOLERANCE: Final = 4 / 3
"""A number that is larger by more than this is worse."""

_WORKS: Final = 7

Unit: TypeAlias = Literal["µs", "ms", "read units", "write units", "units", "calls", "MB"]
TIMES: Final = frozenset[Unit](("µs", "ms"))


class Figure(msgspec.Struct, frozen=True):
    """One number of one benchmark; of a time, `ratio` is what it is to the fixed work.

    A number that `is_beside` is that of a peer or a floor, which no release of ours can make worse.
    One that `is_exact` is the same in each run.
    """

    benchmark: str
    name: str
    unit: Unit
    value: float
    ratio: float | None = None
    is_beside: bool = False
    is_exact: bool = False

    @property
    def title(self) -> str:
        return f"{self.benchmark}: {self.name}, {self.unit}"

    @property
    def compared(self) -> float:
        return self.value if self.ratio is None else self.ratio


def do_fixed_work() -> float:
    """Run a fixed work of Python, JSON, SQLite and hashing; return its processor seconds."""
    began = process_time()
    found: dict[str, int] = {}
    for n in range(40_000):
        key = f"key {n % 997}"
        found[key] = found.get(key, 0) + n
    rows = [{"id": n, "name": f"row {n}", "tags": ["a", "b"]} for n in range(5_000)]
    text = json.dumps(rows)
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (k PRIMARY KEY, v) WITHOUT ROWID")
        connection.executemany("INSERT INTO t VALUES (?, ?)", enumerate(map(str, json.loads(text))))
        connection.execute("SELECT sum(length(v)) FROM t").fetchone()
    for _ in range(20):
        hashlib.sha256(text.encode()).digest()
    return process_time() - began


_BESIDE: Final = frozenset(
    {"by hand", "DuckDB", "SQLite alone", "calculated", "one put an item", "document", "stock"}
)
"""The peers and floors, by the part of a number's name that names them."""


def list_figures(
    benchmark: str, unit: Unit, values: Mapping[str, float], *, exact: bool = False
) -> list[Figure]:
    """The figures of a benchmark that have one unit, by their names."""
    return [
        Figure(benchmark, name, unit, value, None, not _BESIDE.isdisjoint(name.split(", ")), exact)
        for name, value in values.items()
    ]


def measure_machine() -> float:
    """The seconds of the fixed work: the least of several runs."""
    return min(do_fixed_work() for _ in range(_WORKS))


def relate_times(figures: Sequence[Figure], machine: float) -> list[Figure]:
    """Add to each time its ratio to the fixed work's seconds."""
    return [
        msgspec.structs.replace(one, ratio=one.value / machine) if one.unit in TIMES else one
        for one in figures
    ]


def find_worse(figures: Sequence[Figure], last: Mapping[str, Figure]) -> list[Figure]:
    """The figures that are worse than those of the last release: by a third, or at all if exact."""
    ours = [one for one in figures if not one.is_beside]
    known = [(one, last[one.title]) for one in ours if one.title in last]
    return [
        one
        for one, before in known
        if one.compared > before.compared * (1 if one.is_exact else TOLERANCE)
    ]


def table_lines(figures: Sequence[Figure], last: Mapping[str, Figure]) -> Iterator[str]:
    """The lines of a table; the last column says how many times the last release's it is."""
    yield "| benchmark | number | now | last release | now / last |"
    yield "|---|---|--:|--:|--:|"
    for one in figures:
        before = last.get(one.title)
        then, times = "new", ""
        if before is not None:
            then = f"{_format(before.value)} {before.unit}"
            times = f"{one.compared / before.compared:.2f}" if before.compared else "1.00"
        now = f"{_format(one.value)} {one.unit}"
        yield f"| {one.benchmark} | {one.name} | {now} | {then} | {times} |"


def _format(value: float) -> str:
    return f"{value:,.1f}" if value >= 1 or value == 0 else f"{value:.2g}"


def read_figures(path: Path) -> dict[str, Figure]:
    """Read the figures of a release by their titles; none where there is no such file."""
    if not path.exists():
        return {}
    figures = msgspec.json.decode(path.read_bytes(), type=list[Figure])
    return {one.title: one for one in figures}


def replace_measured(saved: Mapping[str, Figure], figures: Sequence[Figure]) -> list[Figure]:
    """The saved figures, with those of each benchmark that was measured again in their place."""
    measured = {one.benchmark for one in figures}
    return [one for one in saved.values() if one.benchmark not in measured] + list(figures)


def write_figures(path: Path, figures: Sequence[Figure]) -> None:
    """Write the figures, one on each line."""
    lines = ",\n".join(msgspec.json.encode(one).decode() for one in figures)
    path.write_text(f"[\n{lines}\n]\n")
