"""Sends a file of 2 GB through a running server, and measures each process's peak memory.

The server spreads the file over its cores. Run as `python -m benchmarks.large_file [GB] [--check]`;
with `--check` it exits with 1 if a process takes more than 150 MB. The file and its output are on
the disk; four times its size must be free. Its rows have 1 KB: this measures the transport of
bytes, and `benchmarks.transform` that of rows.
"""

import argparse
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.graphql_client import CREATE, CREATE_GROUP
from tests.support.penstock_command import Server, client, start_server

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


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.large_file", description=__doc__)
    parser.add_argument("gigabytes", type=float, nargs="?", default=2.0)
    parser.add_argument("--check", action="store_true", help=f"exit with 1 above {MOST_MEMORY} MB")
    options = parser.parse_args()
    size = int(options.gigabytes * GIGABYTE)
    with TemporaryDirectory() as directory:
        data_dir, file = Path(directory, "data"), Path(directory, "rows.csv")
        rows = write(file, size)
        arguments = ("--port", "0", "--data-dir", str(data_dir), "--no-seed")
        with start_server(Path(directory, "log"), *arguments) as server:
            prepare(server, data_dir)
            command = [sys.executable, "-m", "penstock", "run", "large", str(file), "--url"]
            begun = time.monotonic()
            process = subprocess.Popen(
                [*command, server.url, "--data-dir", str(data_dir), "--group", "/usa"]
            )
            memory = PeakMemory(server.process.pid, process.pid)
            with watch_memory(memory):
                code = process.wait()
            seconds = time.monotonic() - begun
        assert code == 0
        print(f"{file.stat().st_size / GIGABYTE:.2f} GB in {rows:,} rows, {seconds:.0f} s")
        for (name, _), peak in memory.peaks.items():
            print(f"{name}: {peak:,.0f} MB of memory at most")
    return int(options.check and max(memory.peaks.values()) > MOST_MEMORY)


if __name__ == "__main__":
    sys.exit(main())
