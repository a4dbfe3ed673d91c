"""Clients of the last release keep working: their documents mean the same in the served schema.

`released.graphql` is the schema of the last release; before the first release, that of the day when
it was added. Only a release copies `schema.graphql` over it. A change that breaks clients first
marks the field as deprecated, and a later release removes it and says so.
"""

from pathlib import Path

import pytest
from graphql import (
    BreakingChange,
    DangerousChange,
    DangerousChangeType,
    GraphQLSchema,
    build_schema,
    find_breaking_changes,
    find_dangerous_changes,
)

from penstock.schema import sdl

SMALL = """
type Query { tag(key: String!): Tag  tags(first: Int = 20): [Tag!]!  last: Result }
type Tag { key: String!  label: String }
type VersionConflict { currentVersion: Int! }
type NotFound { message: String! }
union Result = Tag | VersionConflict
"""
RELEASED = (Path(__file__).parent / "released.graphql").read_text()


def breaches(released: GraphQLSchema, served: GraphQLSchema) -> list[str]:
    """List what no longer works, and defaults of arguments that have changed.

    New members of unions and enums are no breach, since the documentation tells clients to expect
    them.
    """
    found: list[BreakingChange | DangerousChange] = [*find_breaking_changes(released, served)]
    found += [
        change
        for change in find_dangerous_changes(released, served)
        if change.type is DangerousChangeType.ARG_DEFAULT_VALUE_CHANGE
    ]
    return [change.description for change in found]


def test_the_served_schema_breaks_no_client_of_the_last_release() -> None:
    assert breaches(build_schema(RELEASED), build_schema(sdl())) == []


@pytest.mark.parametrize(
    ("old", "new", "breach"),
    [
        ("label: String", "", "Field Tag.label was removed."),
        ("key: String!", "key: String", "Field Tag.key changed type from String! to String."),
        ("tag(key: String!)", "tag(key: String!, group: ID!)", "A required argument Query.tag("),
        ("first: Int = 20", "first: Int = 10", "Query.tags(first:) has changed defaultValue from"),
        (" | VersionConflict", "", "VersionConflict was removed from union type Result."),
    ],
)
def test_a_breach_is_noticed(old: str, new: str, breach: str) -> None:
    (found,) = breaches(build_schema(SMALL), build_schema(SMALL.replace(old, new)))
    assert found.startswith(breach)


def test_what_is_added_is_no_breach() -> None:
    grown = SMALL.replace("label: String", "label: String, color: String").replace(
        " | VersionConflict", " | VersionConflict | NotFound"
    )
    assert grown.count("color") == grown.count("| NotFound") == 1
    assert breaches(build_schema(SMALL), build_schema(grown)) == []
