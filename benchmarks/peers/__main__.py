"""Compares Penstock with other GraphQL servers; `make peers` runs it with `PEERS` as options."""

import argparse
import asyncio
import platform
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from benchmarks.page_tables import NoPlace, add_write_option, check_marks, show_tables
from benchmarks.peers.competitors import Interpreters, LaunchOptions, Peer, peers
from benchmarks.peers.emulator import NoEmulator, fill, run_emulator
from benchmarks.peers.environments import NotInstalled, bun, go_server, node, python_of, versions_of
from benchmarks.peers.load_generator import WrongAnswer
from benchmarks.peers.processes import NotStarted, cores, stay_on
from benchmarks.peers.query_shapes import SHAPES
from benchmarks.peers.records import make_data
from benchmarks.peers.results_page import describe_run, tables
from benchmarks.peers.rounds import Length, MeasurementPlan, Sample, measure_rounds

MODES = ("memory", "store")
WITHOUT_GO = (
    "The server in Go is left out: it needs Debian's packages golang-go and "
    "golang-github-graph-gophers-graphql-go-dev."
)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return _measure(options)
    except (NotInstalled, NotStarted, NoEmulator, WrongAnswer, NoPlace) as error:
        print(error, file=sys.stderr)
        return 1


def _measure(options: argparse.Namespace) -> int:
    found = Interpreters(node(), bun(), go_server())
    others = [python_of(path) for path in options.python]
    chosen = [peer for peer in peers(found, others) if _is_wanted(peer, options.peers)]
    if found.go_server is None:
        print(WITHOUT_GO, file=sys.stderr)
    shapes = [shape for shape in SHAPES if shape.name in options.shapes]
    length = Length(options.warm_up, options.seconds, options.connections)
    plan = MeasurementPlan(chosen, shapes, options.rounds, length, options.alike)
    versions = {"Python": platform.python_version(), **versions_of(found)}
    kind = "alike" if options.alike else "peers"
    marks = {mode: f"{kind} {mode}" for mode in options.modes}
    if options.write:
        check_marks(options.write.read_text(), marks.values())
    texts = {}
    stay_on(cores()[1])
    for mode, mark in marks.items():
        machine = describe_run(versions, options.rounds, length, _latency(options, mode))
        own = plan.in_mode(mode)
        samples = _run(own, mode, options.latency)
        texts[mark] = f"{machine}\n\n{tables(samples, mode, own.peers, shapes)}"
    show_tables(texts, options.write)
    return 0


def _latency(options: argparse.Namespace, mode: str) -> float | None:
    return None if mode == "memory" else options.latency


def _run(plan: MeasurementPlan, mode: str, latency: float) -> list[Sample]:
    data, samples = make_data(), []
    console = Console(stderr=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        _endpoint(mode, latency) as endpoint,
        Progress(console=console, transient=True) as progress,
    ):
        total = plan.rounds * len(plan.shapes) * len(plan.peers)
        task = progress.add_task(mode, total=total)

        def tell(words: str) -> None:
            progress.update(task, description=f"{mode}: {words}")

        place = LaunchOptions(0, Path(folder), endpoint)
        for sample in measure_rounds(plan, place, data, tell):
            samples.append(sample)
            progress.advance(task)
    return samples


@contextmanager
def _endpoint(mode: str, milliseconds: float) -> Iterator[str | None]:
    if mode == "memory":
        yield None
        return
    with run_emulator(milliseconds) as (plain, late):
        asyncio.run(fill(plain, make_data()))
        yield late


def _is_wanted(peer: Peer, names: Sequence[str]) -> bool:
    """Whether a server was selected; a module's name selects it under every Python."""
    return not names or peer.name in names or peer.module in names


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make peers", description=__doc__)
    add = parser.add_argument
    add("--rounds", type=int, default=3)
    add("--seconds", type=float, default=2.0, help="of each measurement")
    add("--warm-up", type=float, default=1.0, help="seconds before each measurement")
    add("--connections", type=int, default=16)
    add("--latency", type=float, default=5.0, help="of the store, in milliseconds")
    add("--shapes", nargs="+", choices=[s.name for s in SHAPES], default=[s.name for s in SHAPES])
    add("--modes", nargs="+", choices=MODES, default=MODES)
    add("--alike", action="store_true", help="repeat one request of each shape to the byte")
    add("--peers", nargs="+", default=(), help="names of servers; all unless given")
    add("--python", nargs="+", default=(), metavar="PATH", help="more Pythons to run Penstock with")
    add_write_option(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
