"""`penstock` as separate processes: finished commands, running servers, and clients."""

import json
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import httpx

from penstock.server.auth.claims import default_group_from, roles_from
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from tests.support.patience import HUNG_SECONDS, wait_until
from tests.support.server_process import VERIFY_TLS, environment
from tests.support.stores import aws_environment
from tests.support.warm_start import Program, start_program

LAST_LINE = "Ctrl-C stops the server."
READY = "the server is ready"
"""The event of JSON logs that stands for the lines up to the last one."""

LABELS = ("Console", "GraphiQL", "GraphQL", "Admin", "Data")


@dataclass(frozen=True, slots=True)
class RunningCommand:
    """A command that ends by itself, and what it prints."""

    program: Program
    output: IO[bytes]
    errors: IO[bytes]

    def finish(self, seconds: float | None = HUNG_SECONDS) -> subprocess.CompletedProcess[str]:
        """Wait until the command has ended, for so many seconds; None waits as long as it takes."""
        with self.output as output, self.errors as errors:
            code = self.program.wait(seconds)
            printed = [(file.seek(0), file.read().decode())[1] for file in (output, errors)]
        return subprocess.CompletedProcess(self.program.name, code, *printed)


def start_command(*arguments: str, **settings: str) -> RunningCommand:
    output, errors = TemporaryFile(), TemporaryFile()  # noqa: SIM115 - closed when it has ended
    with aws_environment():
        program = start_program(
            "penstock", *arguments, variables=environment(**settings), output=output, errors=errors
        )
    return RunningCommand(program, output, errors)


def penstock(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return start_command(*arguments, **settings).finish()


@dataclass(frozen=True, slots=True)
class Server:
    """A server that has printed its URLs."""

    process: Program
    said: Mapping[str, str]

    @property
    def url(self) -> str:
        return self.said["GraphQL"].removesuffix("/graphql")

    def end(self, with_signal: signal.Signals = signal.SIGINT) -> int:
        """Send the signal; returns the exit code."""
        self.process.send_signal(with_signal)
        return self.process.wait(HUNG_SECONDS)


@contextmanager
def start_server(log: Path, *arguments: str, **settings: str) -> Iterator[Server]:
    """Start a server, wait for its URLs, and stop it at the end if it still runs."""
    with log.open("wb") as standard_error, aws_environment():
        process = start_program(
            "penstock",
            "serve",
            *arguments,
            variables=environment(**settings),
            output=subprocess.DEVNULL,
            errors=standard_error,
        )
    try:
        yield Server(process, _announced_lines(log, process))
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def _announced_lines(log: Path, process: Program) -> dict[str, str]:
    def is_announced() -> bool:
        assert process.poll() is None, f"the server did not start:\n{log.read_text()}"
        return bool(read_announcement(log.read_text()))

    wait_until(is_announced)
    return read_announcement(log.read_text())


def read_announcement(log: str) -> dict[str, str]:
    """Read what a server says when it is ready, as text or as JSON; empty before."""
    for line in log.splitlines():
        if line.startswith("{") and line.endswith("}") and READY in line:
            facts = json.loads(line)
            return {label: facts[label.lower()] for label in LABELS if label.lower() in facts}
    before, found, _ = log.partition(LAST_LINE)
    lines = [line.partition(" ") for line in before.splitlines() if line[:1].isalpha()]
    return {label: text.strip() for label, _, text in lines} if found else {}


class Client:
    """Sends requests of one user over one connection."""

    def __init__(self, server: Server, token: str) -> None:
        self._url = f"{server.url}/graphql"
        headers = {"authorization": f"Bearer {token}"}
        self._http = httpx.Client(
            headers=headers, timeout=HUNG_SECONDS, trust_env=False, verify=VERIFY_TLS
        )

    def ask(self, query: str, **variables: Any) -> Any:
        """Return the value of the one root field; the answer holds no errors."""
        answer = self.answer(query, **variables)
        assert "errors" not in answer, answer
        (value,) = answer["data"].values()
        return value

    def answer(self, query: str, **variables: Any) -> Any:
        body = {"query": query, "variables": variables}
        return self._http.post(self._url, json=body).json()

    def close(self) -> None:
        self._http.close()


def token_of(data_dir: Path, *roles: str, user: str = "ana") -> str:
    """Return a token signed by the data directory's own key."""
    held = roles_from(list(roles))
    return sign_dev_token(
        dev_key(data_dir), user, held, default_group_from(None, held), DEV_TOKEN_LIFETIME
    )


@contextmanager
def client(server: Server, data_dir: Path, *roles: str, user: str = "ana") -> Iterator[Client]:
    """Open a client with such a token."""
    one = Client(server, token_of(data_dir, *roles, user=user))
    try:
        yield one
    finally:
        one.close()
