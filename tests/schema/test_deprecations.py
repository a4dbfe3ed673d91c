"""Every deprecated part of the schema says since when, what replaces it, and how long it stays."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Protocol

import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
)

from penstock.schema import sdl

PAGE = Path(__file__).parents[2] / "docs" / "schema-changes.md"
REASON = re.compile(
    r"Since (\d{4}-\d\d-\d\d): use `(\w+)`\. Removed on (\d{4}-\d\d-\d\d) at the earliest\."
)
YEAR = timedelta(days=365)


class DeprecablePart(Protocol):
    deprecation_reason: str | None


def deprecated_parts(schema: GraphQLSchema) -> list[tuple[str, str]]:
    """Return the deprecated parts, each with its reason."""
    return [
        (name, part.deprecation_reason)
        for type in schema.type_map.values()
        for name, part in parts_of(type)
        if part.deprecation_reason is not None
    ]


def parts_of(type: GraphQLNamedType) -> Iterator[tuple[str, DeprecablePart]]:
    """Yield what may be deprecated of a type, by its name."""
    match type:
        case GraphQLEnumType():
            yield from ((f"{type.name}.{name}", part) for name, part in type.values.items())
        case GraphQLInputObjectType():
            yield from ((f"{type.name}.{name}", part) for name, part in type.fields.items())
        case GraphQLObjectType() | GraphQLInterfaceType():
            for name, field in type.fields.items():
                yield f"{type.name}.{name}", field
                for argument, part in field.args.items():
                    yield f"{type.name}.{name}({argument}:)", part


SERVED = build_schema(sdl())


@pytest.mark.parametrize(("part", "reason"), deprecated_parts(SERVED))
def test_a_deprecated_part_works_for_a_year_and_names_what_replaces_it(
    part: str, reason: str
) -> None:
    found = REASON.fullmatch(reason)
    assert found is not None
    since, instead, removed = found.groups()
    assert date.fromisoformat(removed) - date.fromisoformat(since) >= YEAR
    owner = SERVED.type_map[part.split(".", maxsplit=1)[0]]
    assert isinstance(owner, GraphQLObjectType)
    assert instead in owner.fields
    assert f"| `{part}` | {since} | `{instead}` | " in PAGE.read_text()


def test_the_page_lists_no_other_part() -> None:
    named = re.findall(r"^\| `([\w.():]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert named == [part for part, _ in deprecated_parts(SERVED)]


def test_parts_of_every_kind_are_found() -> None:
    small = build_schema("""
        type Query {
          old: Int @deprecated(reason: "a")
          new(arg: Int @deprecated(reason: "b")): Kind
        }
        enum Kind { OLD @deprecated(reason: "c")  NEW }
        input Word { old: Int @deprecated(reason: "d") }
        interface Named { old: Int @deprecated(reason: "e") }
    """)
    assert set(deprecated_parts(small)) == {
        ("Query.old", "a"),
        ("Query.new(arg:)", "b"),
        ("Kind.OLD", "c"),
        ("Word.old", "d"),
        ("Named.old", "e"),
    }
