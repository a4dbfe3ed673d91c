"""Sends a file of 2 GB through a running server, and measures each process's peak memory.

The server spreads the file over its cores. The file and its output are on the disk; four times its
size must be free. Its rows have 1 KB: this measures the transport of bytes, and
`benchmarks.executions` that of rows.
"""

import argparse
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from tests.support.graphql_client import CREATE, CREATE_GROUP
from tests.support.penstock_command import Server, client, start_server
from tests.support.warm_children import FRESH

MARK = "large file"
GIGABYTE = 10**9
MOST_MEMORY = 150
"""The megabytes that no process may exceed, whatever the size of the file."""

NOTE = "The quick brown fox jumps over the lazy dog. " * 22
COLUMNS = (("distance", "NUMBER"), ("passengers", "NUMBER"), ("note", "STRING"))
FORMULAS = ((":distance * :passengers", "NUMBER"), ("UPPERCASE(:note)", "STRING"))
TRANSFORMER = {
    "parameters": [{"index": n, "key": key, "type": type} for n, (key, type) in enumerate(COLUMNS)],
    "transforms": [
        {"index": n, "formula": formula, "outputs": [{"index": 0, "label": f"{n}", "type": type}]}
        for n, (formula, type) in enumerate(FORMULAS)
    ],
}


def write(file: Path, size: int) -> int:
    """Write a file of that size; return its number of rows."""
    rows = written = 0
    with file.open("w", buffering=1 << 20) as out:
        written += out.write("distance,passengers,note\n")
        while written < size:
            rows += 1
            written += out.write(f"{rows % 9000}.{rows % 10},{rows % 5 + 1},{NOTE}\n")
    return rows


class RoleMemory(NamedTuple):
    """How many processes had a role, and the most megabytes that one of them took."""

    name: str
    processes: int
    peak: float


class PeakMemory:
    """The peak memory of processes in MB, by their roles and ids."""

    def __init__(self, *roots: int) -> None:
        self.peaks: dict[tuple[str, int], float] = {}
        self._roots = roots

    def update(self) -> None:
        for name, process in self._processes():
            with suppress(FileNotFoundError, ProcessLookupError, StopIteration):
                lines = Path(f"/proc/{process}/status").read_text().splitlines()
                peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
                self.peaks[name, process] = peak / 1024

    def list_roles(self) -> list[RoleMemory]:
        found: dict[str, list[float]] = {}
        for (name, _), peak in self.peaks.items():
            found.setdefault(name, []).append(peak)
        return [RoleMemory(name, len(peaks), max(peaks)) for name, peaks in found.items()]

    def _processes(self) -> Iterator[tuple[str, int]]:
        for name, root in zip(("server", "penstock run"), self._roots, strict=True):
            yield name, root
            yield from ((f"process of {name}", below) for below in _below(root))


def _below(process: int) -> Iterator[int]:
    """The processes that a process has started, and those that these have started."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                yield child
                yield from _below(child)


@contextmanager
def watch_memory(memory: PeakMemory) -> Iterator[None]:
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.1):
            memory.update()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def prepare(server: Server, data_dir: Path) -> None:
    content: dict[str, Any] = {"name": "large", "group": "/usa", "transformer": TRANSFORMER}
    with client(server, data_dir, "/=admin") as asking:
        assert asking.ask(CREATE_GROUP, input={"path": "/usa"})["group"]
        assert asking.ask(CREATE, input=content)["pipeline"]


class LargeFileCost(NamedTuple):
    """The rows of a file, the seconds by the clock, and the memory of each role of processes."""

    rows: int
    seconds: float
    roles: list[RoleMemory]


def measure(size: int) -> LargeFileCost:
    """Send a file of so many bytes through a new server."""
    with TemporaryDirectory() as directory:
        data_dir, file = Path(directory, "data"), Path(directory, "rows.csv")
        rows = write(file, size)
        arguments = ("--port", "0", "--data-dir", str(data_dir), "--no-seed")
        with start_server(Path(directory, "log"), *arguments, **{FRESH: "1"}) as server:
            prepare(server, data_dir)
            command = [sys.executable, "-m", "penstock", "run", "large", str(file), "--url"]
            begun = time.monotonic()
            process = subprocess.Popen(
                [*command, server.url, "--data-dir", str(data_dir), "--group", "/usa"],
                stdout=sys.stderr,
            )
            memory = PeakMemory(server.process.pid, process.pid)
            with watch_memory(memory):
                code = process.wait()
            seconds = time.monotonic() - begun
    assert code == 0
    return LargeFileCost(rows, seconds, memory.list_roles())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.large_file", description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--check", action="store_true", help=f"exit with 1 above {MOST_MEMORY} MB")
    add_write_option(parser)
    options = parser.parse_args(arguments)
    cost = measure(int(options.gigabytes * GIGABYTE))
    head = f"{options.gigabytes:g} GB in {cost.rows:,} rows, {cost.seconds:.0f} s"
    rows = [f"{one.name} | {one.processes} | {one.peak:,.0f}" for one in cost.roles]
    table = format_table(f"{head} | processes | MB of memory of one at most", rows)
    show_tables({MARK: below_machine(table)}, options.write)
    return int(options.check and max(one.peak for one in cost.roles) > MOST_MEMORY)


if __name__ == "__main__":
    sys.exit(main())
