"""Fields that fail below an object that becomes null: no failure is left unread.

asyncio logs the traceback of a task or future whose error nobody has read.
"""

import asyncio
import gc
from itertools import product
from typing import Any

import pytest
import strawberry

from penstock.datastore.errors import NotPermitted
from penstock.schema.engine.engine import CompiledExecutor, GraphQLEngine
from penstock.schema.engine.limits import Limits
from penstock.schema.engine.operations import OperationRequest


async def _fail_after(turns: int) -> str:
    for _ in range(turns):
        await asyncio.sleep(0)
    raise NotPermitted("It is not yours.")


@strawberry.type
class Part:
    @strawberry.field
    async def fail(self, turns: int) -> str:
        return await _fail_after(turns)

    @strawberry.field
    async def spare(self, turns: int) -> str | None:
        return await _fail_after(turns)

    @strawberry.field
    def start(self, turns: int) -> str | None:
        future: Any = asyncio.ensure_future(_fail_after(turns))
        return future  # type: ignore[no-any-return]

    @strawberry.field
    async def inner(self, turns: int) -> "Part | None":
        for _ in range(turns):
            await asyncio.sleep(0)
        return Part()


@strawberry.type
class Query:
    @strawberry.field
    def part(self) -> Part | None:
        return Part()

    @strawberry.field
    def parts(self) -> list[Part] | None:
        return [Part(), Part()]


SCHEMA = strawberry.Schema(Query)


pytestmark = pytest.mark.usefixtures("only_new_garbage")


async def unread_after(text: str, interpreted_runs: int) -> list[str]:
    """Run an operation compiled, before that by graphql-core; return what asyncio complains of."""
    limits = Limits()
    executor = CompiledExecutor(SCHEMA, limits, interpreted_runs=interpreted_runs)
    engine = GraphQLEngine(SCHEMA, limits, executor=executor)
    unread: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: unread.append(str(context["message"])))
    for _ in range(interpreted_runs + 1):
        answer = await engine.run(engine.prepare(OperationRequest(text)), None, "r")
        assert {error["extensions"]["code"] for error in answer.body["errors"]} == {"FORBIDDEN"}
        del answer
        for _ in range(20):
            await asyncio.sleep(0)
        gc.collect()
    return unread


@pytest.mark.parametrize("sibling", ["spare", "start", "fail"])
@pytest.mark.parametrize("parent", ["part", "parts"])
async def test_failures_beside_one_that_makes_their_object_null_are_read(
    parent: str, sibling: str
) -> None:
    for delay, turns in product(range(4), range(4)):
        fields = f"fail(turns: {delay}) a: {sibling}(turns: {turns}) b: {sibling}(turns: 2)"
        assert await unread_after(f"{{ {parent} {{ {fields} }} }}", 1) == [], fields


@pytest.mark.parametrize("sibling", ["spare", "start", "fail"])
async def test_failures_below_an_object_that_becomes_null_meanwhile_are_read(sibling: str) -> None:
    for delay, turns in product(range(5), range(3)):
        fields = (
            f"fail(turns: {delay}) x: inner(turns: 1) {{ a: {sibling}(turns: {turns}) "
            f"b: {sibling}(turns: 1) inner(turns: 0) {{ {sibling}(turns: {turns}) }} }}"
        )
        text = f"{{ part {{ {fields} }} parts {{ {fields} }} }}"
        assert await unread_after(text, 0) == [], fields
