"""Metrics as resources: their inputs get ids, and none is made of itself."""

import asyncio
import base64
import json
from typing import Any

from penstock.datastore.store import Store
from tests.schema.kept_rows.energy import ENERGY, keep_energy
from tests.schema.metrics.sample_metrics import CREATE, UPDATE, kwh, make_metric
from tests.support.consistency_check import contents
from tests.support.graphql_client import TRANSFORMER, Ask, as_caller

INPUTS = '{ metric(id: "%s") { inputs { name output pipelineId metricId } } }'
DIFF = "diff(from: 1, to: 2) { path after }"
RENAME = """mutation($input: UpdatePipelineInput!) { updatePipeline(input: $input) {
  __typename } }"""
GRANT = "mutation($input: GrantMetricInput!) { grantMetric(input: $input) { __typename } }"
FORCE = """mutation($input: DeletePipelineInput!) { deletePipeline(input: $input) {
  __typename } }"""
SHOWN = "inputs { name output pipelineId metricId }"
EVERYTHING = f"""query($id: ID!) {{ metric(id: $id) {{ {SHOWN}
  versions {{ nodes {{ {SHOWN} }} }} versionNumbered(version: 1) {{ {SHOWN} }}
  diff(from: 1, to: 2) {{ path before after }}
  uses {{ nodes {{ __typename }} }}
  series(from: "2025-01-01T00:00:00Z", to: "2026-01-01T00:00:00Z", every: YEAR) {{
    isComplete points {{ sources {{ pipelineId output }} }} }}
}} }}"""


async def problems_of(ask: Ask, *inputs: dict[str, str], **more: Any) -> dict[str, str]:
    given = {"group": "/usa", "name": "new", "function": "SUM", "inputs": inputs, **more}
    refused = await ask.input(CREATE, **given)
    assert refused["code"] == "BAD_USER_INPUT", refused
    return {".".join(one["path"]): one["message"] for one in refused["problems"]}


async def test_inputs_keep_their_ids_and_show_present_names(ask: Ask) -> None:
    pipeline = await keep_energy(ask)
    electricity = await make_metric(ask, "electricity", kwh("ENERGY"))
    total = await make_metric(ask, "total", {"metric": "electricity"}, kwh(pipeline))
    renamed = {"id": pipeline, "expectedVersion": 1, "name": "Power"}
    await ask.input(RENAME, **renamed)
    found = await ask(INPUTS % total)
    assert found.value["inputs"] == [
        {"name": "electricity", "output": None, "pipelineId": None, "metricId": electricity},
        {"name": "Power", "output": "kwh", "pipelineId": pipeline, "metricId": None},
    ]
    await ask.make("/usa", "Energy", transformer=ENERGY)
    assert (await ask(INPUTS % electricity)).value["inputs"][0]["pipelineId"] == pipeline
    await ask.input(UPDATE, id=electricity, expectedVersion=1, inputs=[kwh("Energy")])
    assert (await ask(INPUTS % electricity)).value["inputs"][0]["pipelineId"] != pipeline


async def test_inputs_that_no_series_could_have_are_refused(ask: Ask, store: Store) -> None:
    await keep_energy(ask)
    await ask.make("/usa", "files only")
    await make_metric(ask, "known", kwh())
    before = await contents(store.table)
    told = await problems_of(
        ask,
        kwh("absent"),
        {"pipeline": "Energy", "output": "gas"},
        {"pipeline": "Energy", "output": "plant"},
        {"pipeline": "files only", "output": "x"},
        {"metric": "absent"},
    )
    assert told == {
        "inputs.0.pipeline": "there is no such pipeline",
        "inputs.1.output": "the pipeline has no output 'gas'",
        "inputs.2.output": "'plant' is no number: it can only be counted",
        "inputs.3.output": "the pipeline keeps no rows with a time",
        "inputs.4.metric": "there is no such metric",
    }
    assert await problems_of(ask, {"metric": "known"}, {"metric": "KNOWN"}) == {
        "inputs.1.metric": "is the same as input 0"
    }
    for wrong in ({}, {"pipeline": "Energy"}, {"output": "kwh"}, {**kwh(), "metric": "known"}):
        told = await problems_of(ask, kwh(), wrong)
        assert told["inputs"] == "input 1 must be an output of a pipeline, or a metric", wrong
    assert await problems_of(ask, unit="x" * 65) == {"unit": "is longer than 64 characters"}
    assert await problems_of(ask, *[kwh()] * 21) == {"inputs": "at most 20 are allowed"}
    assert await contents(store.table) == before
    await make_metric(ask, "plants", {"pipeline": "Energy", "output": "plant"}, function="COUNT")


async def test_a_source_out_of_sight_is_no_input(ask: Ask, store: Store) -> None:
    pipeline = await keep_energy(ask)
    editor = as_caller("eve", "/eu=contributor")
    before = await contents(store.table)
    for named in ("Energy", pipeline):
        given = {"group": "/eu", "name": "spy", "function": "SUM", "inputs": [kwh(named)]}
        refused = await ask.input(CREATE, editor, **given)
        assert refused["problems"] == [
            {"path": ["inputs", "0", "pipeline"], "message": "there is no such pipeline"}
        ]
    assert await contents(store.table) == before


async def test_inputs_out_of_sight_are_blank_wherever_a_metric_is_shown(ask: Ask) -> None:
    hidden = await keep_energy(ask)
    inner = await make_metric(ask, "concealed", kwh())
    total = await make_metric(ask, "total", kwh())
    await ask.input(UPDATE, id=total, expectedVersion=1, inputs=[kwh(), {"metric": "concealed"}])
    await ask.input(GRANT, id=total, group="/eu")
    shown = (await ask(EVERYTHING, {"id": total}, as_caller("eve", "/eu=admin"))).value
    blank = dict.fromkeys(("name", "output", "pipelineId", "metricId"))
    assert shown["inputs"] == [blank] * 2
    assert [one["inputs"] for one in shown["versions"]["nodes"]] == [[blank] * 2, [blank]]
    assert shown["versionNumbered"]["inputs"] == [blank]
    (added,) = shown["diff"]
    assert (added["path"], any(added["after"].values())) == ("/inputs/1", False)
    assert shown["uses"]["nodes"] == []
    assert not shown["series"]["isComplete"]
    told = json.dumps(shown)
    keys = [base64.b64decode(id).decode().partition(":")[2] for id in (hidden, inner)]
    secrets = ("Energy", "concealed", "kwh", hidden, inner, *keys)
    assert [word for word in secrets if word in told] == []
    seen = (await ask(EVERYTHING, {"id": total})).value
    assert [one["name"] for one in seen["inputs"]] == ["Energy", "concealed"]
    assert seen["diff"][0]["after"]["source"] == "concealed"


async def test_a_hidden_pipeline_that_gives_way_to_a_hidden_metric_is_no_difference(
    ask: Ask,
) -> None:
    await keep_energy(ask)
    await make_metric(ask, "concealed", kwh())
    total = await make_metric(ask, "total", kwh())
    await ask.input(UPDATE, id=total, expectedVersion=1, inputs=[{"metric": "concealed"}])
    await ask.input(GRANT, id=total, group="/eu")
    assert (await ask(EVERYTHING, {"id": total}, as_caller("eve", "/eu=admin"))).value["diff"] == []
    assert (await ask(EVERYTHING, {"id": total})).value["diff"] != []


async def test_an_input_that_is_gone_looks_like_one_out_of_sight(ask: Ask) -> None:
    pipeline = await keep_energy(ask)
    total = await make_metric(ask, "total", kwh())
    gone = await ask.input(FORCE, id=pipeline, expectedVersion=1, force=True)
    assert gone["__typename"] == "DeletePipelinePayload"
    blank = dict.fromkeys(("name", "output", "pipelineId", "metricId"))
    assert (await ask(INPUTS % total)).value["inputs"] == [blank]


async def test_no_metric_is_made_of_itself(ask: Ask, store: Store) -> None:
    await keep_energy(ask)
    inner = await make_metric(ask, "inner", kwh())
    middle = await make_metric(ask, "middle", {"metric": "inner"})
    outer = await make_metric(ask, "outer", {"metric": middle}, {"metric": inner})
    before = await contents(store.table)
    for named in ("inner", inner, "middle", outer):
        refused = await ask.input(
            UPDATE, id=inner, expectedVersion=1, inputs=[kwh(), {"metric": named}]
        )
        assert refused["problems"] == [
            {"path": ["inputs", "1", "metric"], "message": "is made of this metric itself"}
        ], named
    assert await contents(store.table) == before


async def test_two_metrics_that_are_saved_at_once_never_become_inputs_of_each_other(
    ask: Ask,
) -> None:
    await ask.create_groups()
    for n in range(5):
        pair = [await make_metric(ask, f"{name}{n}") for name in "ab"]
        answers = await asyncio.gather(
            *(
                ask.input(UPDATE, id=one, expectedVersion=1, inputs=[{"metric": other}])
                for one, other in (pair, pair[::-1])
            )
        )
        assert sorted(one["__typename"] for one in answers) == [
            "UpdateMetricPayload",
            "ValidationProblem",
        ]


async def test_metrics_within_each_other_are_bounded(ask: Ask, store: Store) -> None:
    await ask.create_groups()
    await make_metric(ask, "m0")
    for n in range(1, 11):
        await make_metric(ask, f"m{n}", {"metric": f"m{n - 1}"})
    before = await contents(store.table)
    given = {"group": "/usa", "name": "m11", "function": "SUM", "inputs": [{"metric": "m10"}]}
    refused = await ask.input(CREATE, **given)
    assert (refused["code"], refused["path"]) == ("LIMIT_EXCEEDED", ["inputs"])
    assert await contents(store.table) == before


async def test_what_became_of_an_input_does_not_hinder_other_changes(ask: Ask) -> None:
    pipeline = await keep_energy(ask)
    metric = await make_metric(ask, "total", kwh())
    changed = {"id": pipeline, "expectedVersion": 1, "transformer": TRANSFORMER}
    await ask.input(RENAME, **changed)
    done = await ask.input(UPDATE, id=metric, expectedVersion=1, unit="kWh")
    assert done["metric"]["version"] == 2
    document = f'{{ metric(id: "{metric}") {{ unit function {DIFF} }} }}'
    found = await ask(document)
    assert found.value == {
        "unit": "kWh",
        "function": "SUM",
        "diff": [{"path": "/unit", "after": "kWh"}],
    }
