"""Where the value of a field comes from: an attribute, or a function that is called."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any, Final, TypeAlias

from graphql import (
    GraphQLField,
    GraphQLFieldResolver,
    GraphQLObjectType,
    GraphQLSchema,
    TypeNameMetaFieldDef,
)
from graphql.execution import default_field_resolver
from strawberry import Schema
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.field import StrawberryField
from strawberry.types.fields.resolver import StrawberryResolver

from penstock.execution.batching import Many, many_of
from penstock.execution.handling import INFO, Handlers, handled
from penstock.execution.inputs import inputs_of


@dataclass(frozen=True, slots=True)
class Constant:
    """The name of the object's type."""

    text: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the object, read as Strawberry does."""

    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """An item of a mapping or an attribute, called if it can be, as graphql-core reads it."""

    name: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a resolver of graphql-core's kind gives for the object and an info."""

    resolve: GraphQLFieldResolver


@dataclass(frozen=True, slots=True)
class Direct:
    """What the function below Strawberry's wrapping gives, called as that would call it.

    The object is passed first (`to_self`) and under each of `source_names`.
    """

    function: Callable[..., Any]
    to_self: bool
    source_names: tuple[str, ...]
    info_name: str | None
    field: StrawberryField
    schema: Schema
    many: Many | None


Reading: TypeAlias = Constant | Attribute | Member | Resolved | Direct

_DEFINITION: Final = GraphQLCoreConverter.DEFINITION_BACKREF


def reading_of(
    definition: GraphQLField,
    name: str,
    parent: GraphQLObjectType,
    schema: GraphQLSchema,
    default: GraphQLFieldResolver,
) -> Reading:
    """Find out how a field is read; whatever is not known well is left to its resolver."""
    if definition is TypeNameMetaFieldDef:
        return Constant(parent.name)
    resolve = definition.resolve
    if resolve is None:
        return Member(name) if default is default_field_resolver else Resolved(default)
    found = definition.extensions.get(_DEFINITION)
    owner = getattr(schema, "_strawberry_schema", None)
    if isinstance(found, StrawberryField) and isinstance(owner, Schema):
        return _strawberry(found, owner) or Resolved(resolve)
    return Resolved(resolve)


def _strawberry(field: StrawberryField, schema: Schema) -> Attribute | Direct | None:
    converter = schema.schema_converter
    handlers = converter._get_field_exception_handlers(field)  # noqa: SLF001  # has no other name
    altered = type(field).get_result is not StrawberryField.get_result
    if altered or field.extensions or field.is_subscription:
        return None
    resolver = field.base_resolver
    if resolver is not None:
        return _direct(field, resolver, schema, handlers)
    plain = schema.config.default_resolver is getattr and not handlers
    return Attribute(field.python_name) if plain else None


def _direct(
    field: StrawberryField, resolver: "StrawberryResolver[Any]", schema: Schema, handlers: Handlers
) -> Direct | None:
    function = resolver.wrapped_func
    if not callable(function):
        return None
    named = (resolver.parent_parameter, resolver.root_parameter)
    info = None if resolver.info_parameter is None else resolver.info_parameter.name
    many = many_of(function)
    if handlers:
        # What Strawberry converts of arguments may raise what its handlers want to know of.
        plain = iscoroutinefunction(function) and inputs_of(schema).are_plain(field)
        if many is not None or not plain:
            return None
        function = handled(function, field, handlers, info)
    return Direct(
        function,
        resolver.self_parameter is not None,
        tuple(parameter.name for parameter in named if parameter is not None),
        INFO if handlers and info is None else info,
        field,
        schema,
        many,
    )
