"""Records as items of the table and back, decoded only as far as the projection needs."""

from abc import abstractmethod
from asyncio import gather, sleep
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, TypeAlias, TypeVar, cast

import msgspec
from msgspec.structs import FieldInfo, fields

from penstock.datastore.errors import Unreadable
from penstock.datastore.records import Resource, StoredRecord
from penstock.datastore.table.layout import KindDefinition
from penstock.datastore.table.limits import READ_BLOCK
from penstock.datastore.table.port import (
    INDEX_HASH,
    TTL,
    Attributes,
    Condition,
    Item,
    Key,
    Table,
    Update,
    Value,
    key_of,
)
from penstock.datastore.table.unreadable_rows import report_unreadable

Projection: TypeAlias = frozenset[str] | None
"""The wanted fields of a record, by their names in Python; None for the whole record."""

AT_ONCE: Final = 200
"""The rows that are decoded, compared or counted at once: up to about 3 ms."""

_RECORD: Final = "part_of"
_CACHED_TYPES: Final = 1_000


def record_type(value: object) -> type:
    """The type of a record, also of a partial record."""
    kind = type(value)
    found: type = getattr(kind, _RECORD, kind)
    return found


def projected_fields(record: type, projection: Projection) -> tuple[FieldInfo, ...] | None:
    """The fields of a partial record; None where the whole record is needed.

    The whole record is needed where a name in the projection is not a field but computed from
    fields.
    """
    every = fields(record)
    if projection is None or not projection <= {field.name for field in every}:
        return None
    return tuple(field for field in every if field.name in projection)


def part_namespace(record: type) -> Mapping[str, Any]:
    """The attributes of a partial record's class by which `record_type` finds the record's type."""
    return {_RECORD: record}


def merge_projections(one: Projection, other: Projection) -> Projection:
    """Merge two projections; the result is the first itself where it includes the second."""
    if one is None or other is None:
        return None
    return one if one >= other else one | other


@lru_cache(_CACHED_TYPES)
def part_struct(record: type, projection: Projection) -> Any:
    """The type that msgspec decodes or converts to: the record, or a struct of some fields."""
    wanted = projected_fields(record, projection)
    if wanted is None:
        return record
    return msgspec.defstruct(
        record.__name__,
        [(field.name, field.type, *_default_argument(field)) for field in wanted],
        rename={field.name: field.encode_name for field in wanted},
        namespace=dict(part_namespace(record)),
        frozen=True,
        kw_only=True,
    )


def _default_argument(field: FieldInfo) -> tuple[Any, ...]:
    """The arguments of `defstruct` for a field's default, if it has one."""
    if field.default_factory is not msgspec.NODEFAULT:
        return (msgspec.field(default_factory=field.default_factory),)
    return () if field.required else (field.default,)


READ_ERRORS: Final = (
    msgspec.MsgspecError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)
"""The errors by which a row differs from what its reader expects."""

_ESCAPE = b"\\u"


class EncodedItem(Mapping[str, Value]):
    """A row as encoded text of a store, which is decoded when needed; its key is known at once."""

    __slots__ = ("_item", "_text", "key")

    def __init__(self, key: Key, text: bytes) -> None:
        self.key = key
        self._text = text
        self._item: Item | None = None

    @property
    def text(self) -> bytes:
        """The row as its store encodes it."""
        return self._text

    def in_partition(self, pk: str) -> "EncodedItem":
        """The same row as one of another partition; its text stays that of this one."""
        return type(self)(Key(pk, self.key.sk), self._text)

    @abstractmethod
    def load(self, record: type, projection: Projection, more: Mapping[str, Value]) -> Any:
        """Decode a record, with `more` attributes; see `penstock.datastore.table.items.load`."""

    @abstractmethod
    def _decode_all(self) -> Item:
        """Decode all attributes."""

    @property
    def item(self) -> Item:
        """All attributes, which are decoded once."""
        if self._item is None:
            self._item = self._decode_all()
        return self._item

    def __getitem__(self, name: str) -> Value:
        if name == "pk":
            return self.key.pk
        return self.key.sk if name == "sk" else self.item[name]

    def __contains__(self, name: object) -> bool:
        if self._item is None and f'"{name}"'.encode() not in self._text:
            # Only an escape could hide the letters of a name.
            return _ESCAPE in self._text and name in self.item
        return name in self.item

    def __iter__(self) -> Iterator[str]:
        return iter(self.item)

    def __len__(self) -> int:
        return len(self.item)

    def __repr__(self) -> str:
        """The decoded attributes, for tests; logs name a row by its key."""
        return repr(self.item)


def in_partition(row: Attributes, pk: str) -> Attributes:
    """A row as one of another partition; one that is encoded stays so."""
    return row.in_partition(pk) if isinstance(row, EncodedItem) else {**row, "pk": pk}


def append_attributes(text: bytes, more: bytes) -> bytes:
    """Append the attributes of one JSON object to another, which is not empty.

    Where both have an attribute, decoders take the second one.
    """
    return b"%b,%b" % (text[:-1], more[1:])


R = TypeVar("R", bound=Resource)
S = TypeVar("S")
T = TypeVar("T")


def latest_item(kind: KindDefinition[R], record: R) -> Item:
    """The row of the latest version. The index has a small row of the resource in its place."""
    return {**kind.latest.item(id=record.id), **attributes_of(record)}


def version_item(kind: KindDefinition[R], record: R) -> Item:
    """The row of one version; it is never indexed, or versions would flood the lists."""
    return {**kind.version.item(id=record.id, version=record.version), **attributes_of(record)}


def overwrite(record: type, item: Item, condition: Condition | None = None) -> Update:
    """Write a record over its row, of which attributes stay that the record does not have.

    So an older release keeps what a newer one wrote. The index and the expiry are those of the
    item. Without a condition a missing row is made.
    """
    written = {name: value for name, value in item.items() if name not in ("pk", "sk")}
    gone = sorted(_own_names(record) - item.keys())
    return Update(key=key_of(item), set=written, remove=tuple(gone), condition=condition)


def unknown_attributes(record: type, row: Attributes) -> Item:
    """The attributes of a row that the record does not have, to be kept in a copy of the row."""
    return {name: row[name] for name in row if name not in _own_names(record) | {"pk", "sk"}}


@lru_cache(_CACHED_TYPES)
def _own_names(record: type) -> frozenset[str]:
    """The names of the attributes that belong to a record, besides those of its key."""
    named = (field.encode_name for field in fields(record))
    return frozenset((INDEX_HASH, TTL, *named)) - {"pk", "sk"}


def load(record: type[S], row: Attributes, projection: Projection = None, **more: Value) -> S:
    """Load a row as a record; attributes that the record does not have are ignored.

    With a projection, other fields may be missing: `record_type` gives the type of such a partial
    record. Raises `errors.Unreadable` for a row that is no such record.
    """
    kind: type = record
    try:
        loaded: S = (
            row.load(kind, projection, more)
            if isinstance(row, EncodedItem)
            else msgspec.convert({**row, **more}, part_struct(kind, projection))
        )
    except READ_ERRORS as error:
        raise report_unreadable(row, error) from error
    return loaded


def stored_units(row: Attributes) -> int:
    """Return about how many read units, of 4 KB each, reading a row consistently takes."""
    return -(-len(row.text) // READ_BLOCK) if isinstance(row, EncodedItem) else 1


def read_or_report(read: Callable[[Attributes], T], row: Attributes) -> T | Unreadable:
    """Read a row; the error in its place if it cannot be read."""
    try:
        return read(row)
    except Unreadable as error:
        return error
    except READ_ERRORS as error:
        return report_unreadable(row, error)


def read_all(read: Callable[[Attributes], T], rows: Iterable[Attributes]) -> list[T]:
    """Read the rows that can be read, in their order."""
    found = (read_or_report(read, row) for row in rows)
    return [one for one in found if not isinstance(one, Unreadable)]


async def in_turns(items: Sequence[T]) -> AsyncIterator[Sequence[T]]:
    """Yield items in parts of AT_ONCE; others have their turn between two of them."""
    for start in range(0, len(items), AT_ONCE):
        if start:
            await sleep(0)
        yield items[start : start + AT_ONCE]


async def read_in_turns(read: Callable[[Attributes], T], rows: Sequence[Attributes]) -> list[T]:
    """Read the rows of a long page as `read_all`, in parts between which others have their turn."""
    found: list[T] = []
    async for part in in_turns(rows):
        found += read_all(read, part)
    return found


def resource_id(item: Mapping[str, Value]) -> str:
    """The id at the end of the item's `pk`."""
    return str(item["pk"]).rpartition(":")[2]


def attributes_of(record: StoredRecord) -> Item:
    """The fields of a record as attributes; its id is in the key."""
    attributes = msgspec.to_builtins(record, builtin_types=(Decimal,))
    return {name: _lists_for_tuples(value) for name, value in attributes.items() if name != "id"}


def _lists_for_tuples(value: Any) -> Value:
    """Replace tuples by lists, because the table has no tuples."""
    if isinstance(value, list | tuple):
        return [_lists_for_tuples(entry) for entry in value]
    if isinstance(value, dict):
        return {key: _lists_for_tuples(entry) for key, entry in value.items()}
    return cast("Value", value)


MAX_KEYS = 100


async def read_lasting_rows(table: Table, keys: Iterable[Key]) -> dict[Key, Attributes]:
    """Read rows that are written once and never change, such as versions.

    An eventually consistent read, which costs half, can only miss them: those that it misses are
    read again, consistently.
    """
    distinct = list(dict.fromkeys(keys))
    found = await read_rows(table, distinct)
    missing = [key for key in distinct if key not in found]
    return found | await read_rows(table, missing, consistent=True)


async def read_rows(
    table: Table, keys: Iterable[Key], *, consistent: bool = False
) -> dict[Key, Attributes]:
    """Read any number of rows by their keys, concurrently in batches of 100."""
    distinct = list(dict.fromkeys(keys))
    batches = await gather(
        *(
            table.get(distinct[start : start + MAX_KEYS], consistent=consistent)
            for start in range(0, len(distinct), MAX_KEYS)
        )
    )
    return {key: item for batch in batches for key, item in batch.items.items()}
