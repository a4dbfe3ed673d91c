"""Programs of the product that run in forks of a process which has loaded it already.

Tests of the start itself run `python -m` instead.
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from subprocess import DEVNULL, TimeoutExpired
from typing import IO

from tests.support.warm_process import Order

INHERITED = "WARM_PROCESS"
"""The variable with the descriptor of a connection, which the process has inherited."""


class Program:
    """A running program, with what `subprocess.Popen` offers of it."""

    def __init__(self, connection: socket.socket, name: str) -> None:
        self._connection = connection
        self.name = name
        self.returncode: int | None = None
        # Without a buffer: it would take the exit code of a program that has ended already.
        with connection.makefile("rb", buffering=0) as lines:
            line = lines.readline()
        assert line, "the warm process has ended: what it wrote stands above"
        self.pid = int(line)

    def poll(self) -> int | None:
        """Return the exit code, negative after a signal; None while the program runs."""
        if self.returncode is None:
            try:
                return self.wait(0)
            except TimeoutExpired:
                return None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code; raises TimeoutExpired."""
        if self.returncode is None:
            self._connection.settimeout(timeout)
            try:
                ended = self._connection.recv(16)
            except (TimeoutError, BlockingIOError):
                raise TimeoutExpired(self.name, timeout or 0) from None
            self.returncode = int(ended)
            self._connection.close()
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start_program(
    module: str,
    *arguments: str,
    variables: Mapping[str, str],
    output: IO[bytes] | int,
    errors: IO[bytes] | int,
    descriptors: tuple[int, int] | None = None,
    given: IO[bytes] | int = DEVNULL,
    pass_fds: Sequence[int] = (),
    start_new_session: bool = False,
) -> Program:
    """Start a module as a program, with `given` on standard input.

    `descriptors` are the soft and the hard limit that it starts with.
    """
    order = Order(
        module=module,
        arguments=list(arguments),
        variables=dict(variables),
        folder=os.getcwd(),
        numbers=[0, 1, 2, *pass_fds],
        leads_session=start_new_session,
        descriptors=list(descriptors) if descriptors else None,
    )
    mine, its = socket.socketpair()
    with its, ExitStack() as opened:
        files = [_number(each, opened) for each in (given, output, errors)]
        mine.sendall(json.dumps(order).encode() + b"\n")
        socket.send_fds(connect_warm_process(), [b"+"], [its.fileno(), *files, *pass_fds])
    return Program(mine, module)


def _number(file: IO[bytes] | int, opened: ExitStack) -> int:
    if file == DEVNULL:
        return opened.enter_context(open(os.devnull, "r+b")).fileno()
    return file if isinstance(file, int) else file.fileno()


@cache
def connect_warm_process() -> socket.socket:
    """Return the connection to this process's warm process, started at its first use.

    A process that is given its parent's connection uses that.
    """
    if INHERITED in os.environ:
        return socket.socket(fileno=int(os.environ[INHERITED]))
    mine, its = socket.socketpair()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    with its:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.warm_process", str(its.fileno())],
            env=kept,
            stdin=DEVNULL,
            stdout=DEVNULL,
            pass_fds=[its.fileno()],
        )
    # It ends with the connection.
    atexit.register(process.wait)
    atexit.register(mine.close)
    return mine
