"""The tables of a run, and what says how it was measured."""

from collections.abc import Mapping, Sequence

from benchmarks.page_tables import describe_load, describe_machine
from benchmarks.peers.competitors import BASELINE, OURS, Peer
from benchmarks.peers.performance_targets import promise_row, verdicts
from benchmarks.peers.query_shapes import Shape
from benchmarks.peers.result_tables import cpu_table, pace_table
from benchmarks.peers.rounds import Length, Sample

_HEAD = "| {} | than | times at least | measured | |\n|---|---|--:|--:|---|"


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
    return (
        f"{describe_machine(versions)}\n"
        f"{rounds} rounds of {length.seconds:g} s after {length.warm_up:g} s of warm-up over "
        f"{length.connections} connections{latency}. {describe_load()}"
    )
