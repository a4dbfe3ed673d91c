"""The rows of a large dataset in a file of SQLite, which lookups read without loading it.

The table `rows` has the line of each row in the CSV, and the text of each of its values, null for
null. There is an index of each column, and one of all key columns together. The file is made once
and never changes.
"""

import sqlite3
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import quote

from penstock.datastore.records import DatasetContent
from penstock.formula.core.datasets import KeyedRows, RowKey
from penstock.formula.core.values import FormulaType, Scalar

MAPPED_BYTES: Final = 2**31
"""The most bytes of a file that are read as memory of the machine's file cache."""

REMEMBERED_CHARACTERS: Final = 4_000_000
"""The characters of answers that are remembered, with `ANSWER_CHARACTERS` for each."""

ANSWER_CHARACTERS: Final = 300

_Question: TypeAlias = tuple[RowKey, RowKey, str]

_UNKNOWN: Final = object()

_READERS: Final[dict[FormulaType, Callable[[str], Scalar]]] = {
    FormulaType.STRING: str,
    FormulaType.TIMESTAMP: str,
    FormulaType.NUMBER: Decimal,
    FormulaType.BOOLEAN: "true".__eq__,
}


class _Statement(NamedTuple):
    """The statement that finds a value by a key, and the reader of its text."""

    sql: str
    read: Callable[[str], Scalar]


class IndexedRows(KeyedRows):
    """The rows in a local file, for any number of threads; they read one after another.

    The answers of the latest lookups are remembered, as inputs often repeat a key.
    """

    def __init__(self, path: Path, content: DatasetContent) -> None:
        super().__init__([column.name for column in content.columns], content.keys)
        self.path = path
        self._types = [FormulaType(column.type) for column in content.columns]
        self._statements: dict[tuple[RowKey, str], _Statement] = {}
        self._remembered: dict[_Question, Scalar] = {}
        self._characters = 0
        self._lock = Lock()
        self._connection = sqlite3.connect(
            f"file:{quote(str(path))}?mode=ro&immutable=1",
            uri=True,
            check_same_thread=False,
            isolation_level=None,
        )
        self._connection.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")

    def close(self) -> None:
        """Close the file; there must be no lookups afterwards."""
        with self._lock:
            self._connection.close()

    def _read(self, named: RowKey, key: RowKey, column: str) -> Scalar:
        question = (named, key, column)
        found = self._remembered.get(question, _UNKNOWN)
        if found is not _UNKNOWN:
            return found  # type: ignore[return-value] # it is no other object than a value
        statement = self._statements.get((named, column)) or self._make_statement(named, column)
        texts = (key,) if isinstance(key, str) else key
        with self._lock:
            row = self._connection.execute(statement.sql, texts).fetchone()
            text = None if row is None else row[0]
            value = None if text is None else statement.read(text)
            self._remember(question, value, sum(map(len, texts)) + len(text or ""))
        return value

    def _remember(self, question: _Question, value: Scalar, characters: int) -> None:
        if self._characters > REMEMBERED_CHARACTERS:
            self._remembered.clear()
            self._characters = 0
        self._remembered[question] = value
        self._characters += ANSWER_CHARACTERS + characters

    def _make_statement(self, named: RowKey, column: str) -> _Statement:
        names = (named,) if isinstance(named, str) else named
        keys = [name_column(self._place(name)) for name in names]
        place = self._place(column)
        wanted = " AND ".join(f"{key} = ?" for key in keys)
        value = name_column(place)  # no text of a user
        sql = f"SELECT {value} FROM rows WHERE {wanted} ORDER BY line LIMIT 1"  # noqa: S608
        made = _Statement(sql, _READERS[self._types[place]])
        self._statements[named, column] = made
        return made


def name_column(place: int) -> str:
    """The name in the file of the column at a place; those of users stay out of statements."""
    return f"c{place}"


def table_statement(columns: int) -> str:
    """The statement that makes the table of rows."""
    made = ", ".join(f"{name_column(place)} TEXT" for place in range(columns))
    return f"CREATE TABLE rows (line INTEGER PRIMARY KEY, {made})"


def index_statements(columns: int) -> list[str]:
    """The statements that make the index of each column."""
    return [
        f"CREATE INDEX of_{name} ON rows ({name}) WHERE {name} IS NOT NULL"
        for name in map(name_column, range(columns))
    ]


def key_statement(keys: Sequence[int]) -> str:
    """The statement that makes the index of all key columns, or fails for two rows with one key."""
    return f"CREATE UNIQUE INDEX keys ON rows ({', '.join(map(name_column, keys))})"
