"""What was notified, as values: updates of entities, exactly as their sender wrote them."""

from collections.abc import Mapping
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final, TypeAlias

import msgspec

from penstock.datastore import sizes
from penstock.datastore.errors import LimitExceeded
from penstock.datastore.table import Value

Json: TypeAlias = Any
"""Texts, truth values, None, whole numbers, lists and objects; any other number is a `Raw`."""

NESTING: Final = 64
"""How deep a value may be: twice what an item holds, beyond which nobody can read it."""

_SEPARATOR = "\x1f"


def raw_number(text: str) -> msgspec.Raw:
    """Keep a number with a fraction or an exponent as it was written."""
    return msgspec.Raw(text.encode())


read_json = msgspec.json.Decoder(float_hook=raw_number).decode
write_json = msgspec.json.Encoder().encode


class Struct(msgspec.Struct, frozen=True, array_like=True):
    """The shape of what segments hold."""


class Metadata(Struct, frozen=True, array_like=True):
    """One entry of an attribute's metadata."""

    name: str
    type: str
    value: Json


class Attribute(Struct, frozen=True, array_like=True):
    """An attribute as it was notified."""

    name: str
    type: str
    value: Json
    metadata: tuple[Metadata, ...] = ()


class Update(Struct, frozen=True, array_like=True):
    """One entity of a notification: what NGSI calls a context element, and the sink an event."""

    entity_id: str
    entity_type: str
    attributes: tuple[Attribute, ...]


class Poison(Struct, frozen=True, array_like=True):
    """An entity of a notification from which no update can be made, and why."""

    reason: str
    payload: Json


def identity(*parts: str) -> str:
    """A digest of what tells one thing from all others: 64 hexadecimal digits."""
    text = _SEPARATOR.join(part.replace(_SEPARATOR, _SEPARATOR * 2) for part in parts)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def text_of(value: Json) -> str | None:
    """A value as text: numbers and truth values as JSON writes them, objects compact.

    None for null.
    """
    if value is None or isinstance(value, str):
        return value
    return write_json(value).decode()


def native(value: Json) -> Value:
    """A value as a table holds it; what it cannot hold exactly is kept as its text."""
    try:
        converted = _native(value)
        sizes.value_size(converted)
    except (LimitExceeded, ValueError):
        return text_of(value)
    return converted


def _native(value: Json) -> Value:
    if isinstance(value, msgspec.Raw):
        return Decimal(bytes(value).decode())
    if isinstance(value, Mapping):
        return {name: _native(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_native(each) for each in value]
    plain: Value = value
    return plain
