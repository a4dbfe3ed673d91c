"""Parts of records: what is decoded of a row where an operation asks for some fields alone.

Rows as a store keeps them, of which nothing is decoded before it is asked for.

Records as items of the table and back.

Reading any number of rows by their keys.
"""

from abc import abstractmethod
from asyncio import gather
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, TypeAlias, TypeVar, cast

import msgspec
from msgspec.structs import FieldInfo, fields

from penstock.datastore.records import Resource, Struct
from penstock.datastore.table.layout import Kind
from penstock.datastore.table.port import Attributes, Item, Key, Table, Value

Asked: TypeAlias = frozenset[str] | None
"""The fields of a record that are wanted, by their names in Python; None for the whole record."""

_RECORD: Final = "part_of"
_KEPT: Final = 1_000


def record_type(value: object) -> type:
    """Give the type of a record, also of one of which the value is a part."""
    kind = type(value)
    found: type = getattr(kind, _RECORD, kind)
    return found


def wanted_fields(record: type, asked: Asked) -> tuple[FieldInfo, ...] | None:
    """Give the fields that a part has; None where nothing less than the record will do.

    That is so where something is asked for that is worked out from fields.
    """
    every = fields(record)
    if asked is None or not asked <= {field.name for field in every}:
        return None
    return tuple(field for field in every if field.name in asked)


def mark(record: type) -> Mapping[str, Any]:
    """What the class of a part has to have for `record_type`."""
    return {_RECORD: record}


def both(one: Asked, other: Asked) -> Asked:
    """Give what is wanted where two ask for something; the first itself, if that is all."""
    if one is None or other is None:
        return None
    return one if one >= other else one | other


@lru_cache(_KEPT)
def plain_part(record: type, asked: Asked) -> Any:
    """Give what msgspec decodes or converts: the record, or a struct of some of its fields."""
    wanted = wanted_fields(record, asked)
    if wanted is None:
        return record
    return msgspec.defstruct(
        record.__name__,
        [(field.name, field.type, *_default(field)) for field in wanted],
        rename={field.name: field.encode_name for field in wanted},
        namespace=dict(mark(record)),
        frozen=True,
        kw_only=True,
    )


def _default(field: FieldInfo) -> tuple[Any, ...]:
    """Give what goes with a field that need not be there."""
    if field.default_factory is not msgspec.NODEFAULT:
        return (msgspec.field(default_factory=field.default_factory),)
    return () if field.required else (field.default,)


_ESCAPE = b"\\u"


class EncodedItem(Mapping[str, Value]):
    """A row as text of a store's own; its key is known without the text."""

    __slots__ = ("_item", "_text", "key")

    def __init__(self, key: Key, text: bytes) -> None:
        self.key = key
        self._text = text
        self._item: Item | None = None

    @abstractmethod
    def load(self, record: type, asked: Asked, more: Mapping[str, Value]) -> Any:
        """Decode a record, with `more` attributes; see `penstock.datastore.table.items.load`."""

    @abstractmethod
    def _decoded(self) -> Item:
        """Decode everything."""

    @property
    def item(self) -> Item:
        """All attributes, which are decoded once."""
        if self._item is None:
            self._item = self._decoded()
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
        """For tests; what is logged of a row is its key."""
        return repr(self.item)


def with_more(text: bytes, more: bytes) -> bytes:
    """Put the attributes of one JSON object behind those of another, which has some.

    Of an attribute in both, the second is the one that counts for decoders.
    """
    return b"%b,%b" % (text[:-1], more[1:])


R = TypeVar("R", bound=Resource)
S = TypeVar("S")


def latest_item(kind: Kind[R], record: R) -> Item:
    """The row of the latest version, which is indexed."""
    return {**kind.latest.item(id=record.id), **attributes_of(record)}


def version_item(kind: Kind[R], record: R) -> Item:
    """The row that keeps this version; never indexed, or versions would flood the list of all."""
    return {**kind.version.item(id=record.id, version=record.version), **attributes_of(record)}


def load(record: type[S], row: Attributes, asked: Asked = None, **more: Value) -> S:
    """A row as a record; attributes the record does not name are left aside.

    Of a record of which some fields are asked for, the others may not be there: its type is told by
    `parts.record_type`.
    """
    kind: type = record
    loaded: S = (
        row.load(kind, asked, more)
        if isinstance(row, EncodedItem)
        else msgspec.convert({**row, **more}, plain_part(kind, asked))
    )
    return loaded


def resource_id(item: Mapping[str, Value]) -> str:
    """The id in the item's `pk`, which ends in it."""
    return str(item["pk"]).rpartition(":")[2]


def attributes_of(record: Struct) -> Item:
    """The fields of a record as attributes; its id is in the key."""
    attributes = msgspec.to_builtins(record, builtin_types=(Decimal,))
    return {name: _plain(value) for name, value in attributes.items() if name != "id"}


def _plain(value: Any) -> Value:
    """The value with lists in place of tuples, which the table does not know."""
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return cast("Value", value)


MAX_KEYS = 100


async def read_rows(
    table: Table, keys: Iterable[Key], *, consistent: bool = False
) -> dict[Key, Attributes]:
    """The rows under the keys; more than one request holds are asked for side by side."""
    distinct = list(dict.fromkeys(keys))
    batches = await gather(
        *(
            table.get(distinct[start : start + MAX_KEYS], consistent=consistent)
            for start in range(0, len(distinct), MAX_KEYS)
        )
    )
    return {key: item for batch in batches for key, item in batch.items.items()}
