"""Leaf values: fast tests that a value needs no coercion, and the coercion of all others."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from graphql import (
    GraphQLBoolean,
    GraphQLEnumType,
    GraphQLFloat,
    GraphQLID,
    GraphQLInt,
    GraphQLLeafType,
    GraphQLOutputType,
    GraphQLString,
    Undefined,
)
from strawberry.schema.schema_converter import CustomGraphQLEnumType

CoerceLeaf: TypeAlias = Callable[[Any], Any]

_MAX_TYPES: Final = 2_000

# Python tests that are true for an odd `{v}`; a value that is not odd needs no coercion.
_ODD: Final[Mapping[GraphQLOutputType, str]] = {
    GraphQLString: "type({v}) is not str",
    GraphQLID: "type({v}) is not str",
    GraphQLBoolean: "{v} is not True and {v} is not False",
    GraphQLInt: "type({v}) is not int or not -2147483648 <= {v} <= 2147483647",
    # Of all floats, only infinities and NaN less themselves are not 0.
    GraphQLFloat: "type({v}) is not float or {v} - {v} != 0",
}


_SPECIAL_METHODS: Final = ("__await__", "__aiter__", "__call__", "__getattr__")


class OddValue(Exception):
    """A value that inlined code does not handle; graphql-core completes its object instead."""


class PlainTypes(set[type]):
    """The types seen so far whose values are plain: they stand for themselves.

    Values of other types may be awaitable, callable, asynchronous iterators or exceptions.
    """

    def admits(self, value: object) -> bool:
        """Return whether a value's type is plain; a plain type is added to the set."""
        kind = type(value)
        if value is None or value is Undefined or issubclass(kind, Exception):
            return False
        if any(name in vars(base) for base in kind.__mro__ for name in _SPECIAL_METHODS):
            return False
        if len(self) >= _MAX_TYPES:
            self.clear()
        self.add(kind)
        return True


PLAIN: Final = PlainTypes()


def odd_value_test(kind: GraphQLOutputType) -> str | None:
    """Return the Python test for values that need coercion; None if all values need it."""
    return _ODD.get(kind)


def leaf_coercion(kind: GraphQLLeafType) -> CoerceLeaf:
    """Return a function that coerces a value; it raises Odd where graphql-core has to do it."""
    members = _members(kind)
    output = kind.coerce_output_value

    def coerce(value: Any) -> Any:
        if type(value) not in PLAIN and not PLAIN.admits(value):
            raise OddValue
        result = output(value)
        if result is None or result is Undefined:
            raise OddValue
        return result

    if not members:
        return coerce
    wrapped = type(next(iter(members)))

    def member_name(value: Any) -> Any:
        return members[value] if type(value) is wrapped else coerce(value)

    return member_name


def _members(kind: GraphQLLeafType) -> dict[Any, str]:
    """Return the names of an enum's members, or nothing where a member has no name."""
    if not isinstance(kind, GraphQLEnumType) or not isinstance(kind, CustomGraphQLEnumType):
        return {}
    members: list[Any] = list(kind.wrapped_cls)
    try:
        return {member: kind.coerce_output_value(member) for member in members}
    except (ValueError, TypeError):
        return {}
