"""Writes the tables of a run into a page, between marks."""

import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.peers.competitors import BASELINE, OURS, Peer
from benchmarks.peers.performance_targets import promise_row, verdicts
from benchmarks.peers.query_shapes import Shape
from benchmarks.peers.result_tables import cpu_table, pace_table
from benchmarks.peers.rounds import Length, Sample

_HEAD = "| {} | than | times at least | measured | |\n|---|---|--:|--:|---|"


class NoPlace(ValueError):
    """A page has no place for a text, or more than one."""


def check_marks(page: str, marks: Iterable[str]) -> None:
    """Raise NoPlace unless the page has one place for the text of each mark."""
    for mark in marks:
        replace_between_marks(page, mark, "")


def replace_between_marks(page: str, mark: str, text: str) -> str:
    """Put a text between `<!-- begin MARK -->` and its end; raises NoPlace unless there is one."""
    begin, end = f"<!-- begin {mark} -->", f"<!-- end {mark} -->"
    pattern = re.compile(f"({re.escape(begin)}).*?({re.escape(end)})", re.DOTALL)
    page, places = pattern.subn(lambda found: f"{found[1]}\n\n{text}\n\n{found[2]}", page)
    if places != 1:
        raise NoPlace(f"the page has {places} places for {mark!r}")
    return page


def tables(
    samples: Sequence[Sample], mode: str, peers: Sequence[Peer], shapes: Sequence[Shape]
) -> str:
    """All tables of one mode."""
    titles = {peer.name: peer.title for peer in peers}
    columns = {shape.name: shape.title for shape in shapes}
    parts = [cpu_table(samples, titles, columns, BASELINE), pace_table(samples, titles, columns)]
    for name in OURS:
        parts += promises(samples, mode, name, titles | columns)
    return "\n\n".join(parts)


def promises(
    samples: Sequence[Sample], mode: str, peer: str, titles: Mapping[str, str]
) -> list[str]:
    rows = [promise_row(verdict, titles.__getitem__) for verdict in verdicts(samples, mode, peer)]
    return ["\n".join([_HEAD.format(titles[peer]), *rows])] if rows else []


def describe_run(
    versions: Mapping[str, str], rounds: int, length: Length, milliseconds: float | None
) -> str:
    """The machine and the measurement; `milliseconds` is the latency of a store."""
    latency = "" if milliseconds is None else f"; latency of the store {milliseconds:g} ms"
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    kernel = platform.release().partition("-")[0]
    return (
        f"{cpu_model()}, {os.cpu_count()} cores, Linux {kernel}; {named}.\n"
        f"{rounds} rounds of {length.seconds:g} s after {length.warm_up:g} s of warm-up over "
        f"{length.connections} connections{latency}. "
        f"Load of the machine before: {os.getloadavg()[0]:.1f}."
    )


def cpu_model() -> str:
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()
