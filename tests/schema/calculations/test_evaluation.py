"""Evaluations as clients see them: rows as input, values as output, and the cost."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from graphql import GraphQLError, parse_value

from penstock.schema.core.scalars import MAX_NUMBER, read_row, read_row_literal
from penstock.schema.engine.operations import OperationRequest
from tests.support.graphql_client import Ask, engine

EVALUATE = """query($input: EvaluateInput!) { evaluate(input: $input) { __typename
  ...on EvaluatePayload { version values { type text }
    errors { row column code message at { line column } } datasets { id name version }
    explanation { parts { depth parent called operator text evaluated at { line column }
      value { type text } soFar { text } } value { text } error { row code } } }
  ...on UserError { code message path } ...on ValidationProblem { problems { path message } } } }"""
LITERAL = """query($d: Row!, $x: Row!) { evaluate(input: {rows: ROWS, draft: {
  formula: ":x", parameters: [{index: 0, key: "x", type: NUMBER}],
  outputs: [{index: 0, type: NUMBER}]}, group: "/usa"}) { ...on EvaluatePayload {
  values { text } errors { code } } } }"""


def draft(formula: str, output: str = "NUMBER", **types: str) -> dict[str, Any]:
    parameters = [
        {"index": n, "key": key, "type": type} for n, (key, type) in enumerate(types.items())
    ]
    return {"formula": formula, "parameters": parameters, "outputs": [{"index": 0, "type": output}]}


async def evaluate(ask: Ask, what: Any, *rows: Any) -> Any:
    return (await ask(EVALUATE, {"input": {"draft": what, "group": "/", "rows": rows}})).value


async def test_each_kind_of_value_is_told_with_its_text(ask: Ask) -> None:
    types = {"t": "STRING", "n": "NUMBER", "b": "BOOLEAN"}
    what = draft(
        "SWITCH(:t, 'n', :n, 'b', :b, 's', SPLIT('a,1', ','), default=null)", "STRING", **types
    )
    row = {"n": "1.50", "b": "TRUE"}
    told = await evaluate(ask, what, *({**row, "t": kind} for kind in "nbsx"))
    assert told["values"] == [
        {"type": "NULL", "text": None},
        {"type": "NULL", "text": None},
        {"type": "LIST", "text": '["a","1"]'},
        {"type": "NULL", "text": None},
    ]
    assert [error["code"] for error in told["errors"]] == ["WRONG_TYPE", "WRONG_TYPE"]
    told = await evaluate(ask, draft(":x", x="NUMBER"), {"x": 1}, {"x": "1e30"}, {"x": True})
    assert told["values"][:2] == [
        {"type": "NUMBER", "text": "1"},
        {"type": "NUMBER", "text": "1" + "0" * 30},
    ]
    told = await evaluate(ask, draft(":x > 1", "BOOLEAN", x="NUMBER"), {"x": 1}, {"x": 2})
    assert told["values"] == [
        {"type": "BOOLEAN", "text": "false"},
        {"type": "BOOLEAN", "text": "true"},
    ]
    told = await evaluate(ask, draft(":x", "STRING", x="STRING"), {"x": ""})
    assert told["values"] == [{"type": "TEXT", "text": ""}]


async def test_a_failure_has_its_place_and_an_input_its_name(ask: Ask) -> None:
    told = await evaluate(ask, draft("1 +\n1 / :x", x="NUMBER"), {"x": 0}, {"x": "?"}, {})
    assert told["errors"] == [
        {
            "row": 0,
            "column": None,
            "code": "DIVISION_BY_ZERO",
            "message": "division by zero",
            "at": {"line": 2, "column": 3},
        },
        {
            "row": 1,
            "column": "x",
            "code": "INVALID_INPUT",
            "message": ":x: expected a number, found '?'",
            "at": None,
        },
        {
            "row": 2,
            "column": None,
            "code": "NULL_OPERAND",
            "message": "expected a number, found null",
            "at": {"line": 2, "column": 5},
        },
    ]
    explained = told["explanation"]
    assert explained["error"] == {"row": 0, "code": "DIVISION_BY_ZERO"}
    assert explained["value"] == {"text": None}
    assert [(p["operator"], p["text"], p["evaluated"]) for p in explained["parts"]] == [
        (None, "1 + 1 / :x", False),
        (None, "1", True),
        ("+", "1 / :x", False),
        (None, "1", True),
        ("/", ":x", True),
    ]


async def test_no_rows_have_no_values_and_nothing_to_explain(ask: Ask) -> None:
    await ask.create_groups("/usa")
    input = {"draft": draft("1"), "group": "/usa", "rows": []}
    answer = await ask(EVALUATE, {"input": input})
    (error,) = answer.errors
    assert (error["extensions"]["code"], error["message"]) == (
        "BAD_USER_INPUT",
        "row: there are 0 rows",
    )
    assert (answer.data["evaluate"]["values"], answer.data["evaluate"]["explanation"]) == ([], None)


@pytest.mark.parametrize(
    "subject", [{}, {"name": "a", "draft": draft("1")}, {"name": "a", "id": "x"}]
)
async def test_one_thing_is_evaluated(subject: dict[str, Any], ask: Ask) -> None:
    told = (await ask(EVALUATE, {"input": {**subject, "group": "/usa", "rows": []}})).value
    assert told["code"] in ("BAD_USER_INPUT", "NOT_FOUND")


async def test_a_draft_has_no_versions(ask: Ask) -> None:
    input = {"draft": draft("1"), "version": 1, "rows": []}
    told = (await ask(EVALUATE, {"input": input})).value
    assert told["problems"] == [{"path": ["version"], "message": "a draft has no versions"}]


async def test_numbers_in_the_document_keep_every_digit(ask: Ask) -> None:
    await ask.create_groups("/usa")
    digits = "1234567890" * 10
    rows = f'[{{x: {digits}.5}}, {{x: 1e200}}, {{x: null}}, {{x: true}}, {{y: 1, x: "2"}}, $d, $x]'
    document = LITERAL.replace("ROWS", rows)
    told = (await ask(document, {"d": {"x": 1.5}, "x": {"x": 0.12345678901234567}})).value
    assert [value["text"] for value in told["values"]] == [
        f"{digits}.5",
        "1" + "0" * 200,
        None,
        None,
        "2",
        "1.5",
        None,
    ]
    assert [error["code"] for error in told["errors"]] == ["INVALID_INPUT", "INVALID_INPUT"]


@pytest.mark.parametrize("row", ["x", 1, None, [], [{}], {"x": []}, {"x": {"y": 1}}])
async def test_a_row_is_a_flat_object(row: object, ask: Ask) -> None:
    assert (await ask(EVALUATE, {"input": {"draft": draft("1"), "rows": [row]}})).errors
    with pytest.raises(GraphQLError):
        read_row(row)


@pytest.mark.parametrize("text", ["1", '"x"', "[]", "{x: []}", "{x: {y: 1}}", "{x: RED}"])
def test_a_literal_row_is_a_flat_object(text: str) -> None:
    with pytest.raises(GraphQLError):
        read_row_literal(parse_value(text))


def test_what_a_row_holds_is_as_it_was_sent() -> None:
    sent = {"a": 1, "b": 1.5, "c": "x", "d": None, "e": True, "f": Decimal("1.10")}
    assert read_row(sent) == sent
    text = '{a: 1.10, b: "x", c: null, d: false, e: $v, f: $w}'
    assert read_row_literal(parse_value(text), {"v": 2.5}) == {
        "a": Decimal("1.10"),
        "b": "x",
        "c": None,
        "d": False,
        "e": 2.5,
    }
    with pytest.raises(GraphQLError):
        read_row_literal(parse_value("{a: $v}"), {"v": [1]})
    with pytest.raises(GraphQLError):
        read_row_literal(parse_value(f"{{a: {'1' * (MAX_NUMBER + 1)}}}"))


def cost(document: str) -> int:
    return engine().prepare(OperationRequest(query=document)).cost


def test_an_evaluation_is_dear_and_an_explanation_of_it_too() -> None:
    plain = '{ evaluate(input: {name: "x", rows: []}) { ...on EvaluatePayload { version } } }'
    assert cost(plain) == 100
    explained = plain.replace("version", "version explanation { value { text } }")
    assert cost(explained) == 120
    assert cost("{ a: " + plain[2:-1] + " b: " + plain[2:]) == 200


async def test_other_requests_are_answered_while_rows_are_evaluated(ask: Ask) -> None:
    await ask.create_groups("/usa")
    formula = "+".join([":x^0.5"] * 7)
    rows = [{"x": n} for n in range(1_000)]
    input = {"draft": draft(formula, x="NUMBER"), "group": "/usa", "rows": rows}
    running = asyncio.ensure_future(ask(EVALUATE, {"input": input}))
    answered = 0
    while not running.done():
        await ask('{ group(path: "/usa") { path } }')
        answered += 1
    told = (await running).value
    assert told["__typename"] == "EvaluatePayload", told
    assert len(told["values"]) == 1_000
    assert answered > 3
