"""A worker thread of the embedded table, which runs the calls of one loop iteration together.

Reads of one turn see one moment; writes of one turn share one commit.
"""

import sqlite3
from asyncio import AbstractEventLoop, Future, gather, get_running_loop, to_thread
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from sqlite3 import Connection
from threading import Thread
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias, TypeVar

from penstock.datastore.errors import Unavailable
from penstock.datastore.sqlite import rows
from penstock.datastore.sqlite.file_failures import caller_error, is_busy

T = TypeVar("T")
DatabaseCall: TypeAlias = Callable[[Connection], Any]


class FailedCall(NamedTuple):
    """The outcome of a call that raised an error."""

    error: Exception


TurnRunner: TypeAlias = Callable[[Connection, Sequence[DatabaseCall]], list[Any]]
"""Runs at least the first of the calls; returns the value, or FailedCall, of each that it ran. An
error that it raises itself is the outcome of all of them."""


class _PendingCall(NamedTuple):
    work: DatabaseCall
    answer: "Future[Any]"


class WorkerThread:
    """One thread with one connection, for the callers of one event loop.

    Handing over a call costs as much as many reads, and two threads of one interpreter that run at
    once take its lock from each other with every row. So all calls of one iteration of the loop
    make one turn of the thread, and their outcomes return in one iteration.
    """

    def __init__(self, name: str, connect: Callable[[], Connection], turn: TurnRunner) -> None:
        self._thread = Thread(target=self._run_thread, name=name, daemon=True)
        self._turns: SimpleQueue[tuple[AbstractEventLoop, list[_PendingCall]] | None] = (
            SimpleQueue()
        )
        self._connect = connect
        self._turn = turn
        self._connection: Connection | None = None
        self._waiting: list[_PendingCall] = []
        self._busy = False
        self._started = False
        self._closed = False

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run the call, in the order of arrival, unless it is cancelled while it waits."""
        if self._closed:
            raise RuntimeError("the table is closed")
        return await self._enqueue(work)

    async def close(self) -> None:
        """Finish the calls that were begun, however long they take, and close the connection."""
        self._closed = True
        if self._busy:
            await gather(self._enqueue(_do_nothing), return_exceptions=True)
        if self._thread.is_alive():
            self._turns.put(None)
            await to_thread(self._thread.join)

    def _enqueue(self, work: Callable[[Connection], T]) -> "Future[T]":
        loop = get_running_loop()
        answer: Future[T] = loop.create_future()
        self._waiting.append(_PendingCall(work, answer))
        if not self._busy:
            self._busy = True
            # At the end of this iteration, because other calls may arrive before that.
            loop.call_soon(self._hand_over, loop)
        return answer

    def _hand_over(self, loop: AbstractEventLoop) -> None:
        turn = [waiting for waiting in self._waiting if not waiting.answer.done()]
        self._waiting = []
        self._busy = bool(turn)
        if turn and self._ensure_started(loop, turn):
            self._turns.put((loop, turn))

    def _ensure_started(self, loop: AbstractEventLoop, turn: list[_PendingCall]) -> bool:
        """Start the thread unless it runs; if the system has no thread, the turn is Unavailable."""
        if not self._started:
            try:
                self._thread.start()
            except RuntimeError as error:
                unavailable = Unavailable("The server has no thread to spare; try again.")
                unavailable.__cause__ = error
                self._answer(loop, turn, [FailedCall(unavailable)] * len(turn))
                return False
            self._started = True
        return True

    def _run_thread(self) -> None:
        """The body of the thread: run turns until the queue yields None."""
        while handed := self._turns.get():
            self._run_turn(*handed)
            del handed
        if self._connection is not None:
            self._connection.close()

    def _run_turn(self, loop: AbstractEventLoop, turn: list[_PendingCall]) -> None:
        try:
            self._connection = self._connection or self._connect()
            outcomes = self._turn(self._connection, [waiting.work for waiting in turn])
        except Exception as error:
            outcomes = [FailedCall(error)] * len(turn)
        # A closed loop has no callers that wait.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._answer, loop, turn, outcomes)

    def _answer(
        self, loop: AbstractEventLoop, turn: list[_PendingCall], outcomes: list[Any]
    ) -> None:
        for (_, answer), outcome in zip(turn, outcomes, strict=False):
            if answer.done():
                continue
            if isinstance(outcome, FailedCall):
                answer.set_exception(caller_error(outcome.error))
            else:
                answer.set_result(outcome)
        self._waiting[:0] = turn[len(outcomes) :]
        # Behind the callers with an answer, so that their next calls join this turn.
        loop.call_soon(self._hand_over, loop)


def _do_nothing(_connection: Connection) -> None:
    """The last call of a thread that closes."""


# A turn ends after this time: finished calls get their answers, and other processes may write.
TURN_SECONDS = 0.02


def read_together(connection: Connection, works: Sequence[DatabaseCall]) -> list[Any]:
    """Run the reads one after another, all on what was committed when the turn began."""
    with rows.read_transaction(connection):
        return _run_in_order(works, partial(_try_call, connection))


def write_together(connection: Connection, works: Sequence[DatabaseCall]) -> list[Any]:
    """Run the writes one after another, each wholly or not at all, and commit them with one flush.

    Each sees the writes before it, but no caller gets an answer before the commit. Where the file
    itself fails, all are undone and each is tried alone, because one of them may be the cause.
    """
    if len(works) > 1:
        try:
            return _commit_group(connection, works)
        except sqlite3.Error as error:
            if is_busy(error):
                raise
    return [_commit_alone(connection, work) for work in works]


def _run_in_order(works: Sequence[DatabaseCall], do: Callable[[DatabaseCall], Any]) -> list[Any]:
    """Run the calls one after another until the turn's time is over."""
    outcomes = []
    until = perf_counter() + TURN_SECONDS
    for work in works:
        outcomes.append(do(work))
        if perf_counter() >= until:
            break
    return outcomes


def _try_call(connection: Connection, work: DatabaseCall) -> Any:
    try:
        return work(connection)
    except Exception as error:
        return FailedCall(error)


def _commit_group(connection: Connection, works: Sequence[DatabaseCall]) -> list[Any]:
    with rows.write_transaction(connection):
        return _run_in_order(works, partial(_run_member, connection))


def _run_member(connection: Connection, work: DatabaseCall) -> Any:
    """Run the call, or undo it; an error of the file may have undone the others too."""
    connection.execute("SAVEPOINT member")
    try:
        outcome = work(connection)
    except sqlite3.Error:
        raise
    except Exception as error:
        connection.execute("ROLLBACK TO member")
        outcome = FailedCall(error)
    connection.execute("RELEASE member")
    return outcome


def _commit_alone(connection: Connection, work: DatabaseCall) -> Any:
    try:
        with rows.write_transaction(connection):
            return work(connection)
    except Exception as error:
        return FailedCall(error)
