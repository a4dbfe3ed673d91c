"""Parts of records: what is decoded of a row where an operation asks for some fields alone."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec
from msgspec.structs import FieldInfo, fields

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
