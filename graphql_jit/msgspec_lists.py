"""Lists of plain objects that msgspec checks and writes as JSON, quicker than code in Python.

For results that orjson writes: such a list is a fragment to it. What is refused here is completed
as ever, so anything may be. Nothing else in this package knows msgspec or orjson.
"""

from collections.abc import Mapping, Sequence
from itertools import chain
from keyword import iskeyword
from operator import attrgetter
from types import GenericAlias
from typing import Annotated, Any, Final, NamedTuple

from graphql import (
    GraphQLBoolean,
    GraphQLFloat,
    GraphQLID,
    GraphQLInt,
    GraphQLOutputType,
    GraphQLString,
    is_leaf_type,
    is_list_type,
    is_object_type,
)
from msgspec import Meta, convert, defstruct
from msgspec.json import Encoder
from orjson import Fragment

from penstock.graphql_jit.field_source import Attribute
from penstock.graphql_jit.leaves import PlainTypes
from penstock.graphql_jit.plan import Field, Selection

_LEAVES: Final[Mapping[GraphQLOutputType, Any]] = {
    GraphQLString: str,
    GraphQLID: str,
    GraphQLBoolean: bool,
    GraphQLInt: Annotated[int, Meta(ge=-2147483648, le=2147483647)],
    # Neither infinities nor NaN.
    GraphQLFloat: Annotated[float, Meta(ge=-1.7976931348623157e308, le=1.7976931348623157e308)],
}
_FEWEST: Final = 8
_MOST_REFUSED: Final = 8
"""In a row: a list that was refused is read twice."""

_LISTS: Final = frozenset((list, tuple))


class _ObjectTypes(PlainTypes):
    """Plain types whose values msgspec reads by their attributes."""

    def admits(self, value: object) -> bool:
        return not isinstance(value, Mapping) and super().admits(value)


_OBJECTS: Final = _ObjectTypes()
_ENCODER: Final = Encoder()


class _Held(NamedTuple):
    """An attribute that holds a list or an object; leaves have nothing `below`."""

    read: "attrgetter[Any]"
    is_list: bool
    below: "tuple[_Held, ...] | None"


class Written:
    """Writes the JSON of lists of objects: from their attributes, down to leaves.

    It is not tried on few objects, nor where it was in vain often enough.
    """

    __slots__ = ("_held", "_kind", "_refused")

    def __init__(self, kind: Any, held: tuple[_Held, ...]) -> None:
        self._kind = kind
        self._held = held
        self._refused = 0

    def __call__(self, values: Sequence[Any]) -> Fragment | None:
        """Give what orjson takes as it is, or None where anything is not plain."""
        if len(values) < _FEWEST or self._refused >= _MOST_REFUSED:
            return None
        self._refused += 1
        try:
            if not _are_plain(values, self._held):
                return None
            json = _ENCODER.encode(convert(values, self._kind, from_attributes=True))
        except Exception:
            # Whatever it is, it is found again where it can be told.
            return None
        self._refused = 0
        return Fragment(json)


def written_of(field: Field, depth: int) -> Written | None:
    """Give what writes the lists of a field whose items lie `depth` lists deep, if msgspec can."""
    kind = field.types[depth]
    if not is_object_type(kind):
        return None
    selection = field.selections[kind.name]
    struct = _struct(selection)
    return None if struct is None else Written(_list_of(struct), _held(selection))


def _struct(selection: Selection) -> Any:
    """Make the struct of what is asked of objects; None where it would not say the same."""
    if selection.type.is_type_of is not None:
        return None
    kinds: dict[str, Any] = {}
    keys: dict[str, str] = {}
    for field in selection.fields:
        name, kind = _attribute(field), _kind(field)
        if name is None or kind is None or name in kinds:
            return None
        kinds[name], keys[name] = kind, field.key
    return defstruct(selection.type.name, kinds.items(), rename=keys, gc=False)


def _attribute(field: Field) -> str | None:
    if not isinstance(field.reading, Attribute) or field.definition.args:
        return None
    name = field.reading.name
    return None if name.startswith("__") or iskeyword(name) else name


def _kind(field: Field) -> Any:
    """Give the type of a field's values as msgspec knows it; None where it does not."""
    named: Any = field.named
    kind = _LEAVES.get(named)
    if kind is None and is_object_type(named):
        kind = _struct(field.selections[named.name])
    if kind is None or len(field.types) > 2:
        return None
    kind = kind | None if field.nullable[-1] else kind
    if len(field.types) == 1:
        return kind
    return _list_of(kind) | None if field.nullable[0] else _list_of(kind)


def _list_of(kind: Any) -> Any:
    return GenericAlias(list, (kind,))


def _held(selection: Selection) -> tuple[_Held, ...]:
    found = []
    for field in selection.fields:
        is_leaf, is_list = is_leaf_type(field.named), is_list_type(field.types[0])
        if isinstance(field.reading, Attribute) and not (is_leaf and not is_list):
            below = None if is_leaf else _held(field.selections[field.named.name])
            found.append(_Held(attrgetter(field.reading.name), is_list, below))
    return tuple(found)


def _are_plain(values: Sequence[Any], held: tuple[_Held, ...]) -> bool:
    """Tell whether all that objects hold will be read by its attributes, as it is."""
    if not set(map(type, values)) <= _OBJECTS:
        values = [value for value in values if value is not None]
        if not all(type(value) in _OBJECTS or _OBJECTS.admits(value) for value in values):
            return False
    for read, is_list, below in held:
        found = list(map(read, values))
        if is_list:
            if not set(map(type, found)) <= _LISTS:
                found = [each for each in found if each is not None]
                if not set(map(type, found)) <= _LISTS:
                    return False
            found = [] if below is None else list(chain.from_iterable(found))
        if below is not None and not _are_plain(found, below):
            return False
    return True
