"""Timestamps in outputs and in kept rows have the form that the pipeline names."""

from typing import Any

import pytest

from tests.schema.executions.test_executions import create_execution
from tests.schema.kept_rows.energy import (
    ENERGY,
    WITHDRAW,
    keep_energy,
    list_rows,
    list_totals,
    meter,
    run_rows,
)
from tests.support.graphql_client import ROOT, TRANSFORMER, Ask, as_caller

TX = "/usa/tx"
JANUARY = {"ISO_8601": "2025-01-01T00:00:00.000Z", "EPOCH_MILLISECONDS": 1735689600000}
FORMS = list(JANUARY)
ISO, EPOCH = FORMS
FORM = "query($id: ID!) { pipeline(id: $id) { version transformer { timestamps } } }"
UPDATE = """mutation($input: UpdatePipelineInput!) { updatePipeline(input: $input) {
  __typename ...on UserError { code path }
  ...on UpdatePipelinePayload { pipeline { version } } } }"""
RESULTS = """query($id: ID!) { execution(id: $id) { results { rows problems { code } } } }"""
TRY = """query($input: EvaluatePipelineInput!) { evaluatePipeline(input: $input) {
  ...on EvaluatePipelinePayload { results { rows } } ...on UserError { code } } }"""
HISTORY = """query($id: ID!) { pipeline(id: $id) {
  rows { nodes { id history { nodes { key values } } } } } }"""


async def form_of(ask: Ask, id: str) -> str:
    return str((await ask(FORM, {"id": id})).value["transformer"]["timestamps"])


async def update(ask: Ask, id: str, version: int, **changes: Any) -> None:
    transformer = {**ENERGY, **changes}
    given = {"id": id, "expectedVersion": version, "transformer": transformer}
    made = (await ask(UPDATE, {"input": given})).value
    assert made == {"__typename": "UpdatePipelinePayload", "pipeline": {"version": version + 1}}


@pytest.mark.parametrize("form", FORMS)
async def test_results_rows_and_totals_show_timestamps_in_the_form(ask: Ask, form: str) -> None:
    id, january = await keep_energy(ask, timestamps=form), JANUARY[form]
    made = await run_rows(ask, id, meter(TX, "2025-01-01", 10), meter(TX, "2025-02-01", 1))
    results = (await ask(RESULTS, {"id": made["id"]})).value["results"]
    assert [one["month"] for one in results["rows"]][:1] == [january]
    found = (await list_rows(ask, id))["nodes"]
    assert (found[0]["key"], found[0]["values"]["month"]) == ([TX, str(january)], january)
    assert [one["time"] for one in found] == [JANUARY[ISO], "2025-02-01T00:00:00.000Z"]
    totals = (await list_totals(ask, id, by=["month"]))["nodes"]
    assert [one["by"][0]["value"] for one in totals][:1] == [str(january)]


@pytest.mark.parametrize("given", JANUARY.values())
@pytest.mark.parametrize("form", FORMS)
async def test_conditions_and_withdrawals_take_both_forms(
    ask: Ask, form: str, given: str | int
) -> None:
    id = await keep_energy(ask, timestamps=form)
    await run_rows(ask, id, meter(TX, "2025-01-01", 10), meter(TX, "2025-02-01", 1))
    for condition, times in (("eq", ["2025-01"]), ("lt", []), ("gte", ["2025-01", "2025-02"])):
        rows = await list_rows(ask, id, where=[{"output": "month", condition: given}])
        assert [one["time"][:7] for one in rows["nodes"]] == times
    withdrawal = {"pipelineId": id, "keys": [[TX, str(given)]], "reason": "wrong"}
    assert (await ask(WITHDRAW, {"input": withdrawal})).value["count"] == 1
    assert [one["time"][:7] for one in (await list_rows(ask, id))["nodes"]] == ["2025-02"]


async def test_a_condition_that_is_no_time_is_refused(ask: Ask) -> None:
    id = await keep_energy(ask)
    await run_rows(ask, id, meter(TX, "2025-01-01", 10))
    query = """query($id: ID!) { pipeline(id: $id) {
      rows(where: [{output: "month", gte: "January"}]) { nodes { id } } } }"""
    (error,) = (await ask(query, {"id": id})).errors
    assert "must be a time in ISO 8601, or epoch milliseconds" in error["message"]


async def test_new_pipelines_and_drafts_write_iso_8601_and_an_update_keeps_the_form(
    ask: Ask,
) -> None:
    id = await keep_energy(ask, timestamps=EPOCH)
    await update(ask, id, 1)
    assert await form_of(ask, id) == EPOCH
    await update(ask, id, 2, timestamps=ISO)
    await update(ask, id, 3, timestamps=None)
    assert await form_of(ask, id) == ISO
    assert await form_of(ask, await ask.make("/usa", "New", transformer=ENERGY)) == ISO
    draft = {"group": "/usa", "draft": ENERGY, "rows": [meter("/usa", "2025-01-01", 1)]}
    tried = (await ask(TRY, {"input": draft})).value["results"]["rows"]
    assert [one["month"] for one in tried] == [JANUARY[ISO]]


async def test_an_update_that_adds_the_first_timestamp_takes_the_default(ask: Ask) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "Plain", transformer=TRANSFORMER)
    assert await form_of(ask, id) == EPOCH
    await update(ask, id, 1)
    assert await form_of(ask, id) == ISO


async def test_an_update_of_a_pipeline_out_of_sight_is_not_found(ask: Ask) -> None:
    id = await keep_energy(ask, timestamps=EPOCH)
    given = {"id": id, "expectedVersion": 1, "transformer": ENERGY}
    refused = await ask(UPDATE, {"input": given}, as_caller("eve", "/eu=admin"))
    assert refused.value == {"__typename": "NotFound", "code": "NOT_FOUND", "path": ["id"]}
    assert (await ask(FORM, {"id": id})).value["version"] == 1


async def test_a_correction_in_another_form_finds_its_row(ask: Ask) -> None:
    id = await keep_energy(ask, timestamps=EPOCH)
    await run_rows(ask, id, meter(TX, "2025-01-01", 10))
    await update(ask, id, 1, timestamps=ISO)
    await run_rows(ask, id, meter(TX, "2025-01-01", 20))
    (row,) = (await ask(HISTORY, {"id": id})).value["rows"]["nodes"]
    shown = [(one["key"][1], one["values"]["month"]) for one in row["history"]["nodes"]]
    assert shown == [(JANUARY[ISO], JANUARY[ISO]), (str(JANUARY[EPOCH]), JANUARY[EPOCH])]


async def test_a_result_that_is_no_moment_is_a_problem_of_its_row(ask: Ask) -> None:
    await ask.create_groups()
    output = {"index": 0, "key": "t", "type": "TIMESTAMP"}
    plain = {**TRANSFORMER, "transforms": [{"index": 0, "formula": ":x", "outputs": [output]}]}
    id = await ask.make("/usa", "Moments", transformer=plain)
    rows = [{"x": "1e15"}, {"x": None}, {"x": "0"}]
    made = await create_execution(ask, ROOT, pipelineId=id, mode="INLINE", rows=rows)
    assert (await ask(RESULTS, {"id": made["id"]})).value["results"] == {
        "rows": [{"t": None}, {"t": "1970-01-01T00:00:00.000Z"}],
        "problems": [{"code": "INVALID_DATE"}],
    }
