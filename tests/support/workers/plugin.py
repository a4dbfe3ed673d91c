"""Collects the tests once, and forks workers that run them: `pytest --workers 3`.

Processes that each load the product and collect the tests, as those of pytest-xdist do, need 15 s
of processor time for that, each. Before it forks, this process has no thread, no event loop and no
client of a store.
"""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from threading import active_count
from typing import Any

import pytest

from tests.support.patience import HUNG_SECONDS
from tests.support.workers.shares import Shares
from tests.support.workers.worker import HookCall, ShareWanted, TestBegun, WorkerFailed, run_worker


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=1, help="processes that run the tests")
    parser.addoption(
        "--hung-seconds",
        type=float,
        default=HUNG_SECONDS + 60,
        help="the time after which a worker is aborted with its test, which fails",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "runs_together(name): tests that share something slow to make, and run together"
    )
    if config.getoption("workers") > 1 and not config.getoption("usepdb"):
        config.pluginmanager.register(ForkedRun(config, config.getoption("workers")))


@dataclass(slots=True)
class Worker:
    """A worker, and the positions of the tests that it was given and has not ended."""

    process: int
    connection: Connection
    given: list[int] = field(default_factory=list)
    running: int | None = None
    since: float = 0.0
    """The time at which it was last heard of."""


class ForkedRun:
    """Distributes the tests among workers, and reports as if they had run in this process."""

    def __init__(self, config: pytest.Config, number: int) -> None:
        self._config = config
        self._number = number
        self._hung_seconds: float = config.getoption("hung_seconds")
        self._forked = 0
        self._workers: dict[Connection, Worker] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or self._config.option.collectonly:
            return None
        # Names of files would be printed for each change between workers.
        if terminal := self._config.pluginmanager.get_plugin("terminalreporter"):
            terminal.showfspath = False
        self._session = session
        self._shares = Shares(session.items, self._number)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            for _ in range(min(self._number, len(session.items))):
                self._fork()
            self._listen()
        finally:
            self._end_workers()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        return True

    def _listen(self) -> None:
        while self._workers:
            for connection in self._wait():
                self._hear(self._workers[connection])
                if self._session.shouldfail:
                    raise self._session.Failed(self._session.shouldfail)
                if self._session.shouldstop:
                    raise self._session.Interrupted(self._session.shouldstop)
            # This process may have been slow itself: what workers said is heard before.
            self._abort_hung_workers()

    def _wait(self) -> list[Any]:
        """Return the connections with messages; Ctrl-C counts here, amid no message."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        try:
            return wait(list(self._workers), self._hung_seconds / 10)
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})

    def _abort_hung_workers(self) -> None:
        """End workers whose test hangs: each tells what its threads are doing.

        A thread of each worker that watches its tests, as `faulthandler_timeout` starts, costs
        every test a turn of a processor that may be busy.
        """
        for worker in self._workers.values():
            if time.monotonic() - worker.since > self._hung_seconds:
                with suppress(ProcessLookupError):
                    os.kill(worker.process, signal.SIGABRT)

    def _fork(self) -> None:
        assert active_count() == 1, "a thread from the collection of tests would miss in its forks"
        mine, its = Pipe()
        self._forked += 1
        with self._without_capture():
            process = os.fork()
            if process == 0:
                for one in (mine, *self._workers):
                    one.close()
        if process == 0:
            run_worker(self._session, its, self._forked)
        its.close()
        self._workers[mine] = Worker(process, mine, since=time.monotonic())

    @contextmanager
    def _without_capture(self) -> Iterator[None]:
        """Leave no file of captured output open that two processes would share."""
        sys.stdout.flush()
        sys.stderr.flush()
        # The folder of temporary files is made here, once.
        self._config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        assert capture is not None
        capture.stop_global_capturing()
        yield
        capture.start_global_capturing()
        capture.suspend_global_capture()

    def _hear(self, worker: Worker) -> None:
        try:
            messages = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            self._note_end(worker)
            return
        worker.since = time.monotonic()
        for message in messages:
            self._obey(worker, message)

    def _obey(self, worker: Worker, message: object) -> None:
        match message:
            case ShareWanted():
                share = self._shares.take()
                worker.given += share
                worker.connection.send(share)
            case TestBegun(position):
                worker.running = position
            case HookCall(name, arguments):
                self._call_hook(worker, name, arguments)
            case WorkerFailed(why):
                raise RuntimeError(f"a worker failed:\n{why}")

    def _call_hook(self, worker: Worker, name: str, arguments: dict[str, Any]) -> None:
        if name == "pytest_runtest_logreport":
            arguments["report"] = self._config.hook.pytest_report_from_serializable(
                config=self._config, data=arguments["report"]
            )
        if name == "pytest_runtest_logfinish" and worker.running is not None:
            worker.given.remove(worker.running)
            worker.running = None
        hook = getattr(self._config.hook, name)
        if hook.is_historic():
            hook.call_historic(kwargs=arguments)
        else:
            hook(**arguments)

    def _note_end(self, worker: Worker) -> None:
        """Report the test that a worker has died of, and let another run what it had left."""
        del self._workers[worker.connection]
        worker.connection.close()
        if worker.running is not None:
            with suppress(ProcessLookupError):
                os.killpg(worker.process, signal.SIGKILL)  # what its test has started
        _, status = os.waitpid(worker.process, 0)
        code = os.waitstatus_to_exitcode(status)
        if worker.running is not None:
            self._report_death(worker.running, code)
            worker.given.remove(worker.running)
        elif code != 0:
            raise RuntimeError(f"a worker ended with {code} beside its tests")
        if worker.given:
            self._shares.give_back(worker.given)
            self._fork()

    def _report_death(self, position: int, code: int) -> None:
        item = self._session.items[position]
        why = f"the worker ended with {code} while it ran this test"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", why, "call")
        self._config.hook.pytest_runtest_logreport(report=report)
        self._config.hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _end_workers(self) -> None:
        """Interrupt the workers that still run, and wait until they have left nothing behind."""
        for worker in self._workers.values():
            os.kill(worker.process, signal.SIGINT)
            with suppress(OSError):
                worker.connection.send([])  # Whatever it runs is its last test.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        try:
            for worker in self._workers.values():
                with suppress(EOFError, OSError):
                    while True:
                        worker.connection.recv_bytes()
        except KeyboardInterrupt:
            for worker in self._workers.values():
                os.kill(worker.process, signal.SIGKILL)
            raise
        finally:
            for worker in self._workers.values():
                os.waitpid(worker.process, 0)
