"""A field that fails beside others that wait for a loader, as other branches do."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import strawberry

from penstock.datastore.errors import NotFound
from penstock.graphql_jit import FallbackReason
from penstock.resolvers.batch_loader import BatchLoader
from penstock.resolvers.loaders import loader
from penstock.schema.engine.engine import CompiledExecutor, GraphQLEngine
from penstock.schema.engine.limits import Limits
from penstock.schema.engine.operations import OperationRequest


class Loading:
    """A context with one loader, and the keys of its batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.texts: BatchLoader[str, str] = loader(
            "texts", lambda _name, _size: lambda: None, self._read
        )

    async def _read(self, keys: Sequence[str]) -> list[str | Exception]:
        self.batches.append(sorted(keys))
        for _ in range(6):
            await asyncio.sleep(0)
        return [key.upper() for key in keys]


Info = strawberry.Info[Loading, None]


@strawberry.type
class Branch:
    @strawberry.field
    def fails(self) -> str:
        raise NotFound("There is none.")

    @strawberry.field
    async def fails_later(self) -> str:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        raise NotFound("There is none.")

    @strawberry.field
    async def text(self, info: Info) -> str:
        return await info.context.texts.load("a")

    @strawberry.field
    async def texts(self, info: Info) -> str:
        return "".join(await info.context.texts.load_many(["a", "b"]))


@strawberry.type
class Branches:
    @strawberry.field
    def branch(self) -> Branch | None:
        return Branch()

    @strawberry.field
    def branches(self) -> list[Branch] | None:
        return [Branch(), Branch()]


@strawberry.type
class Query:
    @strawberry.field
    def all(self) -> Branches:
        return Branches()


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def all(self) -> Branches:
        await asyncio.sleep(0)
        return Branches()


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def all(self) -> AsyncIterator[Branches]:
        yield Branches()


SCHEMA = strawberry.Schema(Query, Mutation, Subscription)
KINDS = ("query", "mutation", "subscription")
WHOLE = {"text": "A", "texts": "AB"}
FIELDS = " ".join(WHOLE)


async def answers_of(text: str) -> list[tuple[dict[str, Any], list[list[str]]]]:
    """Run a new operation by graphql-core, then compiled; with each answer the batches it read."""
    limits = Limits()
    executor = CompiledExecutor(SCHEMA, limits, interpreted_runs=1)
    engine = GraphQLEngine(SCHEMA, limits, executor=executor)
    found = []
    for _ in range(2):
        context = Loading()
        prepared = engine.prepare(OperationRequest(text))
        if prepared.is_subscription:
            (event,) = [event async for event in engine.events(prepared, context, "r")]
            answer = await engine.run_event(prepared, event, context, "r")
        else:
            answer = await engine.run(prepared, context, "r")
        found.append((answer.body, context.batches))
    assert executor.fallbacks[FallbackReason.FIRST_RUN] == 1
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("failing", ["fails", "failsLater"])
async def test_a_failing_field_takes_nothing_from_another_branch(kind: str, failing: str) -> None:
    text = f"{kind} {{ all {{ a: branch {{ {failing} {FIELDS} }} b: branch {{ {FIELDS} }} }} }}"
    for body, batches in await answers_of(text):
        assert body["data"] == {"all": {"a": None, "b": WHOLE}}
        (error,) = body["errors"]
        assert (error["path"], error["extensions"]["code"]) == (["all", "a", failing], "NOT_FOUND")
        assert batches == [["a", "b"]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("failing", ["fails", "failsLater"])
async def test_a_failing_field_in_a_list_takes_nothing_from_another_list(
    kind: str, failing: str
) -> None:
    text = (
        f"{kind} {{ all {{ a: branches {{ {FIELDS} {failing} }} "
        f"b: branches {{ {FIELDS} }} c: branch {{ {failing} texts }} }} }}"
    )
    for body, batches in await answers_of(text):
        assert body["data"] == {"all": {"a": None, "b": [WHOLE, WHOLE], "c": None}}
        assert {error["extensions"]["code"] for error in body["errors"]} == {"NOT_FOUND"}
        assert batches == [["a", "b"]]
