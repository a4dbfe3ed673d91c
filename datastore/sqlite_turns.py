"""What waits for the embedded table is done together: reads of one moment, writes of one commit."""

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from sqlite3 import Connection
from time import perf_counter
from typing import Any

from penstock.datastore import sqlite_rows
from penstock.datastore.sqlite_lane import Failed, Work, is_busy

# Those whose work is done are told after so many seconds, and other processes may write.
TURN_SECONDS = 0.02


def read_together(connection: Connection, works: Sequence[Work]) -> list[Any]:
    """Read one after another, from what was committed when the turn began."""
    with sqlite_rows.reading(connection):
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
    with sqlite_rows.writing(connection):
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
        with sqlite_rows.writing(connection):
            return work(connection)
    except Exception as error:
        return Failed(error)
