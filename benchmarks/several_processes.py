"""Measures requests a second of `penstock serve --workers N`, and processor time for each, by N.

The default is 1 and the number of cores.
The load generator runs on the same cores: without a core of its own, the numbers for several
processes are too low.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import orjson

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from benchmarks.peers.load_generator import LoadGenerator, request, send_once
from tests.support.penstock_command import Server, penstock, start_server, token_of

MARK = "several processes"
ROUNDS = 3
SECONDS = 3.0
CONNECTIONS = 32
QUERY = """{ pipelines(group: "/usa", includeChildGroups: true, first: 20) {
  nodes { id name version tags { key value } } pageInfo { hasNextPage endCursor } } }"""
_TICKS = os.sysconf("SC_CLK_TCK")


class Sample(NamedTuple):
    """Requests a second, and processor microseconds for each, over all processes."""

    rate: float
    cpu: float


def members(server: Server) -> list[int]:
    pid = server.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *map(int, children)]


def processor_seconds(processes: list[int]) -> float:
    """Processor seconds so far, in user and system mode."""
    fields = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split() for one in processes]
    return sum(int(one[11]) + int(one[12]) for one in fields) / _TICKS


@contextmanager
def run_server(count: int, data_dir: Path) -> Iterator[Server]:
    options = ("--port", "0", "--data-dir", str(data_dir), "--workers", str(count))
    unbound = {"PENSTOCK_ACCESS_LOG": "false", "PENSTOCK_RATE_LIMIT_PER_SECOND": "0"}
    with start_server(data_dir.parent / f"log {count}", *options, **unbound) as server:
        yield server


def measure_server(server: Server, asked: bytes, seconds: float) -> Sample:
    port = int(server.url.rpartition(":")[2])
    status, answer = send_once(port, asked)
    assert (status, b'"errors"' in answer) == (200, False), answer
    with closing(LoadGenerator(port, [asked], CONNECTIONS)) as generator:
        generator.run(min(1.0, seconds))
        before = processor_seconds(members(server))
        loaded = generator.run(seconds)
        used = processor_seconds(members(server)) - before
    count = len(loaded.latencies)
    return Sample(count / loaded.seconds, used / count * 1e6)


def measure(counts: Sequence[int], rounds: int, seconds: float) -> dict[int, Sample]:
    """The middle rate and the middle processor time for each number of processes."""
    samples: dict[int, list[Sample]] = {count: [] for count in counts}
    with TemporaryDirectory() as directory:
        data_dir = Path(directory, "data")
        assert penstock("seed", "--data-dir", str(data_dir)).returncode == 0
        token = {"Authorization": f"Bearer {token_of(data_dir, '/=reader')}"}
        with ExitStack() as held:
            servers = {n: held.enter_context(run_server(n, data_dir)) for n in counts}
            for _ in range(rounds):
                for count, server in servers.items():
                    port = int(server.url.rpartition(":")[2])
                    asked = request(port, "/graphql", orjson.dumps({"query": QUERY}), token)
                    samples[count].append(measure_server(server, asked, seconds))
    return {
        count: Sample(*(median(column) for column in zip(*found, strict=True)))
        for count, found in samples.items()
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.several_processes", description=__doc__)
    parser.add_argument("counts", type=int, nargs="*", metavar="N", help="of processes")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each measurement")
    add_write_option(parser)
    options = parser.parse_args(arguments)
    counts = options.counts or [1, os.cpu_count() or 2]
    found = measure(counts, options.rounds, options.seconds)
    first = found[counts[0]].rate
    rows = [
        f"{count} | {one.rate:,.0f} | {one.rate / first:.2f} | {one.cpu / 1000:.1f}"
        for count, one in found.items()
    ]
    head = "processes | requests/s | times those of the first row | ms of processor each"
    show_tables({MARK: below_machine(format_table(head, rows, texts=0))}, options.write)


if __name__ == "__main__":
    main()
