"""Converts coerced arguments to the Python objects that Strawberry resolvers take.

Each input type gets one converter function, built when it is first needed.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from strawberry import Schema
from strawberry.relay import GlobalID
from strawberry.schema.compat import is_scalar
from strawberry.types.arguments import StrawberryArgument, convert_arguments
from strawberry.types.base import (
    StrawberryList,
    StrawberryMaybe,
    StrawberryObjectDefinition,
    StrawberryOptional,
    has_object_definition,
)
from strawberry.types.enum import StrawberryEnumDefinition, has_enum_definition
from strawberry.types.field import StrawberryField
from strawberry.types.lazy_type import LazyType
from strawberry.types.unset import UnsetType

if TYPE_CHECKING:
    from strawberry import Info

Convert: TypeAlias = Callable[[Any], Any]
ConvertedArguments: TypeAlias = dict[str, Any]
_ABSENT: Final = (type(None), UnsetType)


class InputConversions:
    """The argument conversions of one schema, built when they are first needed."""

    def __init__(self, schema: Schema) -> None:
        self._config = schema.config
        self._registry = schema.schema_converter.scalar_registry
        self._names = schema.config.name_converter
        self._objects: dict[type, _InputBuilder] = {}
        self._arguments: dict[StrawberryField, _SortedArguments] = {}

    def convert_values(
        self, field: StrawberryField, values: Mapping[str, Any], info: "Info"
    ) -> ConvertedArguments:
        """Return the arguments of a resolver, made from coerced values.

        Strawberry itself converts inputs with code of their own, and types that need the info.
        """
        known = self._arguments_of(field)
        made = {
            known_as: convert(values[name])
            for name, known_as, convert in known.plain
            if name in values
        }
        if known.left_to_strawberry:
            made |= convert_arguments(
                dict(values), known.left_to_strawberry, self._registry, self._config, info
            )
        return made

    def are_plain(self, field: StrawberryField) -> bool:
        """Return whether no argument of a field is left to Strawberry."""
        return not self._arguments_of(field).left_to_strawberry

    def _arguments_of(self, field: StrawberryField) -> "_SortedArguments":
        known = self._arguments.get(field)
        if known is None:
            known = self._arguments[field] = self._sort_arguments(field.arguments)
        return known

    def _sort_arguments(self, arguments: list[StrawberryArgument]) -> "_SortedArguments":
        found = _SortedArguments([], [])
        for argument in arguments:
            if self._is_plain(argument.type, set()):
                name = self._names.from_argument(argument)
                convert = self._converter(argument.type)
                found.plain.append(_FieldConversion(name, argument.python_name, convert))
            else:
                found.left_to_strawberry.append(argument)
        return found

    def _is_plain(self, type_: Any, seen: set[type]) -> bool:
        kind = _innermost_type(type_)
        if kind is GlobalID or isinstance(kind, StrawberryMaybe):
            return False
        if kind in seen or self._is_leaf(kind):
            return True
        if not has_object_definition(kind):
            return False
        seen.add(kind)
        definition = kind.__strawberry_definition__
        builds_itself = (
            definition.from_input is not None
            or hasattr(kind, "__post_init__")
            or not definition.is_input
        )
        return not builds_itself and all(
            self._is_plain(held, seen) for _, held in _typed_fields(definition)
        )

    def _is_leaf(self, type_: Any) -> bool:
        if isinstance(type_, StrawberryEnumDefinition) or has_enum_definition(type_):
            return True
        return bool(is_scalar(type_, self._registry))

    def _converter(self, type_: Any) -> Convert:
        if isinstance(type_, StrawberryOptional):
            return self._converter(type_.of_type)
        if isinstance(type_, LazyType):
            return self._converter(type_.resolve_type())
        if isinstance(type_, StrawberryList):
            return _list_converter(self._converter(type_.of_type))
        return _identity if self._is_leaf(type_) else self._object_converter(type_)

    def _object_converter(self, type_: type) -> "_InputBuilder":
        made = self._objects.get(type_)
        if made is None:
            # Stored before its fields are converted: an input may contain its own type.
            made = self._objects[type_] = _InputBuilder(type_)
            definition: StrawberryObjectDefinition = type_.__strawberry_definition__  # type: ignore[attr-defined]
            for field, held in _typed_fields(definition):
                made.add(field, self._names.from_field(field), self._converter(held))
        return made


class _FieldConversion(NamedTuple):
    """A field or argument: its name in GraphQL, its name in Python and its value's converter."""

    name: str
    python_name: str
    convert: Convert


class _SortedArguments(NamedTuple):
    """The arguments of a field: those converted here, and those left to Strawberry."""

    plain: list[_FieldConversion]
    left_to_strawberry: list[StrawberryArgument]


class _InputBuilder:
    """Converts values to input objects of one type."""

    __slots__ = ("_fields", "_nothing", "_type")

    def __init__(self, type_: type) -> None:
        self._type = type_
        self._nothing: dict[str, Any] = {}
        self._fields: list[_FieldConversion] = []

    def add(self, field: StrawberryField, name: str, convert: Convert) -> None:
        self._fields.append(_FieldConversion(name, field.python_name, convert))
        if field.default_value is MISSING and field.default_factory is MISSING:
            self._nothing[field.python_name] = None

    def __call__(self, value: Any) -> Any:
        if type(value) in _ABSENT:
            return value
        given = self._nothing.copy()
        for name, known_as, convert in self._fields:
            if name in value:
                held = value[name]
                given[known_as] = held if convert is _identity else convert(held)
        return self._type(**given)


_conversions: WeakKeyDictionary[Schema, InputConversions] = WeakKeyDictionary()


def conversions_of(schema: Schema) -> InputConversions:
    """Return the conversions of a schema."""
    found = _conversions.get(schema)
    if found is None:
        found = _conversions[schema] = InputConversions(schema)
    return found


def _typed_fields(definition: StrawberryObjectDefinition) -> list[tuple[StrawberryField, Any]]:
    return [(field, field.resolve_type(type_definition=definition)) for field in definition.fields]


def _innermost_type(type_: Any) -> Any:
    while isinstance(type_, LazyType | StrawberryOptional | StrawberryList):
        if isinstance(type_, StrawberryMaybe):
            break
        type_ = type_.resolve_type() if isinstance(type_, LazyType) else type_.of_type
    return type_


def _list_converter(convert: Convert) -> Convert:
    """Return a converter that copies lists: graphql-core shares a default list among requests."""

    def convert_list(values: Any) -> Any:
        if type(values) in _ABSENT:
            return values
        return list(values) if convert is _identity else [convert(one) for one in values]

    return convert_list


def _identity(value: Any) -> Any:
    return value
