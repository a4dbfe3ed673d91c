"""How much a schema's own description holds, which decides how long it takes to give."""

from collections.abc import Iterable, Mapping, Sized
from functools import lru_cache

from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInputField,
    GraphQLSchema,
    is_abstract_type,
    is_enum_type,
    is_input_object_type,
    is_interface_type,
    is_object_type,
    is_wrapping_type,
)

NAMED = ""
"""Stands for the type that `__type` is asked of, whichever that is."""


@lru_cache(maxsize=8)
def lengths(schema: GraphQLSchema) -> Mapping[tuple[str, str], float]:
    """Give the mean length of each list, and of what is mostly null, by its type and field.

    Means are those over all types: few of them have fields, values and possible types at once.
    """
    types = list(schema.type_map.values())
    fields: list[GraphQLField] = []
    for one in types:
        if is_object_type(one) or is_interface_type(one):
            fields += one.fields.values()
    inputs = [one.fields for one in types if is_input_object_type(one)]
    values = [one.values for one in types if is_enum_type(one)]
    possible = [schema.get_possible_types(one) for one in types if is_abstract_type(one)]
    directives = schema.directives
    typed = [*fields, *(one for held in inputs for one in held.values())]
    return {
        ("__Schema", "types"): len(types),
        ("__Schema", "directives"): len(directives),
        ("__Type", "fields"): len(fields) / len(types),
        ("__Type", "inputFields"): _total(inputs) / len(types),
        ("__Type", "enumValues"): _total(values) / len(types),
        ("__Type", "possibleTypes"): _total(possible) / len(types),
        ("__Type", "ofType"): _wrapped(typed),
        ("__Field", "args"): _total(field.args for field in fields) / max(1, len(fields)),
        ("__Directive", "args"): _total(one.args for one in directives) / max(1, len(directives)),
        # Whoever asks for one type may ask for the one that holds most.
        (NAMED, "__type"): _largest(schema) * len(types) / max(1, len(fields)),
    }


def _largest(schema: GraphQLSchema) -> int:
    """Give the size of the type with most fields and arguments."""
    return max(
        sum(1 + len(field.args) for field in one.fields.values())
        for one in schema.type_map.values()
        if is_object_type(one)
    )


def _total(lists: Iterable[Sized]) -> int:
    return sum(map(len, lists))


def _wrapped(typed: list[GraphQLField | GraphQLInputField | GraphQLArgument]) -> float:
    """Give the share of types that are lists of another or exclude null, of all in references."""
    wrapped = 0
    for one in typed:
        kind = one.type
        while is_wrapping_type(kind):
            wrapped += 1
            kind = kind.of_type
    return wrapped / max(1, wrapped + len(typed))
