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

T = TypeVar("T")
Work: TypeAlias = Callable[[Connection], Any]


_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_PRIMARY_CODE = 0xFF


class Failed(NamedTuple):
    """The outcome of a call that raised an error."""

    error: Exception


Turn: TypeAlias = Callable[[Connection, Sequence[Work]], list[Any]]
"""Runs at least the first of the calls; returns the value, or FailedCall, of each that it ran. An
error that it raises itself is the outcome of all of them."""


class _Waiting(NamedTuple):
    work: Work
    answer: "Future[Any]"


class Lane:
    """One thread with one connection, for the callers of one event loop.

    Handing over a call costs as much as many reads, and two threads of one interpreter that run at
    once take its lock from each other with every row. So all calls of one iteration of the loop
    make one turn of the thread, and their outcomes return in one iteration.
    """

    def __init__(self, name: str, connect: Callable[[], Connection], turn: Turn) -> None:
        self._thread = Thread(target=self._serve, name=name, daemon=True)
        self._turns: SimpleQueue[tuple[AbstractEventLoop, list[_Waiting]] | None] = SimpleQueue()
        self._connect = connect
        self._turn = turn
        self._connection: Connection | None = None
        self._waiting: list[_Waiting] = []
        self._busy = False
        self._started = False
        self._closed = False

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run the call, in the order of arrival, unless it is cancelled while it waits."""
        if self._closed:
            raise RuntimeError("the table is closed")
        return await self._ask(work)

    async def close(self) -> None:
        """Finish the calls that were begun, however long they take, and close the connection."""
        self._closed = True
        if self._busy:
            await gather(self._ask(_nothing), return_exceptions=True)
        if self._thread.is_alive():
            self._turns.put(None)
            await to_thread(self._thread.join)

    def _ask(self, work: Callable[[Connection], T]) -> "Future[T]":
        loop = get_running_loop()
        answer: Future[T] = loop.create_future()
        self._waiting.append(_Waiting(work, answer))
        if not self._busy:
            self._busy = True
            # At the end of this iteration, because other calls may arrive before that.
            loop.call_soon(self._hand_over, loop)
        return answer

    def _hand_over(self, loop: AbstractEventLoop) -> None:
        turn = [waiting for waiting in self._waiting if not waiting.answer.done()]
        self._waiting = []
        self._busy = bool(turn)
        if turn and self._has_started(loop, turn):
            self._turns.put((loop, turn))

    def _has_started(self, loop: AbstractEventLoop, turn: list[_Waiting]) -> bool:
        """Start the thread unless it runs; if the system has no thread, the turn is Unavailable."""
        if not self._started:
            try:
                self._thread.start()
            except RuntimeError as error:
                unavailable = Unavailable("The server has no thread to spare; try again.")
                unavailable.__cause__ = error
                self._answer(loop, turn, [Failed(unavailable)] * len(turn))
                return False
            self._started = True
        return True

    def _serve(self) -> None:
        """The body of the thread: run turns until the queue yields None."""
        while handed := self._turns.get():
            self._take(*handed)
            del handed
        if self._connection is not None:
            self._connection.close()

    def _take(self, loop: AbstractEventLoop, turn: list[_Waiting]) -> None:
        try:
            self._connection = self._connection or self._connect()
            outcomes = self._turn(self._connection, [waiting.work for waiting in turn])
        except Exception as error:
            outcomes = [Failed(error)] * len(turn)
        # A closed loop has no callers that wait.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._answer, loop, turn, outcomes)

    def _answer(self, loop: AbstractEventLoop, turn: list[_Waiting], outcomes: list[Any]) -> None:
        for (_, answer), outcome in zip(turn, outcomes, strict=False):
            if answer.done():
                continue
            if isinstance(outcome, Failed):
                answer.set_exception(told(outcome.error))
            else:
                answer.set_result(outcome)
        self._waiting[:0] = turn[len(outcomes) :]
        # Behind the callers with an answer, so that their next calls join this turn.
        loop.call_soon(self._hand_over, loop)


def _nothing(_connection: Connection) -> None:
    """The last call of a thread that closes."""


def told(error: Exception) -> Exception:
    """The error for the caller: Unavailable where the file stayed locked."""
    if not is_busy(error):
        return error
    unavailable = Unavailable("The table's file is in use; try again.")
    unavailable.__cause__ = error
    return unavailable


def is_busy(error: Exception) -> bool:
    # Errors that Python itself raises have no code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return isinstance(error, sqlite3.Error) and code & _PRIMARY_CODE in _BUSY


# A turn ends after this time: finished calls get their answers, and other processes may write.
TURN_SECONDS = 0.02


def read_together(connection: Connection, works: Sequence[Work]) -> list[Any]:
    """Run the reads one after another, all on what was committed when the turn began."""
    with rows.reading(connection):
        return _in_turn(works, partial(_tried, connection))


def write_together(connection: Connection, works: Sequence[Work]) -> list[Any]:
    """Run the writes one after another, each wholly or not at all, and commit them with one flush.

    Each sees the writes before it, but no caller gets an answer before the commit. Where the file
    itself fails, all are undone and each is tried alone, because one of them may be the cause.
    """
    if len(works) > 1:
        try:
            return _group(connection, works)
        except sqlite3.Error as error:
            if is_busy(error):
                raise
    return [_alone(connection, work) for work in works]


def _in_turn(works: Sequence[Work], do: Callable[[Work], Any]) -> list[Any]:
    """Run the calls one after another until the turn's time is over."""
    outcomes = []
    until = perf_counter() + TURN_SECONDS
    for work in works:
        outcomes.append(do(work))
        if perf_counter() >= until:
            break
    return outcomes


def _tried(connection: Connection, work: Work) -> Any:
    try:
        return work(connection)
    except Exception as error:
        return Failed(error)


def _group(connection: Connection, works: Sequence[Work]) -> list[Any]:
    with rows.writing(connection):
        return _in_turn(works, partial(_member, connection))


def _member(connection: Connection, work: Work) -> Any:
    """Run the call, or undo it; an error of the file may have undone the others too."""
    connection.execute("SAVEPOINT member")
    try:
        outcome = work(connection)
    except sqlite3.Error:
        raise
    except Exception as error:
        connection.execute("ROLLBACK TO member")
        outcome = Failed(error)
    connection.execute("RELEASE member")
    return outcome


def _alone(connection: Connection, work: Work) -> Any:
    try:
        with rows.writing(connection):
            return work(connection)
    except Exception as error:
        return Failed(error)
