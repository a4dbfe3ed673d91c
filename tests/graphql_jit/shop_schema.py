"""A Strawberry schema with one of everything that compiled execution treats specially."""

import asyncio
from collections.abc import AsyncIterator
from enum import Enum
from typing import Annotated, Any, Optional

import strawberry
from strawberry.permission import BasePermission
from strawberry.relay import GlobalID

from penstock.graphql_jit import batch_resolver


@strawberry.enum
class Colour(Enum):
    RED = "r"
    BLUE = "b"


@strawberry.interface
class NamedThing:
    name: str


@strawberry.type
class Maker(NamedThing):
    country: str | None = None


@strawberry.type
class Robot(NamedThing):
    version: int


class SoldError(Exception):
    pass


@strawberry.type
class SoldOut:
    message: str


async def later(answer: Any) -> Any:
    return answer


class SoldHandler(strawberry.ExceptionHandler[SoldError, SoldOut]):
    def handle(self, exception: SoldError, *, field: Any, info: Any) -> Any:
        if str(exception) == "declined":
            return None
        answer = SoldOut(message=f"{field.python_name} {info.path.as_list()}: {exception}")
        return later(answer) if field.is_async else answer


class Nobody(BasePermission):
    message = "not for you"

    def has_permission(self, source: Any, info: strawberry.Info, **kwargs: Any) -> bool:
        return False


class Context:
    """Records of resolver calls: `batches` are the parents of each level, `log` is the order."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.log: list[str] = []


def makers_of(parents: list["Toy"], info: strawberry.Info[Context]) -> list[Any]:
    info.context.batches.append([toy.name for toy in parents])
    return [
        ValueError(f"no maker of {toy.name}") if toy.name == "orphan" else Maker(name="m")
        for toy in parents
    ]


async def prices_of(parents: list["Toy"], info: strawberry.Info[Context], tax: int) -> list[int]:
    info.context.batches.append([toy.name for toy in parents])
    await asyncio.sleep(0)
    if tax < 0:
        raise ValueError("negative tax")
    return [len(toy.name) + tax for toy in parents][: tax if tax < 3 else None]


@strawberry.type
class Toy(NamedThing):
    colour: Colour = Colour.RED
    parts: list["Toy"] = strawberry.field(default_factory=list)
    weight: float | None = None

    @strawberry.field
    @batch_resolver(makers_of)
    @staticmethod
    def maker(toy: strawberry.Parent["Toy"]) -> Maker | None:
        if toy.name == "orphan":
            raise ValueError(f"no maker of {toy.name}")
        return Maker(name="m")

    @strawberry.field
    @batch_resolver(prices_of)
    @staticmethod
    async def price(toy: strawberry.Parent["Toy"], tax: int = 7) -> int | None:
        return len(toy.name) + tax

    @strawberry.field
    def place(self, info: strawberry.Info) -> str:
        return f"{info.path.as_list()} {info.field_name} {info.python_name}"

    @strawberry.field
    async def double(self, times: int = 2) -> str:
        await asyncio.sleep(0)
        if times > 5:
            raise ValueError("too often")
        return self.name * times

    secret: str | None = strawberry.field(resolver=lambda: "s", permission_classes=[Nobody])


@strawberry.input
class Wish:
    names: list[str]
    colour: Colour = Colour.BLUE
    instead: Optional["Wish"] = None
    others: list["Wish | None"] | None = strawberry.UNSET
    size: int | None = strawberry.field(name="howLarge")
    codes: list[int] = strawberry.field(default_factory=list)


@strawberry.input
class Order:
    size: int = 7
    colours: list[Colour] | None = strawberry.field(default_factory=lambda: [Colour.RED])


@strawberry.input
class Odd:
    """An input that only Strawberry can convert."""

    maker: strawberry.Maybe[str | None]
    wish: Wish


@strawberry.input
class CheckedOrder:
    size: int

    def __post_init__(self) -> None:
        if self.size > 9:
            raise SoldError(f"{self.size} is too large")


def toys_named(names: list[str]) -> list[Toy]:
    return [Toy(name=name, parts=[Toy(name=f"{name} part")]) for name in names]


@strawberry.type
class Query:
    @strawberry.field
    def toys(self, names: list[str]) -> list[Toy]:
        return toys_named(names)

    @strawberry.field
    async def toy(self, name: str) -> Toy | None:
        await asyncio.sleep(0)
        return None if name == "none" else Toy(name=name)

    @strawberry.field
    def toys_for(self, wish: Wish) -> list[Toy]:
        return [Toy(name=name, colour=wish.colour) for name in wish.names]

    @strawberry.field
    def describe_wishes(self, wish: Wish, wishes: list[Wish] | None = None) -> str:
        return f"{wish!r} {wishes!r}"

    @strawberry.field
    def describe_orders(self, orders: list[Order] | None = None) -> str:
        return f"{orders!r}"

    @strawberry.field
    def odd(self, odd: Odd, wish: Wish | None = None) -> str:
        return f"{odd!r} {wish!r}"

    @strawberry.field
    def named_things(self) -> list[NamedThing]:
        return [Maker(name="m", country="x"), Robot(name="r", version=3), Toy(name="t")]

    @strawberry.field
    def things(self) -> list[Annotated[Maker | Robot, strawberry.union("Thing")]]:
        return [Maker(name="m"), Robot(name="r", version=2**40)]

    @strawberry.field
    def echo(self, info: strawberry.Info, value: int | None = strawberry.UNSET) -> str:
        return f"{value!r} {info.variable_values}"

    @strawberry.field
    def describe_arguments(
        self,
        text: str,
        perhaps: strawberry.Maybe[int | None] = None,
        id: GlobalID | None = None,
        colours: list[Colour] = strawberry.UNSET,
        limit: int = 5,
    ) -> str:
        return f"{text!r} {perhaps!r} {id!r} {colours!r} {limit!r}"


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def note(self, info: strawberry.Info[Context], text: str) -> str:
        info.context.log.append(f"{text} begins")
        await asyncio.sleep(0)
        info.context.log.append(f"{text} ends")
        return text

    @strawberry.mutation
    def note_now(self, info: strawberry.Info[Context], text: str) -> str:
        info.context.log.append(text)
        if text == "fail":
            raise ValueError(text)
        return text

    @strawberry.mutation
    async def buy(self, name: str) -> Annotated[Toy | SoldOut, strawberry.union("Bought")]:
        if name == "sold":
            raise SoldError(name)
        return Toy(name=name)

    @strawberry.mutation
    def buy_now(
        self, info: strawberry.Info, name: str
    ) -> Annotated[Toy | SoldOut, strawberry.union("Bought")]:
        if name != info.field_name:
            raise SoldError(name)
        return Toy(name=name)

    @strawberry.mutation
    async def order(
        self, info: strawberry.Info, wish: Wish, checked: CheckedOrder | None = None
    ) -> Annotated[Toy | SoldOut, strawberry.union("Bought")]:
        if wish.size == 0:
            raise SoldError(f"{info.field_name} {wish.names}")
        if wish.size == 1:
            raise ValueError("one")
        return Toy(name=wish.names[0])

    @strawberry.mutation
    async def wish(self, wish: Wish) -> Annotated[Toy | SoldOut, strawberry.union("Bought")]:
        if wish.size == 0:
            raise SoldError(wish.names[0])
        return Toy(name=wish.names[0])


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def new_toys(self) -> AsyncIterator[Toy]:
        yield Toy(name="first")


def shop() -> strawberry.Schema:
    return strawberry.Schema(
        Query, Mutation, Subscription, types=[Maker, Robot, Toy], exception_handlers=[SoldHandler()]
    )
