"""Processes of Penstock that a forked program or a test starts are forks too.

A program that runs has threads, so it is no longer forked itself: a fork from before, its nursery,
is. What the nursery forks is left by its parent at once, and adopted by the program, as its child.
What a test starts is a child of the warm process.
"""

import asyncio
import ctypes
import json
import os
import signal
import socket
import sys
from asyncio.base_subprocess import BaseSubprocessTransport
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import IO, Any, Final, NamedTuple, TypeAlias, TypedDict

from tests.support.warm_process import MOST_FILES, number_files
from tests.support.warm_start import start_program

FRESH: Final = "FRESH_CHILDREN"
"""The variable that has a program start new processes, for tests of their start itself."""

NAME: Final = "nursery"
PARENTS: Final = {"serve", "worker"}
"""The commands that start processes."""

STARTED: Final = "penstock.server.runtime."
"""The beginning of the names of the modules that they start."""

SET_NAME, SET_SUBREAPER = 15, 36
MOST_BYTES: Final = 2**17
LINE_BYTES: Final = 2**16


class ChildOrder(TypedDict):
    """A module to run, what it inherits, and the numbers that the files have in it."""

    module: str
    variables: dict[str, str]
    folder: str
    leads_session: bool
    numbers: list[int]


class StartedFork(NamedTuple):
    """A fork that runs, and how to wait for its exit code."""

    pid: int
    wait: Callable[[], int]


StartFork: TypeAlias = Callable[[ChildOrder, Sequence[int]], StartedFork]
"""Forks a process for an order, and hands the files over."""


def has_children(module: str, arguments: Sequence[str], variables: Mapping[str, str]) -> bool:
    """Tell whether the program starts processes of Penstock that can be forks."""
    if sys.platform != "linux" or FRESH in variables:
        return False
    return module.startswith(STARTED) or (module == "penstock" and {*arguments[:1]} <= PARENTS)


def children_of(process: int) -> list[int]:
    """Return the processes that a program has started, without its nursery; none once it ended."""
    try:
        listed = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(one) for one in listed if _read_name(one) != NAME]


def _read_name(process: str) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""  # It has ended since it was listed.


def open_nursery() -> ChildOrder | None:
    """Fork the nursery of this program, and start its children there; None in the program.

    In a child it returns what to run.
    """
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        mine.close()
        return Nursery(its).take_orders()
    its.close()
    asyncio.create_subprocess_exec = Starter(partial(_fork_in_nursery, mine)).start  # type: ignore[assignment]
    return None


def _fork_in_nursery(
    control: socket.socket, order: ChildOrder, files: Sequence[int]
) -> StartedFork:
    with adopting_orphans():
        socket.send_fds(control, [json.dumps(order).encode()], files)
        pid = int(control.recv(16))
    return StartedFork(pid, partial(_wait_for_child, pid))


def _wait_for_child(pid: int) -> int:
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def fork_in_warm_process(order: ChildOrder, files: Sequence[int]) -> StartedFork:
    """Fork a process that a test starts itself."""
    given, output, errors, *more = files
    program = start_program(
        order["module"],
        variables=order["variables"],
        given=given,
        output=output,
        errors=errors,
        pass_fds=more,
        start_new_session=order["leads_session"],
    )
    return StartedFork(program.pid, program.wait)


def _control_process(option: int, value: int | bytes) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


class Nursery:
    """The process that forks the children of another."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        _control_process(SET_NAME, NAME.encode())
        # It ends with its program, whatever signal that is sent.
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(each, signal.SIG_IGN)
        with open(os.devnull, "r+b", buffering=0) as nothing:
            for standard in range(3):
                os.dup2(nothing.fileno(), standard)
        # It would keep what its program has inherited open: a port, for example.
        os.closerange(3, control.fileno())
        os.closerange(control.fileno() + 1, os.sysconf("SC_OPEN_MAX"))

    def take_orders(self) -> ChildOrder:
        """Fork for each order until there are no more; returns the order in the child."""
        while True:
            data, files, _, _ = socket.recv_fds(self._control, MOST_BYTES, MOST_FILES)
            if not data:
                os._exit(0)
            order: ChildOrder = json.loads(data)
            if (child := self._fork_orphan()) is None:
                self._control.close()
                _become_child(order, files)
                return order
            for file in files:
                os.close(file)
            self._control.send(b"%d" % child)

    def _fork_orphan(self) -> int | None:
        """Fork a process whose parent has ended; returns its number, and None in it."""
        told, tells = os.pipe()
        between = os.fork()
        if between == 0:
            child = os.fork()
            if child == 0:
                os.close(told)
                os.close(tells)
                return None
            os.write(tells, b"%d" % child)
            os._exit(0)
        os.close(tells)
        child = int(os.read(told, 16))
        os.close(told)
        os.waitpid(between, 0)
        return child


def _become_child(order: ChildOrder, files: list[int]) -> None:
    """Give the files their numbers, and leave nothing of the nursery."""
    number_files(files, order["numbers"])
    if order["leads_session"]:
        os.setsid()
    _control_process(SET_NAME, b"python")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)


class Starter:
    """Starts modules of Penstock as forks, and everything else as before."""

    def __init__(self, fork: StartFork) -> None:
        self._fork = fork
        self._python = sys.executable
        self._start_new = asyncio.create_subprocess_exec

    async def start(self, program: str, *arguments: str, **options: Any) -> Process:
        match arguments:
            case ("-m", module) if program == self._python and module.startswith(STARTED):
                return await self._start_fork(module, **options)
        return await self._start_new(program, *arguments, **options)

    async def _start_fork(
        self,
        module: str,
        *,
        stdin: int,
        stdout: int,
        start_new_session: bool,
        pass_fds: Sequence[int],
    ) -> Process:
        def fork(standard: Sequence[int]) -> StartedFork:
            order = ChildOrder(
                module=module,
                variables=dict(os.environ),
                folder=os.getcwd(),
                leads_session=start_new_session,
                numbers=[0, 1, 2, *pass_fds],
            )
            return self._fork(order, [*standard, *pass_fds])

        loop = asyncio.get_running_loop()
        protocol = SubprocessStreamProtocol(limit=LINE_BYTES, loop=loop)
        is_connected = loop.create_future()
        transport = ForkTransport(
            loop, protocol, module, False, stdin, stdout, None, 0, waiter=is_connected, fork=fork
        )
        Thread(target=transport.wait_for_end, daemon=True).start()
        await is_connected
        return Process(transport, protocol, loop)


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Become the parent of the processes below whose own parent ends meanwhile."""
    _control_process(SET_SUBREAPER, 1)
    try:
        yield
    finally:
        _control_process(SET_SUBREAPER, 0)


class ForkedChild:
    """A child, with what a transport asks of a `subprocess.Popen`."""

    stderr = None

    def __init__(
        self, fork: StartedFork, stdin: IO[bytes] | None, stdout: IO[bytes] | None
    ) -> None:
        self.pid, self.wait = fork
        self.stdin = stdin
        self.stdout = stdout
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ForkTransport(BaseSubprocessTransport):
    """The pipes of a child, for an event loop."""

    def _start(  # type: ignore[override]
        self, *, stdin: int, stdout: int, fork: Callable[[Sequence[int]], StartedFork], **_: object
    ) -> None:
        with ExitStack() as its:
            nothing = its.enter_context(open(os.devnull, "r+b", buffering=0)).fileno()
            standard = [nothing, nothing, 2]
            given = taken = None
            if stdin == PIPE:
                standard[0], ours = os.pipe()
                its.callback(os.close, standard[0])
                given = os.fdopen(ours, "wb", buffering=0)
            if stdout == PIPE:
                ours, standard[1] = os.pipe()
                its.callback(os.close, standard[1])
                taken = os.fdopen(ours, "rb", buffering=0)
            self._child = self._proc = ForkedChild(fork(standard), given, taken)  # type: ignore[assignment]

    def wait_for_end(self) -> None:
        """Wait until the child has ended, and tell the loop, unless nobody listens any more."""
        code = self._child.wait()
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._process_exited, code)
