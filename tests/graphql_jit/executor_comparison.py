"""Runs an operation by graphql-core and compiled, and compares the answers."""

import asyncio
import gc
import json
import warnings
from collections import Counter
from collections.abc import Awaitable, Mapping
from inspect import isawaitable
from typing import Any, Final, NamedTuple

import orjson
from graphql import DocumentNode, ExecutionResult, GraphQLSchema, OperationDefinitionNode, execute

from penstock.graphql_jit import CompiledOperation, ExecutionOptions, FallbackReason
from penstock.graphql_jit.msgspec_lists import list_encoder_of

_TURNS: Final = 30
"""Turns of the event loop in which work in the background ends."""


class Answer(NamedTuple):
    """A result as a client sees it; `data` is a text, so that the order of keys counts."""

    data: str
    errors: list[tuple[Any, ...]]


def answer_of(result: ExecutionResult, *, written: bool = False) -> Answer:
    """Return a result as a client sees it; `written` data has fragments that only orjson writes."""
    data = orjson.loads(orjson.dumps(result.data)) if written else result.data
    return Answer(
        json.dumps(data),
        [
            (tuple(error.path or ()), error.message, tuple(map(tuple, error.locations or ())))
            for error in result.errors or ()
        ],
    )


def operation_of(document: DocumentNode, name: str | None = None) -> OperationDefinitionNode:
    operations = [
        node for node in document.definitions if isinstance(node, OperationDefinitionNode)
    ]
    if name is None:
        return operations[0]
    return next(node for node in operations if node.name and node.name.value == name)


async def await_result(result: ExecutionResult | Awaitable[ExecutionResult]) -> ExecutionResult:
    return await result if isawaitable(result) else result


async def run_reference(
    schema: GraphQLSchema,
    document: DocumentNode,
    variables: Mapping[str, Any] | None = None,
    context: object = None,
    root: object = None,
) -> Answer:
    """Run the only operation of a document by graphql-core.

    After failures, graphql-core leaves coroutines unawaited; its warnings about them are ignored.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = execute(schema, document, root, context, dict(variables or {}))
        found = answer_of(await await_result(result))
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        gc.collect(1)
    return found


class CompiledDocument:
    """The only operation of a document, compiled once for any number of runs.

    If graphql-core runs it instead, the test fails.
    """

    def __init__(
        self, schema: GraphQLSchema, document: DocumentNode, *, written: bool = False
    ) -> None:
        self._left: Counter[FallbackReason] = Counter()
        self._written = written
        options = ExecutionOptions(schema=schema, lists=list_encoder_of if written else None)
        self._run = CompiledOperation(options, document, operation_of(document), self._left)

    async def answer(
        self, variables: Mapping[str, Any] | None, context: object, root: object = None
    ) -> Answer:
        result = await await_result(self._run(dict(variables or {}), context, root))
        assert not self._left.keys() - {FallbackReason.ODD_VALUE}
        return answer_of(result, written=self._written)


async def run_compiled(
    schema: GraphQLSchema,
    document: DocumentNode,
    variables: Mapping[str, Any] | None = None,
    context: object = None,
    root: object = None,
    *,
    written: bool = False,
) -> Answer:
    """Compile the only operation of a document and run it once."""
    return await CompiledDocument(schema, document, written=written).answer(
        variables, context, root
    )


def assert_alike(one: Answer, other: Answer, *, in_order: bool) -> None:
    """Compare answers; the order of errors counts only `in_order`.

    Where several failures make the same object null, either may be reported: then only the places
    that became null are compared.
    """
    assert one.data == other.data
    if in_order:
        assert one.errors == other.errors
    elif sorted(one.errors, key=repr) != sorted(other.errors, key=repr):
        data = json.loads(one.data)
        assert null_positions(data, one.errors) == null_positions(data, other.errors)


def null_positions(data: Any, errors: list[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
    """Return the positions that are null because of errors."""
    return {null_position(data, path) for path, _, _ in errors}


def null_position(data: Any, path: tuple[Any, ...]) -> tuple[Any, ...]:
    held = data
    for depth, key in enumerate(path):
        if held is None:
            return path[:depth]
        held = held[key]
    assert held is None
    return path
