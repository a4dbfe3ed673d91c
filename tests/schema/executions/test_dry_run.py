"""Dry runs as clients see them: what an execution of the same rows would give, and nothing kept."""

from typing import Any

import pytest

from penstock.datastore.store import Store
from tests.schema.executions.test_executions import (
    CREATE,
    READER,
    TRIPS,
    create_execution,
    create_pipeline,
)
from tests.support.consistency_check import contents
from tests.support.graphql_client import Ask, as_caller

DRY_RUN = """query($input: EvaluatePipelineInput!) { evaluatePipeline(input: $input) {
  __typename ...on UserError { code path message }
  ...on ValidationProblem { problems { path code line column excerpt } }
  ...on IllegalState { state }
  ...on EvaluatePipelinePayload { version
    results { rows problems { row column code message } } } } }"""
ROWS: list[Any] = [
    {"distance": 12.5, "Fuel type": "gas"},
    {"distance": "far", "fuel": "gas"},
    {"distance": 3},
]
STRANGER = as_caller("eve", "/eu=admin")


async def test_a_saved_pipeline_and_its_draft_give_what_an_execution_gives(ask: Ask) -> None:
    pipeline = await create_pipeline(ask)
    made = await create_execution(ask, pipelineId=pipeline, mode="INLINE", rows=ROWS)
    saved = await ask.input(DRY_RUN, id=pipeline, rows=ROWS)
    drafted = await ask.input(DRY_RUN, draft=TRIPS, group="/usa", rows=ROWS)
    assert saved["results"] == drafted["results"] == made["results"]
    assert (saved["version"], drafted["version"]) == (1, None)
    assert saved["results"]["rows"] == [{"return": 25, "far": True}, {"return": 6, "far": False}]
    assert saved["results"]["problems"] == [
        {
            "row": 2,
            "column": "distance",
            "code": "INVALID_INPUT",
            "message": ":distance: expected a number, found 'far'",
        }
    ]


async def test_fields_that_pythons_reader_of_csv_does_not_take_are_rejected_beside_results(
    ask: Ask,
) -> None:
    long = "z" * 131_073
    texts = [{"index": 0, "key": "t", "type": "STRING"}, {"index": 1, "key": "n", "type": "NUMBER"}]
    outputs = [{"index": 0, "key": "t", "type": "STRING"}]
    draft = {"parameters": texts, "transforms": [{"index": 0, "formula": ":t", "outputs": outputs}]}
    await ask.create_groups()
    pipeline = await ask.make("/usa", "Texts", transformer=draft)
    rows = [{"t": "short"}, {"t": long}, {"t": long + '"', "n": "far"}]
    made = await create_execution(ask, pipelineId=pipeline, mode="INLINE", rows=rows)
    saved = await ask.input(DRY_RUN, id=pipeline, rows=rows)
    for found in (made["results"], saved["results"]):
        assert found["rows"] == [{"t": "short"}]
        assert [(one["row"], one["column"]) for one in found["problems"]] == [
            (2, "t"),
            (3, "t"),
            (3, "n"),
        ]


async def test_a_dry_run_stores_nothing(ask: Ask, store: Store) -> None:
    pipeline = await create_pipeline(ask)
    before = await contents(store.table)
    for subject in ({"id": pipeline}, {"draft": TRIPS, "group": "/usa"}):
        told = await ask.input(DRY_RUN, **subject, rows=ROWS)
        assert told["__typename"] == "EvaluatePipelinePayload"
    assert await contents(store.table) == before


async def test_formulas_call_and_look_up_what_the_group_sees(ask: Ask) -> None:
    await ask.create_groups()
    calculation = {
        "formula": ":x * 3",
        "parameters": [{"index": 0, "key": "x", "type": "NUMBER"}],
        "outputs": [{"index": 0, "type": "NUMBER"}],
    }
    create = """mutation($input: CreateCalculationInput!) { createCalculation(input: $input) {
      __typename } }"""
    made = await ask.input(create, group="/usa", name="tripled", **calculation)
    assert made == {"__typename": "CreateCalculationPayload"}
    formula = {"index": 0, "formula": "#tripled(:distance)"}
    outputs = [{"index": 0, "key": "thrice", "type": "NUMBER"}]
    parameters = [TRIPS["parameters"][0]]
    draft = {"parameters": parameters, "transforms": [{**formula, "outputs": outputs}]}
    told = await ask.input(DRY_RUN, draft=draft, group="/usa", rows=[{"distance": 2}])
    assert told["results"] == {"rows": [{"thrice": 6}], "problems": []}
    elsewhere = await ask.input(DRY_RUN, draft=draft, group="/eu", rows=[{"distance": 2}])
    (problem,) = elsewhere["problems"]
    assert problem["path"] == ["draft", "transforms", "0", "formula"]
    assert problem["code"] == "UNKNOWN_CALCULATION"


async def test_a_draft_that_could_not_be_saved_is_refused_with_the_place(ask: Ask) -> None:
    await ask.create_groups()
    transform = {**TRIPS["transforms"][0], "formula": ":distance *"}
    draft = {"parameters": TRIPS["parameters"][:1], "transforms": [transform]}
    told = await ask.input(DRY_RUN, draft=draft, group="/usa", rows=[{"distance": 1}])
    assert (told["__typename"], told["code"]) == ("ValidationProblem", "BAD_USER_INPUT")
    (problem,) = told["problems"]
    assert problem["path"] == ["draft", "transforms", "0", "formula"]
    assert problem["excerpt"].endswith("^")


@pytest.mark.parametrize("caller", [READER, STRANGER])
async def test_only_those_who_may_run_or_save_it_make_a_dry_run(
    ask: Ask, store: Store, caller: Any
) -> None:
    pipeline = await create_pipeline(ask)
    before = await contents(store.table)
    refused = "FORBIDDEN" if caller is READER else "NOT_FOUND"
    for subject in ({"id": pipeline}, {"draft": TRIPS, "group": "/usa"}):
        told = await ask.input(DRY_RUN, caller, **subject, rows=ROWS)
        assert told["code"] == refused
    assert await contents(store.table) == before


async def test_a_frozen_pipeline_runs_no_rows(ask: Ask) -> None:
    pipeline = await create_pipeline(ask)
    update = """mutation($input: UpdatePipelineInput!) { updatePipeline(input: $input) {
      __typename } }"""
    await ask.input(update, id=pipeline, expectedVersion=1, state="FROZEN")
    told = await ask.input(DRY_RUN, id=pipeline, rows=ROWS)
    assert (told["code"], told["state"]) == ("ILLEGAL_STATE", "FROZEN")
    assert (await ask.input(CREATE, pipelineId=pipeline))["code"] == "ILLEGAL_STATE"


@pytest.mark.parametrize(
    ("input", "code", "path"),
    [
        ({"rows": ROWS}, "BAD_USER_INPUT", ["id"]),
        ({"id": "x", "draft": TRIPS, "rows": ROWS}, "BAD_USER_INPUT", ["id"]),
        ({"draft": TRIPS, "group": "/usa", "rows": []}, "BAD_USER_INPUT", ["rows"]),
        ({"draft": TRIPS, "group": "/usa", "rows": [1]}, "BAD_USER_INPUT", ["rows", "0"]),
        ({"draft": TRIPS, "group": "/usa", "rows": [{}] * 1_001}, "LIMIT_EXCEEDED", ["rows"]),
        ({"draft": TRIPS, "group": "/nowhere", "rows": ROWS}, "NOT_FOUND", ["group"]),
    ],
)
async def test_a_bad_request_is_refused_with_its_place(
    ask: Ask, input: dict[str, Any], code: str, path: list[str]
) -> None:
    await ask.create_groups()
    told = await ask.input(DRY_RUN, **input)
    assert (told["code"], told["path"]) == (code, path)


EXPLAINED = """query($input: EvaluatePipelineInput!, $row: Int!) { evaluatePipeline(input: $input) {
  ...on UserError { code }
  ...on EvaluatePipelinePayload { explanation(row: $row) { row input
    outputs { key explanation {
      value { text } error { code } parts { text value { text } } } } } } } }"""


@pytest.mark.parametrize("subject", ["saved", "draft"])
async def test_each_row_is_explained_step_by_step(ask: Ask, subject: str) -> None:
    pipeline = await create_pipeline(ask)
    chosen = {"id": pipeline} if subject == "saved" else {"draft": TRIPS, "group": "/usa"}
    given = {"input": {**chosen, "rows": ROWS}}
    first = (await ask(EXPLAINED, {**given, "row": 1})).value["explanation"]
    assert (first["row"], first["input"]) == (1, {"distance": 12.5, "fuel": "gas"})
    assert [one["explanation"]["value"]["text"] for one in first["outputs"]] == ["25", "true"]
    parts = first["outputs"][0]["explanation"]["parts"]
    assert (parts[0]["value"]["text"], len(parts) > 1) == ("25", True)
    rejected = (await ask(EXPLAINED, {**given, "row": 2})).value["explanation"]
    (failed,) = rejected["outputs"]
    assert failed["explanation"]["error"] == {"code": "INVALID_INPUT"}
    for row in (0, 4):
        refused = await ask(EXPLAINED, {**given, "row": row})
        assert refused.errors[0]["extensions"]["code"] == "NOT_FOUND"


async def test_whoever_does_not_see_a_calculation_gets_no_explanation(ask: Ask) -> None:
    await ask.create_groups()
    calculation = {
        "formula": ":x * 3",
        "parameters": [{"index": 0, "key": "x", "type": "NUMBER"}],
        "outputs": [{"index": 0, "type": "NUMBER"}],
    }
    create = """mutation($input: CreateCalculationInput!) { createCalculation(input: $input) {
      __typename } }"""
    await ask.input(create, group="/usa", name="tripled", **calculation)
    outputs = [{"index": 0, "key": "thrice", "type": "NUMBER"}]
    transforms = [{"index": 0, "formula": "#tripled(:distance)", "outputs": outputs}]
    transformer = {"parameters": [TRIPS["parameters"][0]], "transforms": transforms}
    pipeline = await ask.make("/usa", "Thrice", transformer=transformer)
    grant = """mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) {
      __typename } }"""
    await ask.input(grant, id=pipeline, group="/eu")
    given = {"input": {"id": pipeline, "rows": [{"distance": 2}]}, "row": 1}
    assert (await ask(EXPLAINED, given)).value["explanation"]["input"] == {"distance": 2}
    refused = await ask(EXPLAINED, given, STRANGER)
    assert refused.errors[0]["extensions"]["code"] == "FORBIDDEN"
    ran = await ask.input(DRY_RUN, STRANGER, id=pipeline, rows=[{"distance": 2}])
    assert ran["results"]["rows"] == [{"thrice": 6}]
