"""The attributes that an operation reads of the objects of one type.

Resolvers that load such objects need to load no other attributes.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, TypeAlias

from strawberry import Info

from penstock.graphql_jit.arguments import FieldInfo
from penstock.graphql_jit.field_source import (
    AttributeSource,
    DirectSource,
    R,
    TypeNameSource,
    resolver_mark,
)
from penstock.graphql_jit.plan import Field, Selection

ReadableAttributes: TypeAlias = Mapping[str, Collection[str]]
"""The attributes that a resolver may read, by the name of the object type."""

_MARK: Final = "__reads__"


def reads_attributes(attributes: ReadableAttributes) -> Callable[[R], R]:
    """Mark a resolver that takes its object as reading only these attributes of it."""
    return resolver_mark(_MARK, attributes)


def projected_attributes(info: "Info[Any, Any]", type_name: str) -> frozenset[str] | None:
    """Return all attributes that are read of objects of a type, anywhere below an info's field.

    None where they are not known: a resolver without the mark takes the object, or the operation is
    not compiled.
    """
    if not isinstance(info, FieldInfo):
        return None
    field = info.planned
    if type_name not in field.read_attributes:
        field.read_attributes[type_name] = _collect_attributes(field, type_name)
    return field.read_attributes[type_name]


def _collect_attributes(above: Field, type_name: str) -> frozenset[str] | None:
    found: set[str] = set()
    for selection in _selections_below(above):
        if selection.type.name == type_name:
            for field in selection.fields:
                names = _attributes_read_by(field, type_name)
                if names is None:
                    return None
                found.update(names)
    return frozenset(found)


def _selections_below(field: Field) -> Iterator[Selection]:
    for selection in field.selections.values():
        yield selection
        for below in selection.fields:
            yield from _selections_below(below)


def _attributes_read_by(field: Field, type_name: str) -> Collection[str] | None:
    reading = field.source
    match reading:
        case TypeNameSource():
            return ()
        case AttributeSource(name):
            return (name,)
        case DirectSource() if not reading.to_self and not reading.source_names:
            return ()
        case DirectSource():
            marked: ReadableAttributes = getattr(reading.function, _MARK, {})
            return marked.get(type_name)
        case _:
            return None
