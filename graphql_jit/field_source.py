"""The source of a field's value: the type's name, an attribute, or a function that is called.

Decorators mark resolvers with facts that Strawberry does not know, such as a form for many objects.
Exceptions that Strawberry's handlers accept become members of the field's union.
"""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any, Final, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from graphql import (
    GraphQLField,
    GraphQLFieldResolver,
    GraphQLObjectType,
    GraphQLSchema,
    TypeNameMetaFieldDef,
)
from graphql.execution import default_field_resolver
from strawberry import Schema
from strawberry.schema.exception_handlers import ExceptionHandler
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.field import StrawberryField
from strawberry.types.fields.resolver import StrawberryResolver

from penstock.graphql_jit.input_objects import conversions_of

R = TypeVar("R", bound=Callable[..., Any])


def resolver_mark(name: str, value: object) -> Callable[[R], R]:
    """Return a decorator that sets an attribute of a resolver's function."""

    def mark(resolver: R) -> R:
        function = resolver.__func__ if isinstance(resolver, staticmethod) else resolver
        setattr(function, name, value)
        return resolver

    return mark


BatchFunction: TypeAlias = Callable[..., Awaitable[Sequence[Any]] | Sequence[Any]]

_MARK = "__answers_many__"


def batch_resolver(many: BatchFunction) -> Callable[[R], R]:
    """Mark a Strawberry resolver as having a form for many objects, for compiled operations.

    `many(parents, info, **arguments)` is called once for a level of the answer, with all objects
    that need the field there; the info is that of the first. It returns one value for each object,
    in their order. An exception among the values fails the field of one object; a raised one fails
    all. The resolver itself runs where an operation is not compiled.
    """
    return resolver_mark(_MARK, many)


def batch_function_of(resolver: object) -> BatchFunction | None:
    """Return a resolver's form for many objects, if it has one."""
    found: BatchFunction | None = getattr(resolver, _MARK, None)
    return found


ResolverFunction: TypeAlias = Callable[..., Any]
Handlers: TypeAlias = tuple[tuple[tuple[type[Exception], ...], ExceptionHandler[Any]], ...]

INFO: Final = "_info_of_handlers"
"""The keyword of the info for the handlers of a resolver that takes none itself."""


def with_exception_handlers(
    function: ResolverFunction, field: StrawberryField, handlers: Handlers, info_name: str | None
) -> ResolverFunction:
    """Return a resolver that replaces an exception of `function` by the first handler's answer.

    Both are coroutine functions. The new one takes the same arguments and always an info. A handler
    that returns None declines, and the exception is raised again.
    """
    name = INFO if info_name is None else info_name
    take = dict.pop if info_name is None else dict.__getitem__

    def call_handler(error: Exception, info: Any) -> Any:
        for kinds, handler in handlers:
            if isinstance(error, kinds):
                return handler.handle(error, field=field, info=info)
        return None

    async def resolve(*args: Any, **kwargs: Any) -> Any:
        info = take(kwargs, name)
        try:
            return await function(*args, **kwargs)
        except Exception as error:
            answer = call_handler(error, info)
            answer = await answer if inspect.isawaitable(answer) else answer
            if answer is None:
                raise
            return answer

    return resolve


@dataclass(frozen=True, slots=True)
class TypeNameSource:
    """The field `__typename`: the name of the object's type."""

    text: str


@dataclass(frozen=True, slots=True)
class AttributeSource:
    """An attribute of the object, read by `getattr` as Strawberry does."""

    name: str


@dataclass(frozen=True, slots=True)
class MemberSource:
    """An item of a mapping or an attribute, called if it is callable, as in graphql-core."""

    name: str


@dataclass(frozen=True, slots=True)
class ResolverSource:
    """A resolver of graphql-core: a function of the object and an info."""

    resolve: GraphQLFieldResolver


@dataclass(frozen=True, slots=True)
class DirectSource:
    """A Strawberry resolver's own function, called without Strawberry's wrapper around it.

    The object is passed first (`to_self`) and under each of `source_names`.
    """

    function: Callable[..., Any]
    to_self: bool
    source_names: tuple[str, ...]
    info_name: str | None
    field: StrawberryField
    schema: Schema
    many: BatchFunction | None


FieldSource: TypeAlias = (
    TypeNameSource | AttributeSource | MemberSource | ResolverSource | DirectSource
)

_handlers: WeakKeyDictionary[Schema, dict[StrawberryField, Handlers]] = WeakKeyDictionary()
_DEFINITION: Final = GraphQLCoreConverter.DEFINITION_BACKREF


def field_source_of(
    definition: GraphQLField,
    name: str,
    parent: GraphQLObjectType,
    schema: GraphQLSchema,
    default: GraphQLFieldResolver,
) -> FieldSource:
    """Return the source of a field's values; a field of an unknown kind keeps its resolver."""
    if definition is TypeNameMetaFieldDef:
        return TypeNameSource(parent.name)
    resolve = definition.resolve
    if resolve is None:
        return MemberSource(name) if default is default_field_resolver else ResolverSource(default)
    found = definition.extensions.get(_DEFINITION)
    owner = getattr(schema, "_strawberry_schema", None)
    if isinstance(found, StrawberryField) and isinstance(owner, Schema):
        return _strawberry_source(found, owner) or ResolverSource(resolve)
    return ResolverSource(resolve)


def _strawberry_source(
    field: StrawberryField, schema: Schema
) -> AttributeSource | DirectSource | None:
    handlers = _find_handlers(field, schema)
    altered = type(field).get_result is not StrawberryField.get_result
    if altered or field.extensions or field.is_subscription:
        return None
    resolver = field.base_resolver
    if resolver is not None:
        return _direct_source(field, resolver, schema, handlers)
    plain = schema.config.default_resolver is getattr and not handlers
    return AttributeSource(field.python_name) if plain else None


def _find_handlers(field: StrawberryField, schema: Schema) -> Handlers:
    """Return the exception handlers of a field, which Strawberry finds by resolving its types."""
    known = _handlers.setdefault(schema, {})
    found = known.get(field)
    if found is None:
        converter = schema.schema_converter
        found = converter._get_field_exception_handlers(field)  # noqa: SLF001  # has no other name
        known[field] = found
    return found


def _direct_source(
    field: StrawberryField, resolver: "StrawberryResolver[Any]", schema: Schema, handlers: Handlers
) -> DirectSource | None:
    function = resolver.wrapped_func
    if not callable(function):
        return None
    named = (resolver.parent_parameter, resolver.root_parameter)
    info = None if resolver.info_parameter is None else resolver.info_parameter.name
    many = batch_function_of(function)
    if handlers:
        # Strawberry's conversion of arguments may raise exceptions that its handlers accept.
        plain = iscoroutinefunction(function) and conversions_of(schema).are_plain(field)
        if many is not None or not plain:
            return None
        function = with_exception_handlers(function, field, handlers, info)
    return DirectSource(
        function,
        resolver.self_parameter is not None,
        tuple(parameter.name for parameter in named if parameter is not None),
        INFO if handlers and info is None else info,
        field,
        schema,
        many,
    )
