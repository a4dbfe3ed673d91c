"""An operation that is cancelled, at whatever step, leaves nothing behind that nobody awaited."""

import asyncio
import gc
from collections.abc import Iterator
from contextlib import suppress

import pytest
import strawberry

from penstock.schema.engine.engine import CompiledExecutor, GraphQLEngine
from penstock.schema.engine.limits import Limits
from penstock.schema.engine.operations import OperationRequest

STEPS = 12

Info = strawberry.Info[list[str], None]


@strawberry.type
class Query:
    @strawberry.field
    async def slow(self, info: Info, name: str) -> str:
        for _ in range(3):
            await asyncio.sleep(0)
        info.context.append(name)
        return name

    @strawberry.field
    async def within(self) -> "Query":
        await asyncio.sleep(0)
        return Query()


@strawberry.type
class Mutation(Query):
    """The same fields, one after another."""


SCHEMA = strawberry.Schema(Query, Mutation)
FIELDS = {
    "one": 'slow(name: "a")',
    "many": 'a: slow(name: "a") b: slow(name: "b") c: within { slow(name: "c") }',
    "nested": 'within { a: slow(name: "a") within { slow(name: "b") } }',
}


@pytest.fixture
def engine() -> Iterator[GraphQLEngine]:
    # What a test makes stays in the youngest generation: collecting the others, which hold what
    # thousands of tests before it left, takes a second.
    gc.disable()
    yield GraphQLEngine(SCHEMA, executor=CompiledExecutor(SCHEMA, Limits()))
    # A coroutine that nobody awaited warns when it is collected, and a warning is an error here.
    gc.collect(0)
    gc.enable()


async def step(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.parametrize("steps", range(STEPS))
@pytest.mark.parametrize("kind", ["query", "mutation"])
@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
async def test_a_cancelled_operation_awaits_all_that_it_began(
    engine: GraphQLEngine, kind: str, fields: str, steps: int
) -> None:
    prepared = engine.prepare(OperationRequest(f"{kind} {{ {fields} }}"))
    finished: list[str] = []
    running = asyncio.ensure_future(engine.run(prepared, finished, "r"))
    await step(steps)
    is_done = running.done()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    assert running.cancelled() is not is_done
    done = list(finished)
    await step(STEPS)
    assert finished == done


@pytest.mark.parametrize("steps", range(3))
async def test_a_timeout_at_any_step_is_still_a_timeout(engine: GraphQLEngine, steps: int) -> None:
    with pytest.raises(TimeoutError):
        await run_until_expired(engine, steps)


async def run_until_expired(engine: GraphQLEngine, steps: int) -> None:
    prepared = engine.prepare(OperationRequest(f"{{ {FIELDS['many']} }}"))
    async with asyncio.timeout(None) as limit:
        asyncio.get_running_loop().call_soon(expire_in, limit, steps)
        await engine.run(prepared, [], "r")


def expire_in(limit: asyncio.Timeout, steps: int) -> None:
    """Let the timeout expire after so many turns of the loop."""
    loop = asyncio.get_running_loop()
    if steps:
        loop.call_soon(expire_in, limit, steps - 1)
    else:
        limit.reschedule(loop.time())
