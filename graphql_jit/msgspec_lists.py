"""Lists of plain objects that msgspec checks and encodes as JSON, faster than Python code.

The result holds such a list as a fragment that orjson copies. A list that msgspec refuses is
completed by Python code as usual. No other module of the package uses msgspec or orjson.
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

from penstock.graphql_jit.answer_meter import AnswerTooLarge, answer_meter
from penstock.graphql_jit.field_source import AttributeSource
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
_MIN_OBJECTS: Final = 8
_MAX_REFUSALS: Final = 8
"""Refused lists in a row before msgspec is no longer tried: each of them is read twice."""

_LISTS: Final = frozenset((list, tuple))


class _ObjectTypes(PlainTypes):
    """Plain types whose values msgspec reads by their attributes."""

    def admits(self, value: object) -> bool:
        return not isinstance(value, Mapping) and super().admits(value)


_OBJECTS: Final = _ObjectTypes()
_ENCODER: Final = Encoder()


class _NestedAttribute(NamedTuple):
    """An attribute that holds a list or an object; `below` is None for lists of leaves."""

    read: "attrgetter[Any]"
    is_list: bool
    below: "tuple[_NestedAttribute, ...] | None"


class ListEncoder:
    """Encodes lists of objects as JSON, from their attributes and those of nested objects.

    It does not try short lists, and stops trying after several refusals in a row.
    """

    __slots__ = ("_kind", "_nested", "_refusals")

    def __init__(self, kind: Any, held: tuple[_NestedAttribute, ...]) -> None:
        self._kind = kind
        self._nested = held
        self._refusals = 0

    def __call__(self, values: Sequence[Any]) -> Fragment | None:
        """Return the JSON of a list for orjson, or None where a value is not plain.

        Raises AnswerTooLarge if the lists before it are too large already.
        """
        if len(values) < _MIN_OBJECTS or self._refusals >= _MAX_REFUSALS:
            return None
        meter = answer_meter.get()
        if meter.written_bytes > meter.most_bytes:
            raise AnswerTooLarge
        self._refusals += 1
        try:
            if not _are_plain(values, self._nested):
                return None
            json = _ENCODER.encode(convert(values, self._kind, from_attributes=True))
        except Exception:
            # Python code completes the list and reports the error with its place.
            return None
        self._refusals = 0
        meter.written_bytes += len(json)
        return Fragment(json)


def list_encoder_of(field: Field, depth: int) -> ListEncoder | None:
    """Return the encoder of a field's lists with items `depth` lists deep, or None."""
    kind = field.types[depth]
    if not is_object_type(kind):
        return None
    selection = field.selections[kind.name]
    struct = _struct_type(selection)
    return None if struct is None else ListEncoder(_list_of(struct), _nested_attributes(selection))


def _struct_type(selection: Selection) -> Any:
    """Return the msgspec struct of a selection; None where it would not give the same JSON."""
    if selection.type.is_type_of is not None:
        return None
    kinds: dict[str, Any] = {}
    keys: dict[str, str] = {}
    for field in selection.fields:
        name, kind = _attribute_name(field), _msgspec_type(field)
        if name is None or kind is None or name in kinds:
            return None
        kinds[name], keys[name] = kind, field.key
    return defstruct(selection.type.name, kinds.items(), rename=keys, gc=False)


def _attribute_name(field: Field) -> str | None:
    if not isinstance(field.source, AttributeSource) or field.definition.args:
        return None
    name = field.source.name
    return None if name.startswith("__") or iskeyword(name) else name


def _msgspec_type(field: Field) -> Any:
    """Return the msgspec type of a field's values; None where there is none."""
    named: Any = field.named_type
    kind = _LEAVES.get(named)
    if kind is None and is_object_type(named):
        kind = _struct_type(field.selections[named.name])
    if kind is None or len(field.types) > 2:
        return None
    kind = kind | None if field.nullable[-1] else kind
    if len(field.types) == 1:
        return kind
    return _list_of(kind) | None if field.nullable[0] else _list_of(kind)


def _list_of(kind: Any) -> Any:
    return GenericAlias(list, (kind,))


def _nested_attributes(selection: Selection) -> tuple[_NestedAttribute, ...]:
    found = []
    for field in selection.fields:
        is_leaf, is_list = is_leaf_type(field.named_type), is_list_type(field.types[0])
        if isinstance(field.source, AttributeSource) and not (is_leaf and not is_list):
            below = None if is_leaf else _nested_attributes(field.selections[field.named_type.name])
            found.append(_NestedAttribute(attrgetter(field.source.name), is_list, below))
    return tuple(found)


def _are_plain(values: Sequence[Any], held: tuple[_NestedAttribute, ...]) -> bool:
    """Return whether all nested values are plain and will be read by their attributes."""
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
