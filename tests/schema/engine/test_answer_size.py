"""Answers are bounded in values and bytes, whoever completes them, and are worth their units."""

import json
from collections.abc import AsyncIterator
from decimal import Decimal
from inspect import isawaitable
from typing import Any, NewType

import pytest
import strawberry
from orjson import Fragment

from penstock.datastore.errors import ErrorCode
from penstock.graphql_jit import msgspec_lists
from penstock.graphql_jit.answer_meter import INTERPRETED_VALUES, AnswerMeter, answer_meter
from penstock.schema.core.json_scalar import check_json_output
from penstock.schema.core.scalars import encode_json
from penstock.schema.core.text_bounds import text_metadata
from penstock.schema.engine import engine as engine_module
from penstock.schema.engine.answer_size import count_bytes
from penstock.schema.engine.cost import ANSWER_BYTES, ANSWER_VALUES
from penstock.schema.engine.engine import CompiledExecutor, GraphQLEngine
from penstock.schema.engine.interpreter import Interpreter
from penstock.schema.engine.limits import Limits
from penstock.schema.engine.operations import OperationRequest, OperationResult

MOST_VALUES, MOST_BYTES = 1_000, 20_000
LIMITS = Limits(answer_values=MOST_VALUES, answer_bytes=MOST_BYTES)
Free = NewType("Free", object)


@strawberry.type
class Owner:
    name: str = "o"


@strawberry.type
class Item:
    number: int = 1
    text: str = "t"
    title: str | None = strawberry.field(default="é" * 9, metadata=text_metadata(9))
    owner: Owner = strawberry.field(default_factory=Owner)
    parts: "list[Item] | None" = None

    @strawberry.field
    def sizes(self) -> list[int]:
        return [1] * 10


@strawberry.type
class Query:
    @strawberry.field
    def items(self, count: int) -> list[Item] | None:
        return [Item()] * count

    @strawberry.field
    def tree_of_items(self, count: int) -> list[Item | None]:
        return [
            None,
            Item(title=None),
            Item(parts=[]),
            Item(parts=[Item(title="\x01" * 9)] * count),
        ]

    @strawberry.field
    def texts(self, count: int) -> list[Item] | None:
        return [Item(text="x" * 1000)] * count

    @strawberry.field
    async def later(self, count: int) -> list[Item] | None:
        return [Item()] * count

    @strawberry.field
    def numbers(self, count: int) -> list[int] | None:
        return [1] * count

    @strawberry.field
    def grid(self, count: int) -> list[list[int]] | None:
        return [[1] * count] * count

    @strawberry.field
    def free(self, count: int) -> Free | None:
        if count < 0:
            raise ValueError(count)
        return Free({f"k{number}": 1 for number in range(count)})

    @strawberry.field
    def tree(self, count: int) -> Free | None:
        return Free([{"a": [number]} for number in range(count)])

    @strawberry.field
    def long(self, count: int, letter: str = "x") -> str:
        return letter * count


@strawberry.type
class Mutation:
    @strawberry.mutation
    def numbers(self, count: int) -> list[int]:
        return [1] * count


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def numbers(self, count: int) -> AsyncIterator[list[int]]:
        for _ in range(2):
            yield [1] * count


SCHEMA = strawberry.Schema(
    Query,
    Mutation,
    Subscription,
    scalar_overrides={Free: strawberry.scalar(name="Free", serialize=check_json_output)},
)


def alias_often(count: int, field: str) -> str:
    return "{" + " ".join(f"x{number}: {field}" for number in range(count)) + "}"


def compiled_engine() -> GraphQLEngine:
    return GraphQLEngine(SCHEMA, LIMITS)


def written_engine() -> GraphQLEngine:
    return GraphQLEngine(SCHEMA, LIMITS, executor=CompiledExecutor(SCHEMA, LIMITS, written=True))


def interpreted_engine() -> GraphQLEngine:
    return GraphQLEngine(SCHEMA, LIMITS, executor=Interpreter(SCHEMA, LIMITS))


ENGINES = pytest.mark.parametrize("make", [compiled_engine, written_engine, interpreted_engine])


async def run(engine: GraphQLEngine, text: str) -> OperationResult:
    return await engine.run(engine.prepare(OperationRequest(text)), None, "id")


def refusal_of(answer: OperationResult) -> str | None:
    errors = answer.body.get("errors")
    if errors is None:
        return None
    assert answer.body["data"] is None
    assert [error["extensions"]["code"] for error in errors] == [ErrorCode.LIMIT_EXCEEDED]
    return str(errors[0]["message"].split(".")[0])


def data_of(answer: OperationResult) -> Any:
    """The data as a client reads it; a server may have it as JSON already."""
    return json.loads(encode_json(answer.body))["data"]


TOO_MANY = f"The answer holds more than {MOST_VALUES} values"
TOO_LONG = f"The answer holds more than {MOST_BYTES} bytes"

AMPLIFIED = {
    "objects of a list": alias_often(28, "items(count: 100) { number }"),
    "objects that are awaited": alias_often(28, "later(count: 100) { number }"),
    "objects in objects": alias_often(28, "items(count: 50) { owner { name } }"),
    "fields of objects": "{ items(count: 100)" + alias_often(28, "owner { name }") + "}",
    "plain values": alias_often(28, "numbers(count: 100)"),
    "lists of called fields": "{ items(count: 10)" + alias_often(28, "sizes") + "}",
    "lists in lists": "{ grid(count: 40) }",
    "values of a JSON object": alias_often(28, "free(count: 100)"),
    "values deep in JSON": alias_often(28, "tree(count: 30)"),
}


@ENGINES
@pytest.mark.parametrize("text", AMPLIFIED.values(), ids=AMPLIFIED.keys())
async def test_an_answer_with_more_values_than_the_most_is_refused(
    make: Any, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = await run(make(), text)
    assert refusal_of(answer) == TOO_MANY
    assert 0 <= answer.units - MOST_VALUES // ANSWER_VALUES <= MOST_BYTES // ANSWER_BYTES
    assert caplog.records == []


@ENGINES
async def test_no_list_is_completed_beyond_the_most(make: Any) -> None:
    """The count may pass the most by one list only, which is not completed."""
    answer = await run(make(), alias_often(28, "numbers(count: 1100)"))
    assert refusal_of(answer) == TOO_MANY
    assert answer.size == 0


@ENGINES
async def test_an_answer_of_the_largest_size_is_given(make: Any) -> None:
    most = MOST_VALUES if make is not interpreted_engine else MOST_VALUES // INTERPRETED_VALUES - 1
    answer = await run(make(), f"{{ numbers(count: {most}) }}")
    assert data_of(answer) == {"numbers": [1] * most}
    assert refusal_of(await run(make(), f"{{ numbers(count: {most + 2}) }}")) == TOO_MANY


@ENGINES
@pytest.mark.parametrize("letter", ["x", "\\u0001", "\\u20ac", '\\"'])
async def test_an_answer_with_long_texts_is_refused(make: Any, letter: str) -> None:
    text = alias_often(28, f'long(count: 1000, letter: "{letter}")')
    answer = await run(make(), text)
    assert refusal_of(answer) == TOO_LONG
    assert MOST_BYTES // ANSWER_BYTES <= answer.units <= 2 * MOST_BYTES // ANSWER_BYTES


async def test_lists_that_are_written_as_a_whole_count_with_their_bytes() -> None:
    engine = written_engine()
    answer = await run(engine, "{ items(count: 100) { number text } }")
    length = len(encode_json(answer.body))
    assert length * 0.9 <= answer.size <= length * 1.1
    assert answer.units == 300 // ANSWER_VALUES + answer.size // ANSWER_BYTES


PROMISED = """{ __typename
  treeOfItems(count: 4) {
    __typename number title parts { title parts { number } sizes } sizes } }"""


async def test_what_promises_its_length_is_written_without_a_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = await run(interpreted_engine(), PROMISED)
    monkeypatch.setattr(engine_module, "count_bytes", None)
    answer = await run(written_engine(), PROMISED)
    assert data_of(answer) == plain.body["data"]
    assert answer.size == len(encode_json(plain.body["data"]))


async def test_what_promises_nothing_is_counted_and_refused() -> None:
    answer = await run(written_engine(), "{ treeOfItems(count: 3) { parts { text title } } }")
    assert isinstance(answer.body["data"], dict)
    assert refusal_of(await run(written_engine(), "{ texts(count: 7) { number text } }")) is None
    refused = await run(written_engine(), "{ texts(count: 21) { text sizes } }")
    assert refusal_of(refused) == TOO_LONG


async def test_promises_that_add_up_to_more_than_the_most_are_counted() -> None:
    parts = "parts { a: title b: title c: title d: title e: title }"
    few, many = [
        await run(written_engine(), f"{{ treeOfItems(count: {count}) {{ {parts} }} }}")
        for count in (20, 80)
    ]
    assert isinstance(few.body["data"], Fragment)
    assert isinstance(many.body["data"], dict)
    assert len(data_of(many)["treeOfItems"][3]["parts"]) == 80


async def test_data_beside_an_error_is_held_as_json_too() -> None:
    answer = await run(written_engine(), "{ items(count: 9) { number } fails: free(count: -1) }")
    assert [error["path"] for error in answer.body["errors"]] == [["fails"]]
    assert isinstance(answer.body["data"], Fragment)
    assert data_of(answer) == {"items": [{"number": 1}] * 9, "fails": None}


@pytest.mark.parametrize("text", [PROMISED, "{ items(count: 9) { title owner { __typename } } }"])
async def test_no_answer_is_longer_than_its_bound(text: str) -> None:
    meter = AnswerMeter()
    answer_meter.set(meter)
    engine = written_engine()
    prepared = engine.prepare(OperationRequest(text))
    result: Any = CompiledExecutor(SCHEMA, LIMITS)(prepared, None)
    length = len(encode_json((await result if isawaitable(result) else result).data))
    assert length <= meter.bound <= 12 * length


async def test_no_list_is_written_after_too_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: list[int] = []
    encode = msgspec_lists._ENCODER.encode

    class Counting:
        def encode(self, value: object) -> bytes:
            found = encode(value)
            lengths.append(len(found))
            return found

    monkeypatch.setattr(msgspec_lists, "_ENCODER", Counting())
    answer = await run(written_engine(), alias_often(9, "texts(count: 10) { text number }"))
    assert refusal_of(answer) == TOO_LONG
    assert sum(lengths[:-1]) <= MOST_BYTES < sum(lengths)


@ENGINES
async def test_a_mutation_says_that_it_may_have_changed_something(make: Any) -> None:
    answer = await run(make(), "mutation { numbers(count: 1001) }")
    assert refusal_of(answer) == TOO_MANY
    assert answer.body["errors"][0]["message"].endswith("What the operation changes is changed.")


@ENGINES
async def test_each_event_is_bounded_by_itself(make: Any) -> None:
    engine = make()
    most = MOST_VALUES // 10
    for count, refusal in ((most, None), (MOST_VALUES + 1, TOO_MANY)):
        text = f"subscription {{ numbers(count: {count}) }}"
        prepared = engine.prepare(OperationRequest(text))
        found = [
            await engine.run_event(prepared, event, None, "id")
            async for event in engine.events(prepared, None, "id")
        ]
        assert [refusal_of(answer) for answer in found] == [refusal, refusal]
        assert found[0].units == found[1].units > 0


DATA = {
    "short texts": ["abc"] * 100,
    "long texts": ["é" * 500, '"' * 500, "\u0001" * 500],
    "objects": [{"number": 1, "name": "n" * 10, "none": None, "yes": True}] * 50,
    "numbers": [Decimal("9" * 900)] * 10,
    "deep": [[[[["x" * 10] * 10]]]],
}


@pytest.mark.parametrize("data", DATA.values(), ids=DATA.keys())
def test_the_size_of_data_is_about_that_of_its_json(data: object) -> None:
    length = len(encode_json(data))
    assert 0.7 * length <= count_bytes(data, 10**9) <= 1.7 * length


def test_no_more_is_counted_than_needed_to_refuse() -> None:
    assert count_bytes(["x" * 1000] * 1_000_000, 5_000) <= 6_000_000 + 10_000
    assert count_bytes([{"a": "x" * 1000}] * 1000, 5_000) <= 3 * 5_000 + 6_000
    assert count_bytes(None, 0) > 0
    assert count_bytes("\ud800" * 100, 10**6) == 106
