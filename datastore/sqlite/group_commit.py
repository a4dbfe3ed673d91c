"""A thread of the embedded table: whatever waits for it is handed over, and answered, at once.

What waits for the embedded table is done together: reads of one moment, writes of one commit.
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
    """What came of a work that raised."""

    error: Exception


Turn: TypeAlias = Callable[[Connection, Sequence[Work]], list[Any]]
"""Does at least the first of the works; gives the value, or Failed, of each that it did.

What it raises itself is what came of all of them.
"""


class _Waiting(NamedTuple):
    work: Work
    answer: "Future[Any]"


class Lane:
    """One thread with one connection, for the callers of one event loop.

    To hand over costs as much as many a read, and two threads of one interpreter that run at once
    take its lock from each other with every row. So all that was asked for in one iteration of the
    loop is one turn of the thread, and all that came of it is answered in one iteration.
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
        """Do the work, in the order of asking; one that is cancelled while it waits is not done."""
        if self._closed:
            raise RuntimeError("the table is closed")
        return await self._ask(work)

    async def close(self) -> None:
        """Finish what was begun, however long it takes, and let go of the connection."""
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
            # Not yet: others may ask before this iteration ends.
            loop.call_soon(self._hand_over, loop)
        return answer

    def _hand_over(self, loop: AbstractEventLoop) -> None:
        turn = [waiting for waiting in self._waiting if not waiting.answer.done()]
        self._waiting = []
        self._busy = bool(turn)
        if turn and self._has_started(loop, turn):
            self._turns.put((loop, turn))

    def _has_started(self, loop: AbstractEventLoop, turn: list[_Waiting]) -> bool:
        """Start the thread, unless it runs; where there is none to be had, say so to the turn."""
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
        """Be the thread: take turns until told to end."""
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
        # Nobody waits in a loop that is closed.
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
        # Behind those who were answered: what they ask for next goes along.
        loop.call_soon(self._hand_over, loop)


def _nothing(_connection: Connection) -> None:
    """Be the last in the lane."""


def told(error: Exception) -> Exception:
    """What a caller is told: Unavailable where the file stayed locked."""
    if not is_busy(error):
        return error
    unavailable = Unavailable("The table's file is in use; try again.")
    unavailable.__cause__ = error
    return unavailable


def is_busy(error: Exception) -> bool:
    # Python's own complaints have no code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return isinstance(error, sqlite3.Error) and code & _PRIMARY_CODE in _BUSY


# Those whose work is done are told after so many seconds, and other processes may write.
TURN_SECONDS = 0.02


def read_together(connection: Connection, works: Sequence[Work]) -> list[Any]:
    """Read one after another, from what was committed when the turn began."""
    with rows.reading(connection):
        return _in_turn(works, partial(_tried, connection))


def write_together(connection: Connection, works: Sequence[Work]) -> list[Any]:
    """Write one after another, each wholly or not at all, and commit them with one flush.

    Each sees what those before it wrote, though none is told of before the commit. Where the file
    itself fails, all are undone and each is tried alone: what one asks for may be the reason.
    """
    if len(works) > 1:
        try:
            return _group(connection, works)
        except sqlite3.Error as error:
            if is_busy(error):
                raise
    return [_alone(connection, work) for work in works]


def _in_turn(works: Sequence[Work], do: Callable[[Work], Any]) -> list[Any]:
    """Do one after another until the turn has taken its time."""
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
    """Do the work, or undo what it did; an error of the file may have undone the others too."""
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
