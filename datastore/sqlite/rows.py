"""The file of the embedded table: its schema, and rows that hold items as compact JSON.

A whole number is read as an int and any other as a Decimal, however it was written:
`Decimal("1E+2")` is read as `100`, which is equal, just as DynamoDB gives every number its own
plain form. Keys are stored as bytes, so that the file's order is that of UTF-8.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from sqlite3 import Connection, Cursor
from typing import Any, Final, NamedTuple

import msgspec

from penstock.datastore.private_files import make_private_database
from penstock.datastore.sqlite.file_failures import FileFailed
from penstock.datastore.sqlite.write_ahead_log import switch_on_log
from penstock.datastore.table.items import EncodedItem, Projection, append_attributes, part_struct
from penstock.datastore.table.limits import PAGE_BYTES, ItemFootprint, page_units
from penstock.datastore.table.port import TTL, Item, Key, Page, Query, Scan, Value, key_of

_CACHED_DECODERS = 1_000


_HIGHEST_EXPONENT: Final = 125
"""The power of ten of the largest numbers that a table holds."""


def decode_number(text: str) -> int | Decimal:
    """Decode a number; one that no table holds stays as it is, since an int has all its digits."""
    number = Decimal(text)
    if number.adjusted() > _HIGHEST_EXPONENT:
        return number
    return int(number) if number == number.to_integral_value() else number


encode = msgspec.json.Encoder(decimal_format="number").encode
decode = msgspec.json.Decoder[Item](float_hook=decode_number).decode


class JsonItem(EncodedItem):
    """A row whose records are decoded directly from its JSON."""

    __slots__ = ()

    def load(self, record: type, projection: Projection, more: Mapping[str, Value]) -> Any:
        text = append_attributes(self._text, encode(more)) if more else self._text
        return _decoder(record, projection).decode(text)

    def _decode_all(self) -> Item:
        item: Item = decode(self._text)
        return item


@lru_cache(_CACHED_DECODERS)
def _decoder(record: type, projection: Projection) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(part_struct(record, projection), float_hook=decode_number)


_SCHEMA = {
    "items": (
        "CREATE TABLE items (pk BLOB NOT NULL, sk BLOB NOT NULL, g BLOB, size INTEGER NOT NULL, "
        "expires REAL, body BLOB NOT NULL, PRIMARY KEY (pk, sk)) WITHOUT ROWID"
    ),
    "items_by_g": "CREATE INDEX items_by_g ON items (g, pk, sk) WHERE g IS NOT NULL",
    "items_by_expires": (
        "CREATE INDEX items_by_expires ON items (expires) WHERE expires IS NOT NULL"
    ),
}
FILE_FORM: Final = 1
"""The number of this schema in the file, its `user_version`; files of earlier releases have 0."""

_READ = (
    "WITH wanted(p, s) AS (VALUES {}) "
    "SELECT p, s, body, size, g FROM wanted CROSS JOIN items ON pk = p AND sk = s"
)
_PUT = "INSERT OR REPLACE INTO items (pk, sk, g, size, expires, body) VALUES (?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM items WHERE pk = ? AND sk = ?"
_SWEEP = "DELETE FROM items WHERE (pk, sk) IN (SELECT pk, sk FROM items WHERE expires < ? LIMIT ?)"
# The key is (reads the index, descends).
_PAGES = {
    (False, False): (
        "SELECT size, pk, sk, body FROM items WHERE pk = ? AND sk >= ? AND sk < ? ORDER BY sk"
    ),
    (False, True): (
        "SELECT size, pk, sk, body FROM items WHERE pk = ? AND sk >= ? AND sk < ? ORDER BY sk DESC"
    ),
    (True, False): (
        "SELECT size, pk, sk, body FROM items "
        "WHERE g = ? AND (pk, sk) >= (?, ?) AND (pk, sk) < (?, ?) ORDER BY pk, sk"
    ),
    (True, True): (
        "SELECT size, pk, sk, body FROM items "
        "WHERE g = ? AND (pk, sk) >= (?, ?) AND (pk, sk) < (?, ?) ORDER BY pk DESC, sk DESC"
    ),
}
_SCAN = "SELECT size, pk, sk, body FROM items WHERE (pk, sk) >= (?, ?) AND pk < ? ORDER BY pk, sk"
_BEHIND_ALL_TEXT = b"\xff"


class StoredRow(NamedTuple):
    """A row of the file, and its size."""

    row: JsonItem
    footprint: ItemFootprint


def connect(path: Path, busy_seconds: float) -> Connection:
    """Open the file for one thread; `busy_seconds` is the wait for other processes' locks."""
    make_private_database(path)
    connection = sqlite3.connect(
        path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA synchronous = FULL")
    return connection


@contextmanager
def write_transaction(connection: Connection) -> Iterator[None]:
    """A transaction that locks the file for other writers from its first reading on."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def read_transaction(connection: Connection) -> Iterator[None]:
    """A transaction in which all reads see one moment."""
    with connection:
        connection.execute("BEGIN")
        yield


def create_schema(connection: Connection) -> None:
    """Create the missing parts of the schema; the write-ahead log is a property of the file."""
    # With this page size items of one or two kilobytes stay in their page: half the file size.
    connection.execute("PRAGMA page_size = 8192")
    switch_on_log(connection)
    with write_transaction(connection):
        require_known_form(connection)
        found = _read_schema(connection)
        for name, statement in _SCHEMA.items():
            if name not in found:
                connection.execute(statement)
        if _read_form(connection) < FILE_FORM and not _schema_sentences(_read_schema(connection)):
            connection.execute(f"PRAGMA user_version = {FILE_FORM}")


def schema_differences(connection: Connection) -> list[str]:
    """Describe in sentences how the file differs from one that `create_schema` makes."""
    sentences = _schema_sentences(_read_schema(connection))
    form = _read_form(connection)
    if form > FILE_FORM:
        sentences.append(f"The file has the form of a newer release: {form}, not {FILE_FORM}.")
    ((mode,),) = connection.execute("PRAGMA journal_mode")
    if mode != "wal":
        sentences.append(f"The file's journal is {mode!r}, not 'wal'.")
    return sentences


def require_known_form(connection: Connection) -> None:
    """Raise FileFailed for a file whose form a newer release has changed."""
    if _read_form(connection) > FILE_FORM:
        raise FileFailed("A newer release changed the form of the table's file.")


def _schema_sentences(found: Mapping[str, str]) -> list[str]:
    return [
        f"The file has no {name!r}."
        if name not in found
        else f"The file's {name!r} is defined otherwise: {found[name]}."
        for name, statement in _SCHEMA.items()
        if found.get(name) != statement
    ]


def _read_form(connection: Connection) -> int:
    ((form,),) = connection.execute("PRAGMA user_version")
    return int(form)


def find_damage(connection: Connection) -> list[str]:
    """Describe damaged pages, at most some of them; every page of the file is read."""
    found = [str(line) for (line,) in connection.execute("PRAGMA quick_check(10)")]
    return [] if found == ["ok"] else found


def read(connection: Connection, keys: Sequence[Key]) -> dict[Key, StoredRow]:
    """Read the rows under the keys that exist, in the order of the keys and with one statement."""
    parts = [part.encode() for key in keys for part in key]
    found = {}
    for pk, sk, body, size, group in connection.execute(_read_statement(len(keys)), parts):
        key = Key(pk.decode(), sk.decode())
        footprint = ItemFootprint(size, None if group is None else group.decode())
        found[key] = StoredRow(JsonItem(key, body), footprint)
    return found


@cache
def _read_statement(count: int) -> str:
    """The statement that reads so many keys, each with a search of its own."""
    return _READ.format(", ".join(["(?, ?)"] * count))


def put(connection: Connection, item: Item, footprint: ItemFootprint) -> None:
    key, group = key_of(item), footprint.index_hash
    values = (
        key.pk.encode(),
        key.sk.encode(),
        None if group is None else group.encode(),
        footprint.size,
        _expiry(item.get(TTL)),
        encode(item),
    )
    connection.execute(_PUT, values)


def delete(connection: Connection, key: Key) -> None:
    connection.execute(_DELETE, (key.pk.encode(), key.sk.encode()))


def sweep(connection: Connection, now: float, most: int) -> int:
    """Delete up to `most` items that expired before `now`; return the number of deleted items."""
    return connection.execute(_SWEEP, (now, most)).rowcount


def read_page(connection: Connection, query: Query) -> Page:
    """Read one page; the page ends before the first item that does not fit."""
    low, high = _bounds(query)
    statement = _PAGES[query.index, query.descending]
    found = connection.execute(statement, (query.partition.encode(), *low, *high))
    items, used, last = _fill_page(found, query.limit)
    units = page_units((used,), index=query.index, consistent=query.consistent)
    return Page(items, last, units)


def scan_page(connection: Connection, scan: Scan) -> Page:
    """Read one page of the whole file, in the order of the keys."""
    start = (
        (scan.prefix.encode(), b"")
        if scan.after is None
        else (scan.after.pk.encode(), _successor(scan.after.sk.encode()))
    )
    found = connection.execute(_SCAN, (*start, _end_of_prefix(scan.prefix)))
    items, used, last = _fill_page(found, scan.limit)
    return Page(items, last, page_units((used,), index=False, consistent=True))


def _fill_page(found: Cursor, limit: int | None) -> tuple[tuple[JsonItem, ...], int, Key | None]:
    """Take the items that fit a page, their bytes, and the last key if the page is full."""
    items: list[JsonItem] = []
    used, stopped = 0, False
    with closing(found) as rows:
        for size, pk, sk, body in rows:
            stopped = used + size > PAGE_BYTES
            if stopped:
                break
            items.append(JsonItem(Key(pk.decode(), sk.decode()), body))
            used += size
            stopped = len(items) == limit
            if stopped:
                break
    return tuple(items), used, key_of(items[-1]) if stopped else None


def _bounds(query: Query) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """The first place of the page and the first place behind it, in the order of the columns."""
    wanted = query.range
    first = (wanted.prefix if wanted.low is None else wanted.low).encode()
    behind = (
        _successor(wanted.high.encode())
        if wanted.high is not None
        else _end_of_prefix(wanted.prefix)
    )
    low, high = ((first, b""), (behind, b"")) if query.index else ((first,), (behind,))
    if query.after is None:
        return low, high
    pk, sk = query.after.pk.encode(), query.after.sk.encode()
    if query.descending:
        return low, (pk, sk) if query.index else (sk,)
    return (pk, _successor(sk)) if query.index else (_successor(sk),), high


def _successor(text: bytes) -> bytes:
    return text + b"\0"


def _end_of_prefix(prefix: str) -> bytes:
    """The first bytes behind all texts that begin with the prefix."""
    if not prefix:
        return _BEHIND_ALL_TEXT
    text = prefix.encode()
    return text[:-1] + bytes((text[-1] + 1,))


def _expiry(value: Value) -> float | None:
    """Read `expiresAt` in epoch seconds; an item without a number there never expires."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    return float(value)


def _read_schema(connection: Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
