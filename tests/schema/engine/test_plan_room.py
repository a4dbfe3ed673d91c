"""The compiled plans of a document have no more fields than its text pays for."""

import threading
from inspect import isawaitable
from typing import Any

import pytest
import strawberry

from penstock.graphql_jit import FallbackReason
from penstock.schema.engine.documents import DocumentCache, ParsedDocument
from penstock.schema.engine.engine import LONG_DOCUMENT, CompiledExecutor, GraphQLEngine
from penstock.schema.engine.limits import Limits
from penstock.schema.engine.operations import OperationRequest

LIMITS = Limits()
LEAST = 150


@strawberry.type
class Item:
    number: int = 1

    @strawberry.field
    def item(self) -> "Item":
        return Item()


@strawberry.type
class Query:
    @strawberry.field
    def item(self) -> Item:
        return Item()


SCHEMA = strawberry.Schema(Query)
CONDITIONS = "($a: Boolean!, $b: Boolean!, $c: Boolean!)"
CONDITIONAL = "i: __typename @include(if: $a) j: __typename @include(if: $b) \
k: __typename @include(if: $c)"
USES = " ".join(f"x{number}: item {{ ...F }}" for number in range(20))
FRAGMENTS = f"fragment G on Query {{ {USES} }} fragment F on Item {{ number item {{ number }} }}"
"""80 fields for each use of G."""

SHAPES = {
    "operations": " ".join(f"query Q{n} {{ ...G }}" for n in range(10)),
    "conditions": f"query Q0{CONDITIONS} {{ {CONDITIONAL} ...G }}",
}


def planned_fields(executor: CompiledExecutor, asked: int) -> int:
    """Count the fields of the runs that had a plan."""
    return (asked - executor.fallbacks[FallbackReason.SIZE]) * 80


async def run(engine: GraphQLEngine, text: str, name: str, **variables: bool) -> Any:
    prepared = engine.prepare(OperationRequest(text, None, name, variables))
    answer = await engine.run(prepared, None, "id")
    assert not isawaitable(answer)
    return answer.body


@pytest.mark.parametrize("shape", SHAPES)
async def test_the_plans_of_a_document_have_no_more_fields_than_its_text_pays_for(
    shape: str,
) -> None:
    executor = CompiledExecutor(SCHEMA, LIMITS)
    engine, text = GraphQLEngine(SCHEMA, LIMITS, executor=executor), SHAPES[shape] + FRAGMENTS
    asked = 0
    for name in [f"Q{n}" for n in range(10)] if shape == "operations" else ["Q0"]:
        for number in range(1 if shape == "operations" else 8):
            flags = {letter: bool(number >> n & 1) for n, letter in enumerate("abc")}
            body = await run(engine, text, name, **flags)
            assert "errors" not in body
            assert body["data"]["x19"] == {"number": 1, "item": {"number": 1}}
            asked += 1

    room = LEAST + len(text) // 2
    assert room - 80 - 3 < planned_fields(executor, asked) <= room


async def test_each_set_of_conditions_of_a_usual_document_has_its_plan() -> None:
    executor = CompiledExecutor(SCHEMA, LIMITS)
    engine = GraphQLEngine(SCHEMA, LIMITS, executor=executor)
    text = f"query Q{CONDITIONS} {{ {CONDITIONAL} item {{ number item {{ number }} }} }}"
    for number in range(8):
        flags = {letter: bool(number >> n & 1) for n, letter in enumerate("abc")}
        assert "errors" not in await run(engine, text, "Q", **flags)

    assert executor.fallbacks == {}


DEEP = "number item { number item { number item { number } } }"


async def test_a_plan_of_many_fields_is_compiled_in_a_thread_that_pauses_after_each_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses = list[tuple[str, float]]()

    def note_pause(seconds: float) -> None:
        pauses.append((threading.current_thread().name.partition("_")[0], seconds))

    monkeypatch.setattr("penstock.schema.engine.plan_payment.sleep", note_pause)
    executor = CompiledExecutor(SCHEMA, LIMITS)
    engine = GraphQLEngine(SCHEMA, LIMITS, executor=executor)
    few = engine.prepare(OperationRequest("{ item { number } }"))
    assert not isawaitable(executor(few, None))
    assert pauses == []
    for text in ("{ a: item { ...F } b: item { ...F } c: item { ...F } }", f"{{ {USES} }}"):
        many = engine.prepare(OperationRequest(f"{text} fragment F on Item {{ {DEEP} }}"))
        assert len(many.document.text) < LONG_DOCUMENT
        begun = executor(many, None)
        assert isawaitable(begun)
        assert (await begun).errors is None
        assert not isawaitable(executor(many, None))
    assert pauses == [("graphql", 0)] * (1 + 3 * 4 + 1 + 20 * 4)


FIELD = 2_500
TEXT = 320
LARGE = f"query Q {{ {USES} }} fragment F on Item {{ number item {{ number }} }}"


async def run_many(engine: GraphQLEngine, count: int) -> list[ParsedDocument]:
    """Run so many documents, each with a plan of 80 fields; returns all of them."""
    documents = []
    for number in range(count):
        prepared = engine.prepare(OperationRequest(LARGE + " " * number))
        assert (await engine.run(prepared, None, "id")).body["data"]["x19"]["number"] == 1
        documents.append(prepared.document)
    return documents


async def test_plans_count_in_the_cache_of_documents_and_leave_with_them() -> None:
    executor = CompiledExecutor(SCHEMA, LIMITS)
    engine = GraphQLEngine(SCHEMA, LIMITS, executor=executor)
    size = 20 * (80 * FIELD + (len(LARGE) + 60) * TEXT + 2_000)
    engine._documents = DocumentCache(SCHEMA, LIMITS, size=size)
    documents = await run_many(engine, 60)

    planned = [document for document in documents if document.compiled]
    assert documents[-len(planned) :] == planned
    assert 20 <= len(planned) <= 22
    assert all(document.text in engine._documents for document in planned)
    assert len(engine._documents) == len(planned)


async def test_who_still_runs_a_document_that_left_the_cache_has_it_interpreted() -> None:
    executor = CompiledExecutor(SCHEMA, LIMITS)
    engine = GraphQLEngine(SCHEMA, LIMITS, executor=executor)
    engine._documents = DocumentCache(SCHEMA, LIMITS, size=1_000_000)
    prepared = engine.prepare(OperationRequest(LARGE))
    assert "errors" not in (await engine.run(prepared, None, "id")).body
    assert executor.fallbacks == {}
    await run_many(engine, 10)
    assert prepared.document.compiled == {}
    for runs in (1, 2):
        answer = await engine.run(prepared, None, "id")
        assert answer.body["data"]["x19"]["number"] == 1
        assert executor.fallbacks == {FallbackReason.SIZE: runs}
    assert prepared.document.planned_bytes == 0


async def test_a_document_has_plans_of_a_bounded_number_of_fields_however_long_it_is() -> None:
    engine = GraphQLEngine(SCHEMA, LIMITS, executor=CompiledExecutor(SCHEMA, LIMITS))
    long = engine.prepare(OperationRequest("{ item { number } }" + " " * 40_000))
    assert long.document.room.fields == 4_000
