"""DuckDB, which writes and reads the files of kept rows, in threads and with bounded memory."""

import asyncio
import importlib.util
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import get_ident
from time import clock_gettime
from typing import Final, Generic, TypeVar
from uuid import uuid4
from weakref import finalize

from penstock.datastore.access.work import WorkPayer
from penstock.datastore.errors import IllegalState, LimitExceeded, Unavailable
from penstock.datastore.kept_rows import database
from penstock.datastore.kept_rows.database import Connection, confine, open_database
from penstock.datastore.scratch_folders import make_scratch_folder
from penstock.datastore.turn_threads import TurnThreads

T = TypeVar("T")

logger = logging.getLogger("penstock.rows")

_READERS: Final = TurnThreads("rows read", 2, most_of_one=1)
"""One caller's queries leave a thread to others, however long they take."""

_WRITERS: Final = TurnThreads("rows write", 2, most_of_one=1)
"""The parts of executions are written in threads of their own: they may take minutes."""

_INTERRUPT_AGAIN: Final = 0.1
"""The seconds after which a query that goes on is interrupted again."""

READ_SECONDS: Final = 60
WRITE_SECONDS: Final = 3600
"""Seconds of processor time of a query that a caller waits for, and of one of the server's own."""

UNREADABLE: Final = ("These rows cannot be read so.", "UNREADABLE_ROWS")
"""The words and the state of rows whose files cannot be read, or are not those of the rows."""

MISSING: Final = "This server keeps no rows: install it with the extra `results`."


def is_installed() -> bool:
    """Whether the engine is there; it comes with the extra `results`."""
    return importlib.util.find_spec("duckdb") is not None


@dataclass(slots=True, eq=False, weakref_slot=True)
class RowsEngine:
    """Runs queries over files below a folder of its own.

    A query reads and writes no other files, and loads nothing. Each has a connection of its own, to
    a database in memory that no other query uses at the same time.
    """

    _folder: Path | None = None
    _databases: list[Connection] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The folder of local files, which is removed with the engine, or when the process ends.

        That of a process that was killed is removed by the next server or worker of the machine.
        """
        if self._folder is None:
            made = make_scratch_folder("rows")
            finalize(self, made.remove)
            self._folder = made.path
        return self._folder

    @contextmanager
    def scratch_files(self, *suffixes: str) -> Iterator[list[Path]]:
        """Names of local files with these suffixes, which are removed at the end of the block."""
        stem = self.folder / str(uuid4())
        paths = [stem.with_suffix(suffix) for suffix in suffixes]
        try:
            yield paths
        finally:
            for path in paths:
                path.unlink(missing_ok=True)

    async def read(self, work: Callable[[Connection], T], payer: WorkPayer) -> T:
        """Do work with a connection in a thread at the user's turn, and return its result.

        The payer owes the processor time of the thread, also of a query that is interrupted because
        its caller is cancelled. Raises Unavailable where the engine is not installed, LimitExceeded
        for what takes more memory than there is, or too much processor time, and IllegalState for
        files that it cannot read.
        """
        return await self._run(work, payer, _READERS, READ_SECONDS)

    async def write(self, work: Callable[[Connection], T], payer: WorkPayer) -> T:
        """Do work like `read`, in a thread for the work of executions, and the server's own."""
        return await self._run(work, payer, _WRITERS, WRITE_SECONDS)

    async def _run(
        self,
        work: Callable[[Connection], T],
        payer: WorkPayer,
        threads: TurnThreads,
        most_seconds: int,
    ) -> T:
        if not is_installed():
            raise Unavailable(MISSING)
        query = _Query(work, self.folder, self._databases)
        running = asyncio.ensure_future(threads.run(query.run, payer.user))
        try:
            # An interrupt between two statements ends neither, so it is repeated.
            while not (await asyncio.wait([running], timeout=_INTERRUPT_AGAIN))[0]:
                if query.read_clock() > most_seconds:
                    query.interrupt(partial(_too_long_error, most_seconds))
            return running.result()
        except asyncio.CancelledError:
            query.interrupt()
            if not query.has_begun:
                running.cancel()
            while not (await asyncio.wait([running], timeout=_INTERRUPT_AGAIN))[0]:
                query.interrupt()
            await asyncio.gather(running, return_exceptions=True)  # Nobody wants its result.
            raise
        finally:
            payer.pay(query.seconds)


def _cancelled_error() -> Exception:
    return Unavailable("The query was cancelled.")


def _too_long_error(most_seconds: int) -> Exception:
    limit = "seconds of processor time of a query over rows"
    return LimitExceeded(limit, most_seconds, most_seconds + 1)


def _clock_of_thread() -> int:
    """The clock of this thread's processor time; that of the wall where a system has none."""
    if hasattr(time, "pthread_getcpuclockid"):
        return time.pthread_getcpuclockid(get_ident())
    return time.CLOCK_MONOTONIC


class _Query(Generic[T]):
    """Work with a connection, which its thread opens and closes; `seconds` is its processor time.

    The thread of the query is the only one that works on it.
    """

    def __init__(
        self, work: Callable[[Connection], T], folder: Path, databases: list[Connection]
    ) -> None:
        self._work = work
        self._folder = folder
        self._databases = databases
        self._connection: Connection | None = None
        self._error: Callable[[], Exception] | None = None
        self._clock: int | None = None
        self._began = 0.0
        self.has_begun = False
        self.seconds = 0.0

    def read_clock(self) -> float:
        """The processor time of the query until now; from any thread, while it runs."""
        return 0.0 if self._clock is None else clock_gettime(self._clock) - self._began

    def interrupt(self, error: Callable[[], Exception] = _cancelled_error) -> None:
        """End the statement that runs, with an error; from any thread."""
        import duckdb  # noqa: PLC0415 - it comes with an extra

        self._error = error
        connection = self._connection
        if connection is not None:
            with suppress(duckdb.ConnectionException):  # The query has just closed it.
                connection.interrupt()

    def _interruption_error(self) -> Exception:
        return (self._error or _cancelled_error)()

    def run(self) -> T:
        self.has_begun = True
        clock = _clock_of_thread()
        self._began = clock_gettime(clock)
        self._clock = clock
        try:
            opened = self._databases.pop() if self._databases else self._open()
            self._connection = opened.cursor()
            try:
                return self._run_bounded(self._connection)
            finally:
                self._connection.close()
                self._databases.append(opened)
        finally:
            self.seconds = self.read_clock()

    def _open(self) -> Connection:
        opened = open_database()
        confine(opened, self._folder)
        return opened

    def _run_bounded(self, connection: Connection) -> T:
        import duckdb  # noqa: PLC0415 - it comes with an extra

        if self._error is not None:
            raise self._interruption_error()
        try:
            return self._work(connection)
        except duckdb.InterruptException:
            raise self._interruption_error() from None
        except duckdb.OutOfMemoryException:
            limit, most = "bytes of memory of a query over rows", database.MEMORY_BYTES
            raise LimitExceeded(limit, most, most + 1) from None
        except (duckdb.BinderException, duckdb.ConversionException, duckdb.OutOfRangeException):
            raise IllegalState(*UNREADABLE) from None
        except duckdb.Error as error:
            if not _tells_of_damage(error):
                raise
            # The words of the engine may show values, and show the path of the copy.
            logger.error("a file of rows is damaged: %s", type(error).__name__)
            raise IllegalState(*UNREADABLE) from None


def _tells_of_damage(error: Exception) -> bool:
    """Whether the engine found a damaged file: its reader of Parquet raises errors of no class."""
    import duckdb  # noqa: PLC0415 - it comes with an extra

    has_class = isinstance(error, duckdb.DatabaseError)
    return isinstance(error, duckdb.InvalidInputException) or not has_class
