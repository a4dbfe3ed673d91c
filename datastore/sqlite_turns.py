"""What waits for the embedded table is done together: reads of one moment, writes of one commit."""

import sqlite3
from collections.abc import Sequence
from sqlite3 import Connection
from time import perf_counter
from typing import Any

from datastore import sqlite_rows
from datastore.sqlite_lane import Failed, Work, is_busy

# Those whose work is done are told after so many seconds, and other processes may write.
TURN_SECONDS = 0.02


def read_together(connection: Connection, works: Sequence[Work]) -> list[Any]:
    """Read one after another, from what was committed when the turn began."""
    outcomes = []
    until = perf_counter() + TURN_SECONDS
    with sqlite_rows.reading(connection):
        for work in works:
            try:
                outcomes.append(work(connection))
            except Exception as error:
                outcomes.append(Failed(error))
            if perf_counter() >= until:
                break
    return outcomes


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


def _group(connection: Connection, works: Sequence[Work]) -> list[Any]:
    outcomes = []
    until = perf_counter() + TURN_SECONDS
    with sqlite_rows.writing(connection):
        for work in works:
            outcomes.append(_member(connection, work))
            if perf_counter() >= until:
                break
    return outcomes


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
