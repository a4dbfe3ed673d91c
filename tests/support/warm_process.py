"""A process that has loaded the server, and forks a program for each order that it is given.

Loading the server takes 1.5 s of processor time; a fork of what is loaded takes some milliseconds.
Before it forks, this process has no thread, no event loop and no file of a store: a fork begins as
a new process does once its imports are over.
"""

import atexit
import fcntl
import gc
import json
import os
import resource
import runpy
import select
import signal
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Final, NoReturn, TypedDict

LOADED = (
    "penstock.server.command_line",
    "penstock.server.commands.seed",
    "penstock.server.commands.serve",
    "penstock.server.commands.client.run",
    # These load when they are used for the first time, as most programs do.
    "aioboto3",
    "anyio._backends._asyncio",
    "duckdb",
    "httpcore",
    "penstock.server.runtime.part_process",
    "penstock.server.runtime.server_process",
    "tests.support.warm_children",
)

MOST_FILES: Final = 64
"""The most files that one message hands over."""


class Order(TypedDict):
    """A module to run, its arguments, and what it inherits.

    `numbers` are those of its files in the new process, the first three of which are standard.
    """

    module: str
    arguments: list[str]
    variables: dict[str, str]
    folder: str
    numbers: list[int]
    leads_session: bool
    descriptors: list[int] | None


class Forks:
    """The forks that run, each with the connection that is told of its end."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._told: dict[int, socket.socket] = {}
        self._wake, self._woken = socket.socketpair()
        for one in (self._wake, self._woken):
            one.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda _signal, _frame: None)
        signal.set_wakeup_fd(self._woken.fileno())

    def take_orders(self) -> Order | None:
        """Fork for each order until there are no more; returns the order in the fork itself."""
        while True:
            ready, _, _ = select.select([self._control, self._wake], [], [])
            if self._wake in ready:
                self._wake.recv(4096)
                self._tell_ends()
            if self._control in ready:
                is_given, files, _, _ = socket.recv_fds(self._control, 1, MOST_FILES)
                if not is_given:
                    return None
                if order := self._fork(files):
                    return order

    def _fork(self, files: list[int]) -> Order | None:
        connection = socket.socket(fileno=files[0])
        with connection.makefile("rb") as lines:
            order: Order = json.loads(lines.readline())
        child = os.fork()
        if child == 0:
            connection.close()
            self._become_new(order, files[1:])
            return order
        for file in files[1:]:
            os.close(file)
        self._told[child] = connection
        connection.sendall(b"%d\n" % child)
        return None

    def _become_new(self, order: Order, files: list[int]) -> None:
        """Leave to the fork nothing of this process but what is loaded."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for one in (self._control, self._wake, self._woken, *self._told.values()):
            one.close()
        number_files(files, order["numbers"])
        if order["leads_session"]:
            os.setsid()

    def _tell_ends(self) -> None:
        """Tell of every fork that has ended, which leaves the table of processes only now."""
        while self._told:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            with self._told.pop(child) as connection, suppress(BrokenPipeError):
                connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def number_files(files: Sequence[int], numbers: Sequence[int]) -> None:
    """Give each file its number, which may be that of another one."""
    above = max(2, *numbers) + 1
    copies = [fcntl.fcntl(file, fcntl.F_DUPFD, above) for file in files]
    for file in files:
        os.close(file)
    for copy, number in zip(copies, numbers, strict=True):
        os.dup2(copy, number)
        os.close(copy)


def run(order: Order) -> NoReturn:
    """Run the module to its end, and leave all memory to the system.

    Python would take apart what is loaded, and so copy most of it from the warm process: 60 ms.
    """
    code: str | int | None = None
    try:
        run_module(order)
    except SystemExit as ended:
        code = ended.code
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1 if isinstance(code, str) else code or 0)


def run_module(order: Order) -> None:
    """Run the module as `python -m` does; what it starts of Penstock are forks as well."""
    if order["descriptors"] is not None:
        soft, hard = order["descriptors"]
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    module, arguments = order["module"], order["arguments"]
    settle(order["variables"], order["folder"])
    children = import_module("tests.support.warm_children")
    while children.has_children(module, arguments, os.environ):
        child = children.open_nursery()
        if child is None:
            break
        module, arguments = child["module"], []
        settle(child["variables"], child["folder"])
    if module.startswith(children.STARTED):
        # What is loaded of it belongs to the program that starts it.
        sys.modules.pop(module, None)
    sys.argv[1:] = arguments
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def settle(variables: Mapping[str, str], folder: str) -> None:
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(folder)


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    # Ctrl-C at the terminal of the tests is for the tests.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if not control.recv(1, socket.MSG_PEEK):
        return  # No test has started a program.
    for module in LOADED:
        import_module(module)
    # Programs that only give orders to this process load nothing that takes time.
    patience = import_module("tests.support.patience")
    for limited, name in patience.find_limits():
        setattr(limited, name, patience.HUNG_SECONDS)
    gc.collect()
    gc.freeze()
    order = Forks(control).take_orders()
    if order is None:
        os._exit(0)  # without taking apart what is loaded, as its forks end
    run(order)


if __name__ == "__main__":
    main()
