"""Plans and graphql-core answer every document of the tests and the examples alike."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from graphql import (
    DocumentNode,
    GraphQLEnumType,
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    OperationDefinitionNode,
    OperationType,
    parse,
    type_from_ast,
)

from penstock.datastore.clock import Clock
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.store import Store
from penstock.graphql_jit.plan import FallbackReason
from penstock.resolvers.context import Context
from penstock.schema import schema
from penstock.schema.engine.documents import core_schema
from penstock.schema.engine.engine import CompiledExecutor, GraphQLEngine
from penstock.schema.engine.interpreter import Interpreter
from penstock.schema.engine.limits import Limits
from penstock.schema.engine.operations import OperationRequest, PreparedOperation, RequestRejected
from tests.datastore.ngsi.sample_destinations import open_embedded
from tests.support.graphql_client import CURSORS, ROOT, Ask
from tests.support.parsed_modules import texts_of_module
from tests.support.stores import open_files

CORE = core_schema(schema)
LIMITS = Limits(cost=10**7, suggestions=0)
ROOT_DIRECTORY = Path(__file__).parents[3]
LEAVES = {"Int": 2, "Float": 1.5, "Boolean": True, "JSON": {"a": [1]}, "Row": {}}
TEXTS = frozenset({"String", "ID", "GroupPath"})
NOW = datetime(2026, 11, 21, tzinfo=UTC)
TIME = "2026-11-21T00:00:00.000Z"


class FoundOperation(NamedTuple):
    """An operation with the text in which it was found."""

    text: str
    node: OperationDefinitionNode

    @property
    def name(self) -> str | None:
        return self.node.name.value if self.node.name else None

    def variables(self, id: str) -> dict[str, Any]:
        """Return values that fit the variables of this schema; `id` names an existing object."""
        return {
            one.variable.name.value: make_value(kind, one.variable.name.value, id)
            for one in self.node.variable_definitions or ()
            if (kind := type_from_ast(CORE, one.type))
        }


def texts() -> Iterator[str]:
    """Return every text in the tests and the examples that could be a document."""
    for file in sorted((ROOT_DIRECTORY / "tests").rglob("*.py")):
        if "node_modules" in file.parts:
            continue
        yield from (text for text in texts_of_module(file) if "{" in text)
    for file in sorted((ROOT_DIRECTORY / "examples").glob("*.graphql")):
        yield file.read_text()


def parse_or_none(text: str) -> DocumentNode | None:
    try:
        return parse(text)
    except GraphQLError:
        return None


def operations() -> list[FoundOperation]:
    """Return every operation with one answer, without repetitions."""
    found = {}
    for text in dict.fromkeys(texts()):
        document = parse_or_none(text)
        for node in document.definitions if document else ():
            if isinstance(node, OperationDefinitionNode):
                asked = FoundOperation(text, node)
                if node.operation is not OperationType.SUBSCRIPTION:
                    found[text, asked.name] = asked
    return list(found.values())


def make_value(kind: Any, name: str, id: str, depth: int = 0) -> Any:
    """Make a value of a type; below the first level, optional values are left out."""
    if isinstance(kind, GraphQLNonNull):
        return make_value(kind.of_type, name, id, depth)
    if isinstance(kind, GraphQLList):
        return [make_value(kind.of_type, name, id, depth)]
    if isinstance(kind, GraphQLEnumType):
        return next(iter(kind.values))
    if isinstance(kind, GraphQLInputObjectType):
        return {
            field: make_value(one.type, field, id, depth + 1)
            for field, one in kind.fields.items()
            if depth < 1 or isinstance(one.type, GraphQLNonNull)
        }
    return leaf(kind.name, name, id)


def leaf(kind: str, name: str, id: str) -> Any:
    if name in {"after", "before", "last"}:
        return None
    known = {"id": id, "pipelineId": id, "group": "/usa", "path": "/usa/new", "name": "one"}
    return known.get(name, "a") if kind in TEXTS else LEAVES.get(kind, TIME)


@asynccontextmanager
async def open_world(directory: Path) -> AsyncIterator[tuple[Store, str]]:
    """Open a store with ids and times that depend on its writes only; yield it and one id."""
    numbers = count(1)
    clock = Clock(now=lambda: NOW, new_id=lambda: f"01a1fd33-4531-77f0-8555-{next(numbers):012x}")
    # Links to files name the second in which they end.
    async with open_embedded(directory) as opened, open_files(directory, NOW.timestamp) as files:
        store = replace(opened, clock=clock, files=files)
        ask = Ask(store)
        await ask.create_groups()
        id = await ask.make("/usa", "one", "material=metal/steel")
        await ask.make("/usa/northwest", "two", "material=metal")
        yield store, id


def prepare_or_none(
    engine: GraphQLEngine, asked: FoundOperation, id: str
) -> PreparedOperation | None:
    """Prepare an operation of this schema; None for those of others, and for costly ones."""
    request = OperationRequest(
        query=asked.text, operation_name=asked.name, variables=asked.variables(id)
    )
    try:
        return engine.prepare(request)
    except RequestRejected:
        return None


async def answer(engine: GraphQLEngine, store: Store, prepared: PreparedOperation) -> str:
    context = Context.open(store, ROOT, CURSORS, RowChanges(store.table))
    return json.dumps((await engine.run(prepared, context, "request")).body, default=str)


@pytest.mark.thorough
async def test_every_document_is_answered_alike(tmp_path: Path) -> None:
    compiled = CompiledExecutor(schema, LIMITS)
    # What they prepare is the same: only the execution differs.
    engine, core = (
        GraphQLEngine(schema, LIMITS, executor=one)
        for one in (compiled, Interpreter(schema, LIMITS))
    )
    different, run, answered = [], 0, 0
    async with open_world(tmp_path) as (one, id), open_world(tmp_path) as (other, same):
        assert id == same
        for asked in operations():
            if prepared := prepare_or_none(engine, asked, id):
                answers = await answer(engine, one, prepared), await answer(core, other, prepared)
                run += 1
                answered += '"data"' in answers[0]
                if answers[0] != answers[1]:
                    different.append((asked.text, *answers))
    assert different == []
    assert run > 290
    assert answered > 200
    assert set(compiled.fallbacks) <= {
        FallbackReason.ODD_VALUE,
        FallbackReason.SIZE,
        FallbackReason.INTROSPECTION,
    }
