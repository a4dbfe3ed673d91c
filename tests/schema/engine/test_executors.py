"""Compiled execution and graphql-core give the same answers to clients of this schema."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLList,
    GraphQLNonNull,
    get_named_type,
    is_composite_type,
    is_interface_type,
    is_required_argument,
    is_required_input_field,
    is_union_type,
    parse,
)

from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.store import Store
from penstock.graphql_jit.plan import FallbackReason
from penstock.resolvers.context import Context
from penstock.schema import schema
from penstock.schema.engine.documents import core_schema
from penstock.schema.engine.engine import CompiledExecutor, GraphQLEngine
from penstock.schema.engine.interpreter import Interpreter
from penstock.schema.engine.limits import Limits
from penstock.schema.engine.operations import OperationRequest
from tests.support.graphql_client import CURSORS, ROOT, Ask, tag_inputs

CORE = core_schema(schema)
EXAMPLES = Path(__file__).parents[3] / "examples" / "operations.graphql"
LIMITS = Limits(
    cost=10**7, aliases=10**4, fields=10**4, tokens=10**5, source_length=10**6, merged_pairs=10**6
)
GIVEN = {
    "tags": '{any: [{key: "material", value: "metal"}]}',
    "kind": "PIPELINE",
    "key": '"material"',
    "group": '"/usa"',
    "path": '"/usa"',
    "name": '"lathe"',
    "includeChildGroups": "true",
    "version": "1",
    "ids": "$ids",
    "id": "$id",
}
DEEPEST = 3


def selections(kind: Any, depth: int) -> str:
    """Select every field of a type and of the types below it."""
    named = get_named_type(kind)
    if is_union_type(named):
        return "{ __typename " + " ".join(select_on_type(one, depth) for one in named.types) + " }"
    fields = " ".join(select_field(name, field, depth) for name, field in named.fields.items())
    possible = ""
    if is_interface_type(named):
        possible = " ".join(select_on_type(one, depth) for one in CORE.get_possible_types(named))
    return f"{{ __typename {fields} {possible} }}"


def select_on_type(kind: Any, depth: int) -> str:
    fields = " ".join(
        select_field(name, field, depth, f"{kind.name}_{name}: ")
        for name, field in kind.fields.items()
    )
    return f"... on {kind.name} {{ {fields} }}"


def select_field(name: str, field: GraphQLField, depth: int, alias: str = "") -> str:
    if not is_composite_type(get_named_type(field.type)):
        return f"{alias}{name}{arguments(field)}"
    if depth >= DEEPEST:
        return ""
    below = selections(field.type, depth + 1)
    return f"{alias}{name}{arguments(field)} {below}"


def arguments(field: GraphQLField) -> str:
    found = [
        f"{name}: {literal(name, given.type)}"
        for name, given in field.args.items()
        if is_required_argument(given) or name == "tags"
    ]
    return f"({', '.join(found)})" if found else ""


def literal(name: str, kind: Any) -> str:
    """Return a literal that names an existing object, if the type can name one."""
    names_a_node = get_named_type(kind).name == "ID"
    return GIVEN[name] if name in GIVEN and names_a_node is (name in "ids") else make_literal(kind)


def make_literal(kind: Any) -> str:
    """Return a literal of a type that names no existing object."""
    if isinstance(kind, GraphQLNonNull):
        return make_literal(kind.of_type)
    if isinstance(kind, GraphQLList):
        return f"[{make_literal(kind.of_type)}]"
    if isinstance(kind, GraphQLEnumType):
        return str(next(iter(kind.values)))
    if isinstance(kind, GraphQLInputObjectType):
        needed = {name: one for name, one in kind.fields.items() if is_required_input_field(one)}
        return (
            "{"
            + ", ".join(f"{name}: {make_literal(one.type)}" for name, one in needed.items())
            + "}"
        )
    return {"Int": "1", "Boolean": "true", "Row": "{}"}.get(kind.name, '"2027-01-01T00:00:00Z"')


def documents() -> Iterator[tuple[str, str]]:
    """Return a document for each query field with all its arguments, and the samples' documents."""
    query: Any = CORE.query_type
    for name, field in query.fields.items():
        text = select_field(name, field, 0)
        declared = {"id": "$id: ID!", "ids": "$ids: [ID!]!"}
        uses = [each for each in declared if re.search(rf"\${each}\b", text)]
        header = f"({', '.join(declared[each] for each in uses)})" if uses else ""
        yield name, f"query {header} {{ {text} }}"
    for definition in parse(EXAMPLES.read_text()).definitions:
        operation: Any = definition
        if operation.kind == "operation_definition" and operation.operation.value == "query":
            yield operation.name.value, EXAMPLES.read_text()


DOCUMENTS = dict(documents())


@pytest.fixture
async def ids(ask: Ask) -> list[str]:
    """Make resources, the first with two versions, and ids of objects that do not exist."""
    await ask.create_groups()
    first = await ask.make("/usa", "lathe", "material=metal/steel")
    await ask.change(first, 1, description="changed", attributes={"a": [1, {"b": None}]})
    second = await ask.make("/usa/northwest", "press", "material=metal", "even=yes")
    return [first, second, "unknown"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", DOCUMENTS)
async def test_both_executors_answer_alike(name: str, store: Store, ids: list[str]) -> None:
    variables: dict[str, Any] = {}
    text = DOCUMENTS[name]
    for wants, value in (("$ids", ids), ("$id", ids[0]), ("$tags", tag_inputs("material=metal"))):
        if f"{wants}:" in text:
            variables[wants[1:]] = value
    named = name if text == EXAMPLES.read_text() else None
    request = OperationRequest(query=text, variables=variables, operation_name=named)
    answers = []
    for executor in (Interpreter(schema, LIMITS), CompiledExecutor(schema, LIMITS)):
        engine = GraphQLEngine(schema, LIMITS, executor=executor)
        context = Context.open(store, ROOT, CURSORS, RowChanges(store.table))
        answer = await engine.run(engine.prepare(request), context, "request")
        answers.append(json.dumps(answer.body, default=str))
        if isinstance(executor, CompiledExecutor):
            assert set(executor.fallbacks) <= {FallbackReason.ODD_VALUE, FallbackReason.SIZE}
    assert answers[0] == answers[1]
    codes = [error["extensions"]["code"] for error in json.loads(answers[0]).get("errors", ())]
    assert set(codes) <= {"NOT_FOUND", "BAD_USER_INPUT"}


async def test_a_long_page_is_written_as_both_answer_it(store: Store, ask: Ask) -> None:
    await ask.create_groups()
    await ask.make("/usa", "one", *(f"key{number}=value" for number in range(9)))
    page = "nodes { key label count } edges { cursor node { key } } pageInfo { hasNextPage }"
    request = OperationRequest(
        query=f'{{ tagKeys(kind: PIPELINE, group: "/usa", first: 20) {{ {page} }} }}'
    )
    bodies = []
    for executor in (
        Interpreter(schema, LIMITS),
        CompiledExecutor(schema, LIMITS),
        CompiledExecutor(schema, LIMITS, written=True),
    ):
        engine = GraphQLEngine(schema, LIMITS, executor=executor)
        context = Context.open(store, ROOT, CURSORS, RowChanges(store.table))
        bodies.append((await engine.run(engine.prepare(request), context, "request")).body)
    expected, plain, written = bodies
    assert plain == expected
    assert len(expected["data"]["tagKeys"]["nodes"]) == 9
    assert type(written["data"]["tagKeys"]["nodes"]) is orjson.Fragment
    assert json.dumps(orjson.loads(orjson.dumps(written))) == json.dumps(expected)
