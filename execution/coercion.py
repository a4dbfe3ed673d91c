"""What graphql-core makes of input values, by functions put together once for each type."""

from collections.abc import Callable
from typing import Any, TypeAlias

from graphql import (
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    Undefined,
    is_required_input_field,
)
from graphql.pyutils import is_iterable
from graphql.utilities.coerce_input_value import coerce_default_value

Coerce: TypeAlias = Callable[[Any], Any]
"""Gives Undefined for what does not fit, or may not; it never raises."""


def coercion(type_: GraphQLInputType, around: tuple[GraphQLInputType, ...] = ()) -> Coerce | None:
    """Give the function for values as JSON has them; None for types that hold themselves.

    Those could be nested without end, which graphql-core looks for.
    """
    if isinstance(type_, GraphQLNonNull):
        inner = coercion(type_.of_type, around)
        return None if inner is None else _not_null(inner)
    if isinstance(type_, GraphQLList):
        inner = coercion(type_.of_type, around)
        return None if inner is None else _list(inner)
    if isinstance(type_, GraphQLInputObjectType):
        return None if type_ in around else _object(type_, (*around, type_))
    return _leaf(type_.coerce_input_value)


def _not_null(inner: Coerce) -> Coerce:
    def coerce(value: Any) -> Any:
        return Undefined if value is None else inner(value)

    return coerce


def _list(inner: Coerce) -> Coerce:
    def coerce(value: Any) -> Any:
        if value is None:
            return None
        if is_iterable(value) and not isinstance(value, list):
            return Undefined
        # One value stands for a list of one.
        found = [inner(one) for one in (value if isinstance(value, list) else (value,))]
        return Undefined if Undefined in found else found

    return coerce


def _leaf(parse: Coerce) -> Coerce:
    def coerce(value: Any) -> Any:
        if value is None:
            return None
        try:
            return parse(value)
        except Exception:
            # Whatever it is, the value does not fit.
            return Undefined

    return coerce


def _object(type_: GraphQLInputObjectType, around: tuple[GraphQLInputType, ...]) -> Coerce | None:
    if type_.is_one_of:
        return None
    fields = []
    for name, field in type_.fields.items():
        inner = coercion(field.type, around)
        if inner is None:
            return None
        fields.append((name, field.out_name or name, field, inner))
    return _objects(type_, fields)


def _objects(
    type_: GraphQLInputObjectType, fields: list[tuple[str, str, GraphQLInputField, Coerce]]
) -> Coerce:
    names, out_type = type_.fields.keys(), type_.out_type

    def coerce(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, dict) or not value.keys() <= names:
            return Undefined
        made = {}
        for name, known_as, field, inner in fields:
            if name in value:
                one = inner(value[name])
            elif is_required_input_field(field):
                return Undefined
            elif (one := coerce_default_value(field)) is Undefined:
                continue
            made[known_as] = one
        return Undefined if Undefined in made.values() else out_type(made)

    return coerce
