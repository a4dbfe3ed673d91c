"""Measured processes: started on a core, observed through /proc, ended with the block."""

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

SERVER_CORE = 0
OTHER_CORE = 1
START_SECONDS = 60.0
_TICKS = os.sysconf("SC_CLK_TCK")


class NotStarted(Exception):
    """A process ended or did not listen in time; the message is its last output."""


class Usage(NamedTuple):
    """Processor seconds of one process so far, and its present memory in bytes."""

    seconds: float
    memory: int


def cores() -> tuple[int, int]:
    """The core of the measured server, and the core of all other processes."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[SERVER_CORE], allowed[min(OTHER_CORE, len(allowed) - 1)]


def stay_on(core: int) -> None:
    os.sched_setaffinity(0, {core})


@contextmanager
def run_process(
    command: Sequence[str], port: int, core: int, environment: Mapping[str, str], where: Path
) -> Iterator[int]:
    """Start a server on a core and wait until it listens; give its process id."""
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            ["taskset", "-c", str(core), *command],
            cwd=where,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        try:
            if not _listening(port, child):
                said.seek(0)
                raise NotStarted(f"{command}: {said.read().decode()[-2000:]}")
            yield child.pid
        finally:
            child.terminate()
            with suppress(subprocess.TimeoutExpired):
                child.wait(5)
            child.kill()
            child.wait()


def _listening(port: int, child: subprocess.Popen[bytes]) -> bool:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and child.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return True
        time.sleep(0.05)
    return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def usage(process: int) -> Usage:
    """Read the time and memory of a process, all its threads together."""
    folder = Path("/proc") / str(process)
    return Usage(
        seconds_of((folder / "stat").read_text()), memory_of((folder / "status").read_text())
    )


def seconds_of(stat: str) -> float:
    """User and system time in `/proc/PID/stat`; the process name in it may contain spaces."""
    fields = stat.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_of(status: str) -> int:
    """The resident memory in `/proc/PID/status`, in bytes."""
    line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024
