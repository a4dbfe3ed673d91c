"""A Strawberry schema whose objects are read from attributes, over data of any kind."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from typing import Any, cast

import strawberry
from graphql import DocumentNode, parse

from penstock.graphql_jit import batch_resolver
from tests.graphql_jit.executor_comparison import CompiledDocument

Info = strawberry.Info["Context", Any]


class AttributeObject:
    """An object with attributes."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class RaisingObject(AttributeObject):
    """An object with an attribute that raises."""

    @property
    def text(self) -> str:
        raise ValueError("no text")


class Context:
    """The rows of the answer; `batches` are the rows whose owners were requested together."""

    def __init__(self, rows: Any, owners: Callable[[Sequence[Any]], Any] | None = None) -> None:
        self.rows: Any = rows
        self.owners: Any = owners or (lambda rows: [tag("owner", row.number) for row in rows])
        self.batches: list[list[Any]] = []
        self.asked: list[Any] = []


def tag(key: Any = "k", value: Any = "v") -> AttributeObject:
    return AttributeObject(key=key, value=value)


def row(
    number: Any = 0, kind: type[AttributeObject] = AttributeObject, /, **others: Any
) -> AttributeObject:
    """Return a row whose values fit its type, except those given."""
    fine = {
        "id": f"row {number}",
        "perhaps": None,
        "number": number,
        "share": 0.5,
        "flag": True,
        "tags": [tag()],
        "best": None,
        "words": ["a", "b"],
        "maybe": None,
    }
    if kind is not RaisingObject:
        fine["text"] = "text"
    return kind(**(fine | others))


@strawberry.type
class Tag:
    key: str
    value: str | None


def _owners(rows: Sequence[Any], info: Info) -> Any:
    info.context.batches.append([one.number for one in rows])
    return info.context.owners(rows)


@strawberry.type
class Row:
    id: strawberry.ID
    text: str
    perhaps: str | None
    number: int
    share: float
    flag: bool
    tags: list[Tag]
    best: Tag | None
    words: list[str]
    maybe: list[Tag | None] | None

    @strawberry.field
    @batch_resolver(_owners)
    @staticmethod
    def owner(one: strawberry.Parent[Any], info: Info) -> Tag | None:
        found: Tag | None = info.context.owners([one])[0]
        return found

    @strawberry.field
    @batch_resolver(_owners)
    @staticmethod
    def holder(one: strawberry.Parent[Any], info: Info) -> Tag:
        found: Tag = info.context.owners([one])[0]
        return found

    @strawberry.field
    @staticmethod
    def page(
        one: strawberry.Parent[Any], info: Info, first: int = 3, at: int | None = strawberry.UNSET
    ) -> "Page":
        info.context.asked.append((one.number, first, at, info.path.as_list()))
        return cast(
            "Page", AttributeObject(rows=info.context.rows[:first], info=tag(f"page {first} {at}"))
        )

    @strawberry.field
    @staticmethod
    async def late(one: strawberry.Parent[Any]) -> str | None:
        await asyncio.sleep(0)
        return f"{one.number} late"


@strawberry.type
class Page:
    rows: list[Row]
    info: Tag


@strawberry.type
class Query:
    @strawberry.field
    @staticmethod
    def rows(info: Info) -> list[Row]:
        found: list[Row] = info.context.rows
        return found

    @strawberry.field
    @staticmethod
    async def soon(info: Info) -> list[Row]:
        await asyncio.sleep(0)
        found: list[Row] = info.context.rows
        return found

    @strawberry.field
    @staticmethod
    def some(info: Info) -> list[Row | None] | None:
        found: list[Row | None] | None = info.context.rows
        return found

    @strawberry.field
    @staticmethod
    def table(info: Info) -> list[list[Row | None] | None] | None:
        return [info.context.rows, None, info.context.rows[:2]]

    @strawberry.field
    @staticmethod
    def page(info: Info) -> Page | None:
        return cast("Page", AttributeObject(rows=info.context.rows, info=tag("all")))


async def later(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


def at_once(values: Any) -> Any:
    return values


SCHEMA: Any = strawberry.Schema(Query)._schema
Give = Callable[[Any], Any | Awaitable[Any]]


@cache
def compile_document(text: str) -> tuple[DocumentNode, CompiledDocument]:
    """Parse and compile a document once for hundreds of runs."""
    document = parse(text)
    return document, CompiledDocument(SCHEMA, document)
