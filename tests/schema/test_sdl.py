"""The committed schema is the served one, and contains everything that was promised."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from graphql import (
    GraphQLArgument,
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputField,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    build_schema,
    is_required_argument,
    is_required_input_field,
    is_specified_scalar_type,
)

from penstock.schema import sdl

ROOT = Path(__file__).parents[2]
PROMISED = build_schema((Path(__file__).parent / "promised.graphql").read_text())
NAMES = [
    name
    for name, type in PROMISED.type_map.items()
    if not name.startswith("__") and not is_specified_scalar_type(type)
]


@cache
def served_schema() -> GraphQLSchema:
    return build_schema(sdl())


def breaches(promised: GraphQLNamedType, served: GraphQLNamedType | None) -> Iterator[str]:
    """Yield the differences between a served and a promised type that would break a client."""
    match promised, served:
        case _ if type(served) is not type(promised):
            yield f"{promised.name} is not there"
        case GraphQLEnumType(), GraphQLEnumType():
            yield from _missing(promised.name, promised.values, served.values)
        case GraphQLUnionType(), GraphQLUnionType():
            yield from _missing(
                promised.name, _type_names(promised.types), _type_names(served.types)
            )
        case GraphQLInputObjectType(), GraphQLInputObjectType():
            yield from _inputs(promised.name, promised.fields, served.fields)
        case GraphQLInterfaceType(), GraphQLInterfaceType():
            yield from _fields(promised.name, promised.fields, served.fields)
        case GraphQLObjectType(), GraphQLObjectType():
            yield from _missing(
                promised.name, _type_names(promised.interfaces), _type_names(served.interfaces)
            )
            yield from _fields(promised.name, promised.fields, served.fields)


def _type_names(types: Iterable[GraphQLNamedType]) -> set[str]:
    return {type.name for type in types}


def _missing(of: str, promised: Iterable[str], served: Iterable[str]) -> Iterator[str]:
    yield from (f"{of}.{name} is missing" for name in sorted({*promised} - {*served}))


def _fields(
    of: str, promised: Mapping[str, GraphQLField], served: Mapping[str, GraphQLField]
) -> Iterator[str]:
    for name, field in promised.items():
        if name not in served:
            yield f"{of}.{name} is missing"
            continue
        if str(served[name].type) != str(field.type):
            yield f"{of}.{name} is {served[name].type}, not {field.type}"
        yield from _inputs(f"{of}.{name}", field.args, served[name].args)


def _inputs(
    of: str,
    promised: Mapping[str, GraphQLArgument] | Mapping[str, GraphQLInputField],
    served: Mapping[str, GraphQLArgument] | Mapping[str, GraphQLInputField],
) -> Iterator[str]:
    for name, value in promised.items():
        if name not in served:
            yield f"{of}({name}) is missing"
        elif str(served[name].type) != str(value.type):
            yield f"{of}({name}) is {served[name].type}, not {value.type}"
        elif served[name].default_value != value.default_value:
            yield f"{of}({name}) has another default"
    for name, value in served.items():
        if name not in promised and _is_required(value):
            yield f"{of}({name}) is asked of clients that do not know it"


def _is_required(value: GraphQLArgument | GraphQLInputField) -> bool:
    if isinstance(value, GraphQLArgument):
        return is_required_argument(value)
    return is_required_input_field(value)


def test_the_committed_schema_is_the_one_that_is_served() -> None:
    assert (ROOT / "schema.graphql").read_text() == sdl(), "run make schema"


@pytest.mark.parametrize("name", NAMES)
def test_a_promised_type_is_served_as_promised(name: str) -> None:
    assert list(breaches(PROMISED.type_map[name], served_schema().type_map.get(name))) == []


@pytest.mark.parametrize(
    ("served", "words"),
    [
        ("type Tag { key: String! }", "Tag.value is missing"),
        ("type Tag { key: String! value: String }", "Tag.value is String, not String!"),
        ("input Tag { key: String! value: String! }", "Tag is not there"),
        ("type Tag { key: String! value(at: Int!): String! }", "Tag.value(at) is asked of clients"),
    ],
)
def test_a_broken_promise_is_noticed(served: str, words: str) -> None:
    broken: GraphQLSchema = build_schema(served)
    (found,) = breaches(PROMISED.type_map["Tag"], broken.type_map["Tag"])
    assert found.startswith(words)
