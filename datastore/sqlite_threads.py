"""Threads that do the embedded table's blocking work, each with a connection of its own."""

import sqlite3
from asyncio import get_running_loop
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from sqlite3 import Connection
from threading import local
from typing import TypeVar

from datastore.errors import Unavailable

T = TypeVar("T")

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_PRIMARY_CODE = 0xFF


class Threads:
    """Up to `count` threads, started as needed; `connect` is called once in each."""

    def __init__(self, name: str, count: int, connect: Callable[[], Connection]) -> None:
        self._executor = ThreadPoolExecutor(count, thread_name_prefix=name)
        self._connect = connect
        self._here = local()
        self._connections: list[Connection] = []

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Do the work in one of the threads; Unavailable if the file stayed locked."""
        return await get_running_loop().run_in_executor(self._executor, self._do, work)

    def start(self, work: Callable[[Connection], object]) -> None:
        """Do the work some time, telling nobody what came of it."""
        self._executor.submit(self._do, work)

    def close(self) -> None:
        """Finish what was begun, however long it takes, and let go of the connections."""
        self._executor.shutdown()
        for connection in self._connections:
            connection.close()

    def _do(self, work: Callable[[Connection], T]) -> T:
        try:
            return work(self._connection())
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _PRIMARY_CODE in _BUSY:
                raise Unavailable("The table's file is in use; try again.") from error
            raise

    def _connection(self) -> Connection:
        connection: Connection | None = getattr(self._here, "connection", None)
        if connection is None:
            connection = self._here.connection = self._connect()
            self._connections.append(connection)
        return connection
