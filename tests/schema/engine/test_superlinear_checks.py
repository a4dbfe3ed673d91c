"""Work that takes more than linear time is bounded before it begins."""

from typing import Any

import pytest
from graphql import ExecutionResult, GraphQLError, get_introspection_query, parse

from penstock.schema import schema
from penstock.schema.engine.document_walk import list_lengths
from penstock.schema.engine.documents import DocumentCache, core_schema
from penstock.schema.engine.engine import CompiledExecutor, GraphQLEngine
from penstock.schema.engine.field_merging import TooManyToMerge, count_pairs
from penstock.schema.engine.limits import Limits, measure_operations
from penstock.schema.engine.operations import OperationRequest, RequestRejected

CORE = core_schema(schema)
LIMITS = Limits()
WHOLE = get_introspection_query(input_value_deprecation=True)
TYPES = "types { name fields { name args { name type { name } } type { name } } }"
FIND = "query($t: TagFilter, $n: Int) { a: pipelines(tags: $t, first: $n) { nodes { id } } %s }"


def refusal(document: str) -> str | None:
    try:
        measure_operations(CORE, parse(document), LIMITS)
    except GraphQLError as error:
        return error.message
    return None


def prepare_error(document: str, **variables: Any) -> str | None:
    """Prepare an operation; return the message of its rejection, or None."""
    try:
        GraphQLEngine(schema).prepare(OperationRequest(query=document, variables=variables))
    except RequestRejected as refused:
        message: str = refused.errors[0]["message"]
        return message
    return None


def terms(count: int) -> dict[str, Any]:
    return {"any": [{"key": "a", "value": "b"}] * count}


@pytest.mark.parametrize(
    ("document", "counted"),
    [
        ("{ viewer { userId } }", 0),
        ("{ viewer { userId userId userId } }", 3),
        ("{ viewer { userId } viewer { userId } }", 2),
        ("{ a: viewer { userId } b: viewer { userId } }", 0),
        ("{ viewer { userId ... { userId } } }", 1),
        ("{ ...F ...F } fragment F on Query { __typename }", 0),
        ("{ ...F __typename } fragment F on Query { __typename }", 1),
        ("{ ...F ...G } fragment F on Query { a: __typename } fragment G on Query { ...F }", 0),
        ("{ ...F } fragment F on Query { ...F __typename __typename }", 7),
        ("{ a: __typename ...F } fragment F on Query { a: __typename a: __typename }", 4),
        ("query A { __typename } query B { __typename }", 0),
        ("{ ...Missing }", 0),
    ],
)
def test_pairs_are_counted_where_their_fields_answer_under_one_name(
    document: str, counted: int
) -> None:
    assert count_pairs(parse(document)) == counted


def test_pairs_are_bounded() -> None:
    assert refusal("{ viewer {" + "userId " * 63 + "} }") is None
    again = "The document asks for the same fields too often."
    assert refusal("{ viewer {" + "userId " * 64 + "} }") == again
    assert refusal("{" + "viewer { userId } " * 60 + "}") == again


def test_fragments_are_bounded() -> None:
    def document(count: int) -> str:
        spread = " ".join(f"...F{n}" for n in range(count))
        made = " ".join(f"fragment F{n} on Query {{ __typename }}" for n in range(count))
        return f"{{ {spread} }} {made}"

    assert refusal(document(60)) is None
    assert refusal(document(61)) == "There are 61 fragments; the most is 60."


def test_fragments_that_all_spread_each_other_come_to_an_end() -> None:
    names = [f"F{n}" for n in range(200)]
    spread = " ".join(f"...{name}" for name in names)
    made = " ".join(f"fragment {name} on Query {{ {spread} }}" for name in names)
    with pytest.raises(TooManyToMerge):
        count_pairs(parse(f"{{ {spread} }} {made}"))


def test_a_schema_is_described_about_as_large_as_it_is() -> None:
    (operation,) = measure_operations(CORE, parse(WHOLE), LIMITS)
    values = operation.measure.introspection_values
    assert 3_000 < values < LIMITS.introspection_values / 2
    assert list_lengths(CORE)["__Schema", "types"] == len(CORE.type_map)


def test_a_schema_is_not_described_over_and_over() -> None:
    def times(count: int) -> str:
        return "{" + " ".join(f"a{n}: __schema {{ {TYPES} }}" for n in range(count)) + "}"

    assert refusal(times(3)) is None
    message = refusal(times(30))
    assert message is not None
    assert message.startswith("The introspection gives some ")


def test_much_of_a_schema_is_described_by_itself() -> None:
    assert refusal("{ viewer { userId } __schema { queryType { name } } }") is None
    assert refusal('{ viewer { userId } __type(name: "Query") { name fields { name } } }') is None
    message = "So much of the schema is asked for by itself, not beside other fields."
    twice = f"a: __schema {{ {TYPES} }} b: __schema {{ {TYPES} }}"
    assert refusal(f"{{ viewer {{ userId }} {twice} }}") == message
    assert refusal(f"{{ {twice} }}") is None


async def test_a_schema_described_in_a_thread_is_the_same() -> None:
    patient, hasty = (
        GraphQLEngine(schema, Limits(introspection_beside=10**6)),
        GraphQLEngine(schema),
    )
    asked = OperationRequest(query=WHOLE)
    answers = [await one.run(one.prepare(asked), None, "a test") for one in (patient, hasty)]
    assert answers[0].body == answers[1].body
    assert len(answers[0].body["data"]["__schema"]["types"]) > 50


async def test_a_thread_describes_the_schema_to_the_end_in_every_run() -> None:
    executor = CompiledExecutor(schema, LIMITS, interpreted_runs=1)
    prepared = GraphQLEngine(schema).prepare(OperationRequest(query=WHOLE))
    outcomes = [executor(prepared, None) for _ in range(3)]
    assert [isinstance(outcome, ExecutionResult) for outcome in outcomes] == [True] * 3


@pytest.mark.parametrize(
    ("more", "count", "message"),
    [
        ("", 1_332, None),
        ("", 1_333, "The variables hold more than 4000 values."),
        ("b: pipelines(tags: $t) { nodes { id } }", 665, None),
        (
            "b: pipelines(tags: $t) { nodes { id } }",
            667,
            "The variables hold more than 4000 values.",
        ),
        ("...F } fragment F on Query { b: pipelines(tags: $t) { nodes { id } }", 665, None),
        (
            "...F } fragment F on Query { b: pipelines(tags: $t) { nodes { id } }",
            667,
            "The variables hold more than 4000 values.",
        ),
    ],
)
def test_what_variables_hold_is_counted_for_each_mention(
    more: str, count: int, message: str | None
) -> None:
    # A term is an input with two fields; the filter, its list and the number are values as well.
    assert prepare_error(FIND % more, t=terms(count), n=20) == message


def test_what_is_inside_json_counts_apart_and_what_is_not_declared_not_at_all() -> None:
    document = """mutation($a: JSON) { createPipeline(input: {name: "a", attributes: $a,
      transformer: {parameters: [], transforms: []}}) { __typename } }"""
    message = "The JSON of the variables holds more than 10000 values."
    assert prepare_error(document, a=[[1]] * 5_001) == message
    assert prepare_error(document, a={"a": {str(n): n for n in range(10_000)}}) == message
    several = document.replace("$a: JSON", "$a: JSON, $b: JSON").replace("s: $a", "s: [$a, $b]")
    assert prepare_error(several, a=[1] * 5_000, b=[1] * 5_000) is None
    assert prepare_error(several, a=[1] * 5_000, b=[1] * 5_001) == message
    assert prepare_error(document, a=[[1]] * 4_999) is None
    assert prepare_error("{ viewer { userId } }", a=[1] * 50_000) is None


def test_one_value_for_a_list_and_fields_of_no_input_are_counted_too() -> None:
    ids = "query($i: [ID!]!) { nodes(ids: $i) { id } }"
    assert prepare_error(ids, i="a") is None
    assert prepare_error(ids, i=["a"] * 3_999) is None
    assert prepare_error(ids, i=["a"] * 4_000) == "The variables hold more than 4000 values."
    odd = {f"x{n}": n for n in range(4_000)}
    assert prepare_error(FIND % "", t=odd) == "The variables hold more than 4000 values."


@pytest.mark.parametrize(
    "document",
    ["{ viewer {" + "userId " * 63 + "} }", "{" + "viewer { userId } " * 44 + "}", WHOLE],
)
def test_what_is_let_through_is_valid(document: str) -> None:
    assert DocumentCache(schema, LIMITS).get(document).errors == ()
