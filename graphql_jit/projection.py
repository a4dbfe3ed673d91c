"""The attributes that an operation reads of the objects of one type.

Resolvers that load such objects need to load no other attributes.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, TypeAlias

from strawberry import Info

from penstock.graphql_jit.arguments import FieldInfo
from penstock.graphql_jit.field_source import Attribute, Constant, Direct, R, marking
from penstock.graphql_jit.plan import Field, Selection

Reads: TypeAlias = Mapping[str, Collection[str]]
"""The attributes that a resolver may read, by the name of the object type."""

_MARK: Final = "__reads__"


def reads(attributes: Reads) -> Callable[[R], R]:
    """Mark a resolver that takes its object as reading only these attributes of it."""
    return marking(_MARK, attributes)


def attributes_asked(info: "Info[Any, Any]", type_name: str) -> frozenset[str] | None:
    """Return all attributes that are read of objects of a type, anywhere below an info's field.

    None where they are not known: a resolver without the mark takes the object, or the operation is
    not compiled.
    """
    if not isinstance(info, FieldInfo):
        return None
    field = info.planned
    if type_name not in field.asked:
        field.asked[type_name] = _asked(field, type_name)
    return field.asked[type_name]


def _asked(above: Field, type_name: str) -> frozenset[str] | None:
    found: set[str] = set()
    for selection in _selections(above):
        if selection.type.name == type_name:
            for field in selection.fields:
                names = _read_by(field, type_name)
                if names is None:
                    return None
                found.update(names)
    return frozenset(found)


def _selections(field: Field) -> Iterator[Selection]:
    for selection in field.selections.values():
        yield selection
        for below in selection.fields:
            yield from _selections(below)


def _read_by(field: Field, type_name: str) -> Collection[str] | None:
    reading = field.reading
    match reading:
        case Constant():
            return ()
        case Attribute(name):
            return (name,)
        case Direct() if not reading.to_self and not reading.source_names:
            return ()
        case Direct():
            marked: Reads = getattr(reading.function, _MARK, {})
            return marked.get(type_name)
        case _:
            return None
