"""The speeds that Penstock promises, compared with the measured ones."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from benchmarks.peers.competitors import BASELINE, FLOOR, SLOWEST
from benchmarks.peers.result_tables import Spread, ratios
from benchmarks.peers.rounds import Sample


class Promise(NamedTuple):
    """In a mode, Penstock answers a shape at least `times` as fast as another server."""

    mode: str
    shape: str
    than: str
    times: float


RIVALS = (BASELINE, "yoga", "apollo", "ariadne_cached", "strawberry_cached")
SHAPES = ("one", "list", "owners", "page")
PROMISES = (
    Promise("memory", "one", BASELINE, 1.0),
    Promise("memory", "list", BASELINE, 1.3),
    Promise("memory", "owners", BASELINE, 1.1),
    Promise("memory", "page", BASELINE, 1.1),
    Promise("memory", "list", SLOWEST, 30.0),
    Promise("memory", "owners", SLOWEST, 30.0),
    *(Promise("store", shape, rival, 2.0) for shape in SHAPES for rival in RIVALS),
    *(Promise(mode, shape, FLOOR, 0.5) for mode in ("memory", "store") for shape in SHAPES),
)


class Verdict(NamedTuple):
    promise: Promise
    found: Spread

    @property
    def is_kept(self) -> bool:
        return self.found.middle >= self.promise.times


def verdicts(samples: Sequence[Sample], mode: str, peer: str) -> Iterator[Verdict]:
    """Compare a server with the promises for which both sides were measured."""
    for promise in PROMISES:
        if promise.mode == mode:
            found = ratios(samples, peer, promise.shape, promise.than)
            if found is not None:
                yield Verdict(promise, found)


def promise_row(verdict: Verdict, title: Callable[[str], str]) -> str:
    """A row of the table of promises."""
    promise = verdict.promise
    kept = "kept" if verdict.is_kept else "**missed**"
    return (
        f"| {title(promise.shape)} | {title(promise.than)} | {promise.times:g} "
        f"| {verdict.found} | {kept} |"
    )
