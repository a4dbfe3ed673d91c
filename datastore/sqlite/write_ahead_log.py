"""The write-ahead log, which a database keeps once one process has switched it on."""

import sqlite3
import time
from sqlite3 import Connection
from typing import Final

PAUSE_SECONDS: Final = 0.01


def switch_on_log(connection: Connection) -> None:
    """Switch the write-ahead log on; waits for other processes as long as the connection does.

    SQLite waits for none of them here: each has read the file already and would become its writer,
    and where several make a file at once, all but one are told at once that it is locked.
    """
    ((milliseconds,),) = connection.execute("PRAGMA busy_timeout")
    end = time.monotonic() + milliseconds / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(PAUSE_SECONDS)
        else:
            return
