"""The server as users start it: a separate process on a free port of this machine."""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from tempfile import TemporaryFile
from typing import IO

import httpx

from tests.support.patience import HUNG_SECONDS, wait_until
from tests.support.warm_start import Program, start_program

EXECUTOR = os.environ.get("PENSTOCK_TEST_EXECUTOR")
"""The executor of the servers, if the environment of the test run sets one."""
PATIENT = {
    f"PENSTOCK_{name}_SECONDS": f"{seconds:.0f}"
    for name, seconds in {
        "BODY_READ": HUNG_SECONDS,
        "DEADLINE": HUNG_SECONDS,
        "DYNAMODB_CALL": 60,
        "DYNAMODB_CONNECT": 60,
        "DYNAMODB_READ": 60,
        "HEAD": HUNG_SECONDS,
        "STREAM_INIT": HUNG_SECONDS,
    }.items()
}
"""The limits of servers that would pass by themselves on a busy machine."""

VERIFY_TLS = False
"""The `verify` of clients: no server uses TLS, and reading the certificates takes 80 ms."""


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running `penstock serve` and its URL."""

    process: Program
    url: str
    data_dir: Path
    log: IO[bytes]

    def stop(self) -> str:
        """Stop the server, and return what it logged."""
        self.process.terminate()
        self.process.wait(timeout=HUNG_SECONDS)
        self.log.seek(0)
        return self.log.read().decode()


@contextmanager
def running_server(
    data_dir: Path, options: Sequence[str] = (), port: int | None = None, **settings: str
) -> Iterator[RunningServer]:
    """Start the server, wait until it is ready, and stop it at the end if it still runs."""
    port = port or free_port()
    arguments = ("serve", "--port", str(port), "--data-dir", str(data_dir), *options)
    # A full pipe without a reader would block the server.
    log = TemporaryFile()  # noqa: SIM115 - closed below, after the process
    process = start_program(
        "penstock", *arguments, variables=environment(**settings), output=log, errors=log
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_ready(process, url, log)
        yield RunningServer(process, url, data_dir, log)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait(timeout=HUNG_SECONDS)
        log.close()


def environment(**more: str) -> dict[str, str]:
    """Return the environment without a developer's own settings, and with patience."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    if EXECUTOR is not None:
        kept["PENSTOCK_EXECUTOR"] = EXECUTOR
    return kept | PATIENT | more


def free_port() -> int:
    """Return a free port below those that the system gives to others before a server takes it."""
    while True:
        port = SystemRandom().randrange(10_000, 32_768)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _wait_until_ready(process: Program, url: str, log: IO[bytes]) -> None:
    def is_ready() -> bool:
        if process.poll() is not None:
            log.seek(0)
            raise AssertionError(f"the server did not start:\n{log.read().decode()}")
        try:
            answer = httpx.get(f"{url}/readyz", timeout=HUNG_SECONDS, verify=VERIFY_TLS)
        except httpx.TransportError:
            return False
        return answer.status_code == 200

    wait_until(is_ready)
