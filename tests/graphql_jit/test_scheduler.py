"""Compiled execution awaits the values of a level together, and stops when cancelled."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from graphql import (
    GraphQLField,
    GraphQLList,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLString,
    parse,
)

from penstock.graphql_jit import CompiledOperation, ExecutionOptions, FallbackReason
from tests.graphql_jit.executor_comparison import await_result, operation_of
from tests.support.patience import HUNG_SECONDS


def schema_of(**resolvers: Any) -> GraphQLSchema:
    """Return a schema of items whose fields are nullable, except those whose names end in `_`."""

    def field(name: str, resolve: Any) -> GraphQLField:
        kind: Any = GraphQLNonNull(GraphQLString) if name.endswith("_") else GraphQLString
        return GraphQLField(kind, resolve=resolve)

    item = GraphQLObjectType(
        "Item", {name: field(name, resolve) for name, resolve in resolvers.items()}
    )
    fields = {
        "items": GraphQLField(GraphQLList(item), resolve=lambda *_: ["a", "b"]),
        "later": GraphQLField(item, resolve=give("later")),
    }
    return GraphQLSchema(GraphQLObjectType("Query", fields))


def give(value: Any) -> Callable[..., Any]:
    async def resolve(*_: Any) -> Any:
        await asyncio.sleep(0)
        return value

    return resolve


async def fail(source: Any, *_: Any) -> str:
    raise ValueError(f"failed for {source}")


class Hanging:
    """A resolver that never ends; it counts how often it was started and cancelled."""

    def __init__(self) -> None:
        self.began = 0
        self.cancelled = 0

    async def __call__(self, *_: Any) -> str:
        self.began += 1
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return "never"


async def run(schema: GraphQLSchema, text: str) -> Any:
    document = parse(text)
    left: Counter[FallbackReason] = Counter()
    result = CompiledOperation(
        ExecutionOptions(schema=schema), document, operation_of(document), left
    )({})
    async with asyncio.timeout(HUNG_SECONDS):
        return await await_result(result)


async def test_all_of_a_level_wait_at_once() -> None:
    barrier = asyncio.Barrier(4)

    async def meet(source: Any, *_: Any) -> str:
        await barrier.wait()
        return f"{source}!"

    result = await run(schema_of(one=meet, two=meet), "{ items { one two } }")
    assert result.data == {"items": [{"one": "a!", "two": "a!"}, {"one": "b!", "two": "b!"}]}


async def test_a_slow_field_does_not_hold_up_what_is_below_another() -> None:
    told = asyncio.Event()

    async def tell(*_: Any) -> str:
        told.set()
        return "told"

    async def wait(*_: Any) -> str:
        await told.wait()
        return "waited"

    schema = schema_of(slow=wait, quick=tell)
    result = await run(schema, "{ items { slow } later { quick } }")
    assert result.data == {"items": [{"slow": "waited"}] * 2, "later": {"quick": "told"}}


async def test_nobody_waits_for_what_a_failure_took_away() -> None:
    hanging = Hanging()
    result = await run(schema_of(slow=hanging, bad_=fail), "{ items { slow bad_ } }")
    assert result.data == {"items": [None, None]}
    assert [(error.path, error.message) for error in result.errors] == [
        (["items", 0, "bad_"], "failed for a"),
        (["items", 1, "bad_"], "failed for b"),
    ]
    assert (hanging.began, hanging.cancelled) == (2, 2)


async def test_a_null_that_may_not_be_is_known_before_others_are_there() -> None:
    hanging = Hanging()
    result = await run(schema_of(slow=hanging, none_=give(None)), "{ later { slow none_ } }")
    assert result.data == {"later": None}
    assert [error.message for error in result.errors] == [
        "Cannot return null for non-nullable field Item.none_."
    ]
    assert hanging.cancelled == 1


async def test_what_a_resolver_was_handed_is_not_cancelled() -> None:
    theirs: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    schema = schema_of(slow=lambda *_: theirs, bad_=fail)
    result = await run(schema, "{ items { slow bad_ } }")
    assert result.data == {"items": [None, None]}
    assert not theirs.done()
    theirs.cancel()


async def test_an_execution_that_is_cancelled_cancels_what_it_began() -> None:
    hanging = Hanging()
    document = parse("{ items { one: slow two: slow } later { slow } }")
    result = CompiledOperation(
        ExecutionOptions(schema=schema_of(slow=hanging)),
        document,
        operation_of(document),
        Counter(),
    )({})
    task = asyncio.ensure_future(await_result(result))
    for _ in range(5):
        await asyncio.sleep(0)
    assert hanging.began == 5
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert hanging.cancelled == 5


async def test_a_resolver_that_is_cancelled_by_others_ends_the_execution() -> None:
    async def cancel(*_: Any) -> str:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await run(schema_of(one=cancel, two=give("b")), "{ items { two one } }")


async def test_errors_are_told_in_the_order_of_the_fields() -> None:
    result = await run(schema_of(one=fail, two=fail), "{ items { two one } }")
    assert result.data == {"items": [{"two": None, "one": None}] * 2}
    assert [error.path for error in result.errors] == [
        ["items", 0, "two"],
        ["items", 1, "two"],
        ["items", 0, "one"],
        ["items", 1, "one"],
    ]
