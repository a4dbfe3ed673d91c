"""Records as items of the table and back."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeVar, cast

import msgspec

from penstock.datastore.encoded import EncodedItem
from penstock.datastore.layout import Kind
from penstock.datastore.parts import Asked, plain_part
from penstock.datastore.records import Resource, Struct
from penstock.datastore.table import Attributes, Item, Value

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
