"""A small schema with nested lists, for tests of `server/edge`."""

import asyncio
from collections.abc import AsyncIterator
from decimal import Decimal
from functools import cache

import strawberry
from strawberry.schema.config import StrawberryConfig

from penstock.datastore.errors import BadArgument, NotPermitted, Unavailable
from penstock.datastore.roles import GroupPath
from penstock.schema.core.scalars import JSON, SCALARS, DateTime, Long
from penstock.schema.engine.cost import price_metadata


class FakeContext:
    """Keeps the effects of mutations; also plays the units that a store would have counted."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.rcu = 1.5
        self.wcu = 0.0
        self.calls = 3
        # The context also plays the part of its session's units.
        self.units = self
        self.consistency_token: str | None = None


Info = strawberry.Info[FakeContext, None]


@strawberry.type
class Book:
    title: str

    @strawberry.field
    def shelf(self) -> "Shelf":
        return Shelf(name="above")


@strawberry.type
class BookEdge:
    node: Book
    cursor: str


@strawberry.type
class BookConnection:
    edges: list[BookEdge]
    nodes: list[Book]

    @strawberry.field(metadata=price_metadata(1))  # type: ignore[untyped-decorator]
    def total_count(self) -> int:
        return len(self.nodes)


@strawberry.type
class Shelf:
    name: str

    @strawberry.field
    def books(self, first: int | None = None, last: int | None = None) -> BookConnection:
        return some_books(self.name, first or last or 20)

    @strawberry.field(metadata=price_metadata(7))  # type: ignore[untyped-decorator]
    def scan(self) -> str:
        return "scanned"


def some_books(name: str, size: int) -> BookConnection:
    books = [Book(title=f"{name} {n}") for n in range(min(size, 3))]
    return BookConnection(edges=[BookEdge(node=b, cursor=b.title) for b in books], nodes=books)


@strawberry.input
class Note:
    text: str
    color: int | None = None


@strawberry.type
class Query:
    @strawberry.field
    def hello(self) -> str:
        return "world"

    @strawberry.field
    def shelf(self, name: str = "top") -> Shelf:
        return Shelf(name=name)

    @strawberry.field
    def shelves(
        self, first: int | None = None, last: int | None = None, after: str | None = None
    ) -> BookConnection:
        return some_books("all", first or last or 20)

    @strawberry.field(name="picked", metadata=price_metadata(1, sized_by="ids"))  # type: ignore[untyped-decorator]
    def shelves_by_id(self, ids: list[strawberry.ID]) -> list[Shelf]:
        return [Shelf(name=one) for one in ids]

    @strawberry.field
    def same(
        self,
        json: JSON | None = None,
        time: DateTime | None = None,
        group: GroupPath | None = None,
        long: Long | None = None,
        decimal: Decimal | None = None,
    ) -> "Values":
        return Values(json=json, time=time, group=group, long=long, decimal=decimal)

    @strawberry.field
    def number(self, value: int) -> int:
        return value

    @strawberry.field
    def note(self, note: Note) -> str:
        return note.text

    @strawberry.field
    def crash(self) -> str | None:
        raise RuntimeError("secret of the house")

    @strawberry.field
    def crash_hard(self) -> str:
        raise RuntimeError("secret of the house")

    @strawberry.field
    def too_wide(self) -> int | None:
        return 2**40

    @strawberry.field
    def infinite(self) -> JSON | None:
        return JSON(float("inf"))

    @strawberry.field
    def refuse(self) -> str | None:
        raise BadArgument("`first` is 1 to 100, not 0.", ("first",))

    @strawberry.field
    def forbid(self) -> str | None:
        raise NotPermitted("That is not for you.")

    @strawberry.field
    async def away(self) -> str | None:
        raise Unavailable("The store did not answer.", retry_after=7)

    @strawberry.field
    async def sleep(self, seconds: float) -> str | None:
        await asyncio.sleep(seconds)
        return "awake"


@strawberry.type
class Values:
    json: JSON | None
    time: DateTime | None
    group: GroupPath | None
    long: Long | None
    decimal: Decimal | None


@strawberry.type
class Mutation:
    @strawberry.mutation
    def write(self, info: Info, text: str) -> str:
        info.context.texts.append(text)
        return text


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def ticks(self, to: int = 3) -> AsyncIterator[int]:
        for tick in range(to):
            yield tick


@cache
def shelves_schema() -> strawberry.Schema:
    return strawberry.Schema(
        Query, Mutation, Subscription, config=StrawberryConfig(scalar_map=dict(SCALARS))
    )
