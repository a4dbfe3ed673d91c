"""The server as users start it: a separate process on a free port of this machine."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import httpx

START_SECONDS = 60.0
EXECUTOR = os.environ.get("PENSTOCK_TEST_EXECUTOR")
"""The executor of the servers, if the environment of the test run sets one."""
STOP_SECONDS = 20.0
VERIFY_TLS = False
"""The clients' option `verify`: no server uses TLS, and reading the certificates takes 80 ms."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running `penstock serve` and its URL."""

    process: subprocess.Popen[bytes]
    url: str
    data_dir: Path


@contextmanager
def running_server(
    data_dir: Path, options: Sequence[str] = (), port: int | None = None
) -> Iterator[RunningServer]:
    """Start the server, wait until it is ready, and stop it at the end if it still runs."""
    port = port or free_port()
    command = [sys.executable, "-m", "penstock", "serve", "--port", str(port)]
    # A full pipe without a reader would block the server.
    log = TemporaryFile()  # noqa: SIM115 - closed below, after the process
    process = subprocess.Popen(
        [*command, "--data-dir", str(data_dir), *options],
        env=environment(),
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_ready(process, url, log)
        yield RunningServer(process, url, data_dir)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(timeout=STOP_SECONDS)
        log.close()


def environment(**more: str) -> dict[str, str]:
    """Return the environment without the settings of a developer's own server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    if EXECUTOR is not None:
        kept["PENSTOCK_EXECUTOR"] = EXECUTOR
    return kept | more


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(process: subprocess.Popen[bytes], url: str, log: IO[bytes]) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            if httpx.get(f"{url}/readyz", timeout=5, verify=VERIFY_TLS).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    process.kill()
    log.seek(0)
    raise AssertionError(f"the server did not start:\n{log.read().decode()}")
