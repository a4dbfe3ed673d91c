"""Every element of the schema has a description that is a sentence."""

import re
from collections.abc import Iterator, Mapping

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
    is_specified_directive,
    is_specified_scalar_type,
)

from penstock.schema import sdl

OPENING = re.compile(r"(What|Who|Whom|Whose|Where|How|Which|Why)\b")
FEWEST_WORDS = 3

Described = Iterator[tuple[str, str | None]]


def descriptions(schema: GraphQLSchema) -> Described:
    """Every element of the schema by its coordinate, with its description."""
    for name, type in schema.type_map.items():
        if not name.startswith("__") and not is_specified_scalar_type(type):
            yield name, type.description
            yield from _members(type)
    for directive in schema.directives:
        if not is_specified_directive(directive):
            yield f"@{directive.name}", directive.description
            yield from list_described_elements(f"@{directive.name}(%s:)", directive.args)


def _members(type: GraphQLNamedType) -> Described:
    match type:
        case GraphQLObjectType() | GraphQLInterfaceType():
            for name, field in type.fields.items():
                yield f"{type.name}.{name}", field.description
                yield from list_described_elements(f"{type.name}.{name}(%s:)", field.args)
        case GraphQLInputObjectType():
            yield from list_described_elements(f"{type.name}.%s", type.fields)
        case GraphQLEnumType():
            yield from list_described_elements(f"{type.name}.%s", type.values)


def list_described_elements(coordinate: str, members: Mapping[str, object]) -> Described:
    for name, member in members.items():
        yield coordinate % name, getattr(member, "description", None)


def problem(description: str | None) -> str | None:
    """The first rule that a description breaks; None if it keeps them all."""
    if not description:
        return "has no description"
    if len(description.split()) < FEWEST_WORDS:
        return f"has fewer than {FEWEST_WORDS} words"
    if not description.endswith("."):
        return "does not end with a full stop"
    if found := OPENING.match(description):
        return f"opens with {found[1]}"
    return None


def problems(schema: GraphQLSchema) -> list[str]:
    return [f"{at} {found}" for at, text in descriptions(schema) if (found := problem(text))]


def test_every_element_of_the_schema_is_described_by_a_sentence() -> None:
    assert problems(build_schema(sdl())) == []


def test_every_kind_of_element_is_checked() -> None:
    schema = build_schema(
        "directive @d(da: Int) on FIELD\n"
        "type Query { f(a: I): E }\n"
        "interface N { g: S }\n"
        "input I { h: Int }\n"
        "enum E { V }\n"
        "scalar S\n"
        "union U = Query\n"
    )
    found = " ".join(sorted(at for at, _ in descriptions(schema)))
    assert found == "@d @d(da:) E E.V I I.h N N.g Query Query.f Query.f(a:) S U"


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        (None, "has no description"),
        ("", "has no description"),
        ("The entry.", "has fewer than 3 words"),
        ("The id of the entry", "does not end with a full stop"),
        ("When it was made, in UTC.", None),
        ("Why it failed, in words.", "opens with Why"),
        ("What is stored of it.", "opens with What"),
        ("Whether the entry is hidden.", None),
    ],
)
def test_a_description_that_breaks_a_rule_is_noticed(
    description: str | None, expected: str | None
) -> None:
    assert problem(description) == expected
