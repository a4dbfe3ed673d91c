"""A fork of the process that has collected the tests, which runs shares of them."""

import atexit
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from multiprocessing.connection import Connection
from typing import Any, Final, NoReturn

import pytest
from _pytest.unraisableexception import gc_collect_iterations_key

# These print what happens; the process that has collected the tests does that.
PRINTERS = ("terminalreporter", "terminalprogress")


@dataclass(frozen=True, slots=True)
class ShareWanted:
    """The worker begins the last test that it has."""


@dataclass(frozen=True, slots=True)
class TestBegun:
    position: int


@dataclass(frozen=True, slots=True)
class HookCall:
    """A call of a hook of pytest that tells of a test."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WorkerFailed:
    """The worker cannot go on, and no test is to blame."""

    why: str


PATIENCE_SECONDS: Final = 0.5
"""The longest time for which what is told of a test waits for more."""


class Outbox:
    """Sends messages to the other process: many at once, since most tests take a millisecond."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._waiting: list[object] = []
        self._sent_at = time.monotonic()

    def add(self, message: object) -> None:
        """Send a message with the next ones, unless tests are slow."""
        self._waiting.append(message)
        if time.monotonic() - self._sent_at > PATIENCE_SECONDS:
            self.flush()

    def send(self, message: object) -> None:
        """Send a message behind those that wait."""
        self._waiting.append(message)
        self.flush()

    def flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._sent_at = time.monotonic()
        if waiting:
            self._connection.send(waiting)


class Teller:
    """Tells the other process of each call of a hook that tells of a test."""

    def __init__(self, config: pytest.Config, outbox: Outbox) -> None:
        self._config = config
        self._outbox = outbox

    def _tell(self, name: str, **arguments: Any) -> None:
        self._outbox.add(HookCall(name, arguments))

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self._tell("pytest_runtest_logstart", nodeid=nodeid, location=location)

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        self._tell("pytest_runtest_logfinish", nodeid=nodeid, location=location)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._tell("pytest_runtest_logreport", report=data)

    def pytest_warning_recorded(
        self, warning_message: warnings.WarningMessage, when: str, nodeid: str, location: Any
    ) -> None:
        told = warnings.WarningMessage(
            str(warning_message.message),
            warning_message.category,
            warning_message.filename,
            warning_message.lineno,
        )
        self._tell(
            "pytest_warning_recorded",
            warning_message=told,
            when=when,
            nodeid=nodeid,
            location=location,
        )


def run_worker(session: pytest.Session, connection: Connection, number: int) -> NoReturn:
    """Run shares of the tests until there are no more, and end the process."""
    outbox = Outbox(connection)
    try:
        # Ctrl-C at the terminal is for the other process, which passes it on.
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _become_worker(session.config, outbox, number)
        try:
            _run_tests(session, connection, outbox)
        finally:
            outbox.flush()
            session._setupstate.teardown_exact(None)
            try:
                session.config._ensure_unconfigure()
            except* pytest.PytestUnraisableExceptionWarning:
                pass  # What is only found to be open now belongs to no test.
            atexit._run_exitfuncs()
    except BrokenPipeError:
        pass  # The other process has ended.
    except BaseException:
        outbox.send(WorkerFailed(traceback.format_exc()))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _become_worker(config: pytest.Config, outbox: Outbox, number: int) -> None:
    for name in PRINTERS:
        config.pluginmanager.unregister(name=name)
    config.pluginmanager.register(Teller(config, outbox))
    # What a collection at the end finds belongs to no test, and it takes seconds.
    config.stash[gc_collect_iterations_key] = 0
    folders = config._tmp_path_factory  # type: ignore[attr-defined]
    folders._basetemp = folders.getbasetemp() / f"worker-{number}"
    folders._basetemp.mkdir(mode=0o700)


def _run_tests(session: pytest.Session, connection: Connection, outbox: Outbox) -> None:
    following = chain(_positions(connection, outbox), [None])
    for position, after in pairwise(following):
        assert position is not None
        # At once: whoever waits for a test that hangs or dies knows which it is.
        outbox.send(TestBegun(position))
        session.config.hook.pytest_runtest_protocol(
            item=session.items[position], nextitem=None if after is None else session.items[after]
        )
        if session.shouldfail or session.shouldstop:
            return


def _positions(connection: Connection, outbox: Outbox) -> Iterator[int]:
    """Yield the tests to run; the share after the last one is asked for before that one runs."""
    while True:
        outbox.send(ShareWanted())
        share: list[int] = connection.recv()
        if not share:
            return
        yield from share
