"""Rows a second of a core: this product, an earlier one, and peers, in alternating rounds."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from benchmarks.executions import one_core
from benchmarks.executions.one_core import CASES, CoreCost
from benchmarks.executions.peers import PEERS, measure_peer
from benchmarks.page_tables import format_table

ROOT: Final = Path(__file__).parents[2]
EARLIER: Final = "76561a8f"
"""The commit before the first one that made executions quicker."""

FIRST: Final = {"six": 30_000, "sample": 62_000}
"""The rows a second of a core that were measured first, on another machine."""


class CaseRates(NamedTuple):
    """The rows a second of a core: of this product, of the earlier one if it is there, of peers."""

    now: float
    earlier: float | None
    peers: dict[str, float]


@contextmanager
def earlier_product(commit: str) -> Iterator[Path | None]:
    """The files of an earlier commit; None where the history is not there."""
    with TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=False
        )
        if packed.returncode:
            yield None
            return
        subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
        yield Path(folder)


def measure_apart(product: Path, name: str, rows: int) -> CoreCost:
    """Measure a case in a process of its own, with the product of a folder."""
    command = [sys.executable, one_core.__file__, name, str(rows)]
    environment = os.environ | {"PYTHONPATH": str(product)}
    done = subprocess.run(command, env=environment, cwd=product, stdout=subprocess.PIPE, check=True)
    return CoreCost(*json.loads(done.stdout))


def measure_rates(rows: int, rounds: int, earlier: Path | None) -> dict[str, CaseRates]:
    """Measure all cases in so many rounds; the earlier product with a third of the rows."""
    return {name: _measure_case(name, rows, rounds, earlier) for name in CASES}


def _measure_case(name: str, rows: int, rounds: int, earlier: Path | None) -> CaseRates:
    case, found = CASES[name], dict[str, list[float]]()
    for _ in range(rounds):
        now = measure_apart(ROOT, name, rows)
        found.setdefault("now", []).append(rows / now.seconds)
        if earlier is not None:
            before = measure_apart(earlier, name, rows // 3)
            found.setdefault("earlier", []).append(rows // 3 / before.seconds)
        for title, compute in PEERS[name].items():
            peer = measure_peer(case, compute, rows)
            assert peer.written == now.succeeded
            found.setdefault(title, []).append(rows / peer.seconds)
    rates = {title: median(values) for title, values in found.items()}
    return CaseRates(
        rates.pop("now"), rates.pop("earlier", None), {title: rates[title] for title in rates}
    )


def rate_table(found: Mapping[str, CaseRates]) -> str:
    """The table of rates."""
    titles = next(iter(PEERS.values()))
    own = ("pipeline", "rows/s of a core", "first", "the first product", "times as many")
    return format_table(" | ".join([*own, *titles]), (_rate_row(*one) for one in found.items()))


def _rate_row(name: str, rates: CaseRates) -> list[str]:
    then = times = ""
    if rates.earlier is not None:
        then, times = f"{rates.earlier:,.0f}", f"**{rates.now / rates.earlier:.1f}**"
    beside = [f"{rate:,.0f}" for rate in rates.peers.values()]
    return [CASES[name].title, f"{rates.now:,.0f}", f"{FIRST[name]:,}", then, times, *beside]
