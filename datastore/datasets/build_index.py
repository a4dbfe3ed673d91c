"""Making the index of a large dataset from its CSV, in a thread and with bounded memory.

The rows go from one local file to another, one after the other. SQLite sorts the columns, on the
disk where its memory does not suffice, and finds keys that occur twice.
"""

import logging
import sqlite3
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from shutil import disk_usage
from time import thread_time
from typing import Final

from penstock.datastore.datasets.csv import (
    MAX_PROBLEMS,
    MAX_RECORD,
    CsvCode,
    CsvReader,
    UnreadableCsv,
)
from penstock.datastore.datasets.indexed_rows import (
    index_statements,
    key_statement,
    name_column,
    table_statement,
)
from penstock.datastore.datasets.limits import CsvLimits
from penstock.datastore.errors import Unavailable
from penstock.datastore.records import DatasetContent
from penstock.formula.core.values import Scalar, text_of

logger = logging.getLogger("penstock.datasets")

MEMORY_BYTES: Final = 32 * 2**20
"""The memory in which SQLite keeps pages, and sorts."""

INDEX_GROWTH: Final = 10
"""The most bytes of an index for each byte that a file may have."""

LEAST_FREE: Final = 64 * 2**20
"""The free bytes of a disk that is not full."""

PAGE_BYTES: Final = 4096
BLOCK_BYTES: Final = 256 * 1024
ROWS_PER_NOTE: Final = 1000


class BuildStopped(Exception):
    """Nobody wants the index any more."""


class IndexBuild:
    """The making of one index, which another thread follows by `read_bytes`, and may stop.

    Columns and keys of the content must be valid. `seconds` is the processor time
    that it took until now.
    """

    def __init__(self, csv: Path, index: Path, content: DatasetContent, limits: CsvLimits) -> None:
        self._csv = csv
        self._index = index
        self._reader = CsvReader(content.columns, content.keys, limits)
        self._most_bytes = limits.size * INDEX_GROWTH
        self._columns = len(content.columns)
        names = [column.name for column in content.columns]
        self._keys = [names.index(key) for key in content.keys]
        self._connection: sqlite3.Connection | None = None
        self._is_stopped = False
        self._began = 0.0
        self.has_begun = False
        self.seconds = 0.0
        self.read_bytes = 0

    def stop(self) -> None:
        """Let `run` end soon with BuildStopped; from any thread."""
        self._is_stopped = True
        connection = self._connection
        if connection is not None:
            with suppress(sqlite3.ProgrammingError):  # its thread has just closed it
                connection.interrupt()

    def run(self) -> int:
        """Make the index; return the number of rows.

        Raises UnreadableCsv for a file that breaks rules, and Unavailable if the disk is full.
        """
        self.has_begun = True
        self._began = thread_time()
        try:
            return self._make()
        finally:
            self._note_time()

    def _note_time(self) -> None:
        self.seconds = thread_time() - self._began

    def _make(self) -> int:
        self._reader.require_size(self._csv.stat().st_size)
        connection = sqlite3.connect(
            self._index, isolation_level=None, check_same_thread=False, cached_statements=0
        )
        with closing(connection):
            self._connection = connection
            try:
                return self._fill(connection)
            except sqlite3.OperationalError as error:
                if self._is_stopped:
                    raise BuildStopped from None
                raise self._storage_error(error) from None
            finally:
                self._connection = None

    def _fill(self, connection: sqlite3.Connection) -> int:
        for name, value in (
            ("page_size", PAGE_BYTES),
            ("journal_mode", "OFF"),
            ("synchronous", "OFF"),
            ("cache_size", -MEMORY_BYTES // 1024),
            ("max_page_count", self._most_bytes // PAGE_BYTES),
        ):
            connection.execute(f"PRAGMA {name} = {value}")
        connection.execute("BEGIN")
        connection.execute(table_statement(self._columns))
        places = ", ".join("?" * (self._columns + 1))
        insert = f"INSERT INTO rows VALUES ({places})"  # noqa: S608 - question marks only
        connection.executemany(insert, self._read_rows())
        if self._reader.problems:
            raise UnreadableCsv(self._reader.problems)
        self._index_keys(connection)
        for statement in index_statements(self._columns):
            self._note_time()
            connection.execute(statement)
        connection.execute("COMMIT")
        (count,) = connection.execute("SELECT count(*) FROM rows").fetchone()
        return int(count)

    def _read_rows(self) -> Iterator[tuple[int | str | None, ...]]:
        with (
            self._csv.open("rb") as data,
            TextIOWrapper(data, encoding="utf-8-sig", newline="") as file,
        ):
            lines = iter(partial(file.readline, MAX_RECORD + 1), "")
            try:
                for number, row in enumerate(self._reader.read_rows(lines)):
                    if number % ROWS_PER_NOTE == 0:
                        self.read_bytes = data.tell()
                        self._note_time()
                        if self._is_stopped:
                            raise BuildStopped
                    yield row.line, *map(_text_or_null, row.values)
            except UnicodeDecodeError:
                raise self._encoding_error() from None

    def _index_keys(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute(key_statement(self._keys))
        except sqlite3.IntegrityError:
            self._report_duplicates(connection)
            raise UnreadableCsv(self._reader.problems) from None

    def _report_duplicates(self, connection: sqlite3.Connection) -> None:
        """Report the rows that have the key of an earlier one, in the order of the file."""
        keys = ", ".join(map(name_column, self._keys))
        same = " AND ".join(f"one.{name} = other.{name}" for name in map(name_column, self._keys))
        query = (
            f"WITH twice AS (SELECT {keys}, min(line) AS first FROM rows GROUP BY {keys}"  # noqa: S608 - numbers only
            f" HAVING count(*) > 1) SELECT one.line, other.first, one.* FROM rows AS one"
            f" JOIN twice AS other ON {same} WHERE one.line > other.first"
            f" ORDER BY one.line LIMIT {MAX_PROBLEMS}"
        )
        for line, first, _, *texts in connection.execute(query):
            self._reader.report_duplicate([texts[place] for place in self._keys], line, first)

    def _encoding_error(self) -> UnreadableCsv:
        offset, byte = _find_undecodable(self._csv)
        return self._reader.encoding_error(byte, *_find_place(self._csv, offset))

    def _storage_error(self, error: sqlite3.OperationalError) -> Exception:
        has_room = disk_usage(self._index.parent).free > LEAST_FREE
        if error.sqlite_errorcode == sqlite3.SQLITE_FULL and has_room:
            message = f"the index of its rows has more than {self._most_bytes} bytes"
            return self._reader.fatal_error(CsvCode.TOO_LARGE, message)
        logger.warning("the index of a dataset cannot be written: %s", error)
        return Unavailable("The index of a dataset cannot be written.")


def _find_undecodable(path: Path) -> tuple[int, int]:
    """The position of the first byte that is no UTF-8, behind a byte order mark, and the byte."""
    decoder = getincrementaldecoder("utf-8")()
    at = 0
    for block in _read_blocks(path):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(block)
        except UnicodeDecodeError as error:
            return at - pending + error.start, error.object[error.start]
        at += len(block)
    rest = decoder.getstate()[0]
    return at - len(rest), rest[0]


def _find_place(path: Path, offset: int) -> tuple[int, int]:
    """The line and the column, from 1, of the byte at a position behind a byte order mark."""
    line, column = 1, 1
    for block in _read_blocks(path):
        above = block[:offset]
        offset -= len(above)
        line += above.count(b"\n")
        column = len(above) - above.rfind(b"\n") if b"\n" in above else column + len(above)
        if not offset:
            break
    return line, column


def _read_blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield file.read(BLOCK_BYTES).removeprefix(BOM_UTF8)
        yield from iter(partial(file.read, BLOCK_BYTES), b"")


def _text_or_null(value: Scalar) -> str | None:
    return None if value is None else text_of(value)
