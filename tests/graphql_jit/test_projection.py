"""The attributes that an operation reads of the objects of one type."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
import strawberry
from graphql import parse

from penstock.graphql_jit import (
    CompiledOperation,
    ExecutionOptions,
    projected_attributes,
    reads_attributes,
)
from tests.graphql_jit.executor_comparison import operation_of, run_reference

SEEN: list[tuple[str, frozenset[str] | None]] = []


@strawberry.interface
class Node:
    @strawberry.field
    @reads_attributes({"Book": ("key",)})
    @staticmethod
    def id(told: strawberry.Parent[Any]) -> strawberry.ID:
        return strawberry.ID(f"id of {told.key}")


@strawberry.type
class Author(Node):
    full_name: str
    key: str = "a"

    @strawberry.field
    def books(self, info: strawberry.Info) -> "list[Book]":
        return shelf(info)


@strawberry.type
class Book(Node):
    title: str
    page_count: int = 3
    key: str = "b"

    @strawberry.field
    def author(self) -> Author:
        return Author(full_name="A. N.")

    @strawberry.field
    @staticmethod
    def shelf_mark() -> str:
        return "K 7"


@strawberry.type
class Page:
    nodes: list[Book]
    total: int = 1


def shelf(info: strawberry.Info) -> list[Book]:
    SEEN.extend((name, projected_attributes(info, name)) for name in ("Book", "Author", "Nobody"))
    return [Book(title="T")]


@strawberry.type
class Query:
    books: list[Book] = strawberry.field(resolver=shelf)

    @strawberry.field
    @staticmethod
    async def page(info: strawberry.Info) -> Page:
        return Page(nodes=shelf(info))

    @strawberry.field
    @staticmethod
    def anything(info: strawberry.Info) -> Node:
        return shelf(info)[0]


SCHEMA: Any = strawberry.Schema(Query, types=[Author])._schema


@dataclass(frozen=True)
class Case:
    document: str
    book: frozenset[str] | None
    author: frozenset[str] | None = frozenset()


def names(*attributes: str) -> frozenset[str]:
    return frozenset(attributes)


CASES = [
    Case("{ books { title } }", names("title")),
    Case("{ books { a: title b: title n: pageCount __typename } }", names("title", "page_count")),
    Case("{ books { __typename } }", names()),
    Case("{ page { total } }", names()),
    Case("{ page { nodes { pageCount } } }", names("page_count")),
    Case(
        "{ books { title ...F ... on Node { id } } } fragment F on Book { key }",
        names("title", "key"),
    ),
    Case("{ books { id } }", names("key")),
    Case("{ books { shelfMark } }", names()),
    Case("{ books { title author { fullName } } }", None, names("full_name")),
    Case("{ books { title author { id } } }", None, None),
    Case("{ books { title author { fullName books { pageCount } } } }", None, None),
    Case(
        "{ anything { id ... on Book { title } ... on Author { fullName } } }",
        names("key", "title"),
        None,
    ),
    Case("{ books { title @skip(if: true) key } }", names("key")),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.document)
async def test_attributes_are_known_where_no_resolver_is_passed_the_object(case: Case) -> None:
    document = parse(case.document)
    SEEN.clear()
    run = CompiledOperation(
        ExecutionOptions(schema=SCHEMA), document, operation_of(document), Counter()
    )
    for _ in range(2):
        result = run({})
        assert (await result if hasattr(result, "__await__") else result).errors is None
    outermost = SEEN[:3]
    assert outermost == [("Book", case.book), ("Author", case.author), ("Nobody", names())]
    assert len(SEEN) == 6 or "books { pageCount }" in case.document


async def test_nothing_is_known_where_graphql_core_executes() -> None:
    SEEN.clear()
    await run_reference(SCHEMA, parse("{ books { title } }"))
    assert {asked for _, asked in SEEN} == {None}
