"""Sends a file of 2 GB through a running server, and measures each process's peak memory.

Run as `python -m benchmarks.large_file [GB]`. The file and its output are on the disk; four times
its size must be free. Its rows have 1 KB: this measures the transport of bytes, and
`benchmarks.transform` that of rows.
"""

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
    """The peak memory of processes, by their role."""

    def __init__(self, *roots: int) -> None:
        self.peaks: dict[str, int] = {}
        self._roots = roots

    def update(self) -> None:
        for name, process in self._processes():
            with suppress(FileNotFoundError, ProcessLookupError, StopIteration):
                lines = Path(f"/proc/{process}/status").read_text().splitlines()
                peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
                self.peaks[name] = max(self.peaks.get(name, 0), peak)

    def _processes(self) -> Iterator[tuple[str, int]]:
        for name, root in zip(("server", "penstock run"), self._roots, strict=True):
            yield name, root
            with suppress(FileNotFoundError):
                children = Path(f"/proc/{root}/task/{root}/children").read_text().split()
                yield from ((f"worker of {name}", int(child)) for child in children)


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


def main() -> None:
    size = int(float(sys.argv[1] if len(sys.argv) > 1 else 2) * GIGABYTE)
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
        for name, peak in memory.peaks.items():
            print(f"{name}: {peak / 1024:,.0f} MB of memory at most")


if __name__ == "__main__":
    main()
