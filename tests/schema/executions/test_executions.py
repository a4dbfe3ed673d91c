"""Executions as clients see them: from the upload form to the output, and rows in a request."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from decimal import Decimal
from typing import Any

import pytest

from penstock.datastore.executions.files import errors_key, ingest_key, output_key, staged_key
from penstock.datastore.executions.reading import find_execution
from penstock.datastore.executions.records import Execution
from penstock.datastore.executions.rows import key_of_execution
from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.schema.core.relay import parse_global_id, parse_key
from tests.datastore.executions.sample_executions import put_file
from tests.schema.test_subscriptions import GRANT, REVOKE, answers
from tests.support.consistency_check import contents
from tests.support.graphql_client import ROOT, Ask, as_caller, tag_inputs
from tests.support.patience import until

TRIPS = {
    "parameters": [
        {"index": 0, "key": "distance", "type": "NUMBER", "required": True},
        {"index": 1, "key": "fuel", "label": "Fuel type", "type": "STRING"},
    ],
    "transforms": [
        {
            "index": 0,
            "formula": ":distance * 2",
            "outputs": [{"index": 0, "key": "return", "type": "NUMBER"}],
        },
        {
            "index": 1,
            "formula": "REF('return') > 10",
            "outputs": [{"index": 0, "key": "far", "type": "BOOLEAN"}],
        },
    ],
}
CSV = b"distance,Fuel type\n12.5,gas\nfar,gas\n3,wood\n"
CREATE = """mutation($input: CreateExecutionInput!) { createExecution(input: $input) {
  __typename ...on UserError { code path message }
  ...on CreateExecutionPayload { execution { id state mode pipelineVersion createdBy code
    upload { method url fields { name value } headers { name } expiresAt }
    results { rows problems { row column code message } } } } } }"""
START = """mutation($input: StartExecutionInput!) { startExecution(input: $input) {
  __typename ...on UserError { code message }
  ...on StartExecutionPayload { execution { state readyAt upload { url } } } } }"""
SHOWN = """query($id: ID!) { execution(id: $id) {
  __typename id state stateMessage code tags { key value } pins { name } maxFailedRows
  pipeline { name } pipelineVersion createdAt readyAt startedAt finishedAt
  progress { rowsRead rowsSucceeded rowsFailed bytesRead bytesWritten bytesTotal etaSeconds }
  inputDownload { status url sizeBytes }
  outputDownload { status url sizeBytes } errorsDownload(expiresIn: 60) { status expiresAt }
  timeline { nodes { seq happening state by note } }
  results { rows } } }"""
EVALUATE = """query($input: EvaluateInput!) { evaluate(input: $input) {
  ...on EvaluatePayload { values { text } } } }"""
PROGRESS = """subscription($id: ID!) { executionProgress(id: $id) {
  state progress { rowsRead bytesTotal } } }"""
READER = as_caller("rita", "/usa=reader")


async def create_pipeline(ask: Ask) -> str:
    await ask.create_groups()
    return await ask.make("/usa", "Trips", transformer=TRIPS)


async def create_execution(ask: Ask, caller: Caller = ROOT, **input: Any) -> Any:
    told = await ask.input(CREATE, caller, **input)
    assert told["__typename"] == "CreateExecutionPayload", told
    return told["execution"]


async def read_record(store: Store, id: str) -> Execution:
    key = parse_global_id(id)
    assert key is not None
    found = await find_execution(store.table, key.key)
    assert found is not None
    return found


async def create_uploaded_execution(ask: Ask, pipeline: str) -> str:
    """Make an execution with an uploaded and confirmed input."""
    id: str = (await create_execution(ask, pipelineId=pipeline, tags=tag_inputs("a=b")))["id"]
    await put_file(ask.store.files, ingest_key(await read_record(ask.store, id)), CSV)
    told = await ask.input(START, id=id)
    assert told["execution"]["upload"] is None
    return id


async def test_an_execution_goes_from_its_form_to_its_output(ask: Ask, store: Store) -> None:
    pipeline = await create_pipeline(ask)
    made = await create_execution(ask, pipelineId=pipeline, tags=tag_inputs("a=b"), maxFailedRows=5)
    kept = await read_record(store, made["id"])
    form = made["upload"]
    assert (form["method"], form["headers"]) == ("POST", [])
    assert form["fields"] == [
        {"name": "key", "value": ingest_key(kept)},
        {"name": "Content-Type", "value": "text/csv"},
    ]
    none = {"status": "NOT_READY", "url": None, "sizeBytes": None}
    assert (await ask(SHOWN, {"id": made["id"]})).value["inputDownload"] == none
    await put_file(store.files, ingest_key(kept), CSV)
    told = await ask.input(START, id=made["id"])
    assert told["execution"]["state"] == "WAITING"
    assert told["execution"]["readyAt"] is not None
    waiting = (await ask(SHOWN, {"id": made["id"]})).value
    assert waiting["outputDownload"] == none
    assert waiting["inputDownload"]["status"] == "READY"
    assert waiting["inputDownload"]["sizeBytes"] == len(CSV)
    assert await store.execution_worker("w").run_all() == 1
    over = (await ask(SHOWN, {"id": made["id"]}, READER)).value
    assert (over["state"], over["code"], over["maxFailedRows"]) == ("SUCCESS", None, 5)
    assert over["progress"] == {
        "rowsRead": 3,
        "rowsSucceeded": 2,
        "rowsFailed": 1,
        "bytesRead": len(CSV),
        "bytesWritten": over["progress"]["bytesWritten"],
        "bytesTotal": len(CSV),
        "etaSeconds": 0,
    }
    assert over["outputDownload"]["status"] == "READY"
    assert over["outputDownload"]["url"].startswith("http://files.test/")
    assert over["errorsDownload"]["status"] == "READY"
    assert over["results"] is None
    assert [(one["happening"], one["state"]) for one in over["timeline"]["nodes"]] == [
        ("CREATED", "WAITING"),
        ("UPLOADED", "WAITING"),
        ("CLAIMED", "IN_PROGRESS"),
        ("SUCCEEDED", "SUCCESS"),
    ]


async def test_rows_of_a_request_are_answered_in_it(ask: Ask) -> None:
    pipeline = await create_pipeline(ask)
    rows = [
        {"distance": 12.5, "fuel": "gas"},
        {"distance": "far"},
        {"Fuel type": "x", "distance": 3},
    ]
    made = await create_execution(ask, pipelineId=pipeline, mode="INLINE", rows=rows)
    assert (made["state"], made["mode"], made["upload"]) == ("SUCCESS", "INLINE", None)
    assert made["results"]["rows"] == [{"return": 25, "far": True}, {"return": 6, "far": False}]
    assert made["results"]["problems"] == [
        {
            "row": 2,
            "column": "distance",
            "code": "INVALID_INPUT",
            "message": ":distance: expected a number, found 'far'",
        }
    ]
    stored = (await ask(SHOWN, {"id": made["id"]})).value
    assert stored["results"]["rows"] == made["results"]["rows"]
    assert stored["outputDownload"]["status"] == "READY"


async def test_numbers_beyond_doubles_are_texts_as_in_an_evaluation(ask: Ask) -> None:
    pipeline = await create_pipeline(ask)
    given = ["1e400", "-1e-9000", "9" * 38, "-0.5", "1e307", "1.5e-9998"]
    rows = [{"distance": one} for one in given]
    made = await create_execution(ask, pipelineId=pipeline, mode="INLINE", rows=rows)
    found = [row["return"] for row in made["results"]["rows"]]
    assert [type(one) for one in found] == [str, str, Decimal, Decimal, Decimal, str]
    assert [Decimal(one) for one in found] == [
        Decimal(one)
        for one in ("2e400", "-2e-9000", "1" + "9" * 37 + "8", "-1", "2e307", "3e-9998")
    ]
    stored = (await ask(SHOWN, {"id": made["id"]})).value
    assert stored["results"]["rows"] == made["results"]["rows"]
    parameters = [{"index": 0, "key": "a", "type": "NUMBER", "required": True}]
    outputs = [{"index": 0, "type": "NUMBER"}]
    evaluated = await ask.input(
        EVALUATE,
        group="/usa",
        draft={"formula": ":a * 2", "parameters": parameters, "outputs": outputs},
        rows=[{"a": one} for one in given],
    )
    texts = [value["text"] for value in evaluated["values"]]
    assert [one for one in found if isinstance(one, str)] == [texts[0], texts[1], texts[5]]


async def test_rows_that_all_fail_are_told_of(ask: Ask) -> None:
    pipeline = await create_pipeline(ask)
    made = await create_execution(ask, pipelineId=pipeline, mode="INLINE", rows=[{"x": 1}])
    assert (made["state"], made["code"]) == ("FAILED", "ALL_ROWS_FAILED")
    assert made["results"]["rows"] == []
    assert [one["code"] for one in made["results"]["problems"]] == ["UNKNOWN_COLUMN"]


@pytest.mark.parametrize(
    ("input", "path"),
    [
        ({"mode": "INLINE"}, ["rows"]),
        ({"rows": [{}]}, ["rows"]),
        ({"mode": "INLINE", "rows": [1]}, ["rows", "0"]),
        ({"maxFailedRows": -1}, ["maxFailedRows"]),
    ],
)
async def test_rows_and_mode_go_together(ask: Ask, input: dict[str, Any], path: list[str]) -> None:
    told = await ask.input(CREATE, pipelineId=await create_pipeline(ask), **input)
    assert (told["__typename"], told["path"]) == ("ValidationProblem", path)


async def test_a_reader_sees_an_execution_without_its_form(ask: Ask) -> None:
    made = await create_execution(ask, pipelineId=await create_pipeline(ask))
    document = "query($id: ID!) { execution(id: $id) { state upload { url } } }"
    shown = (await ask(document, {"id": made["id"]}, READER)).value
    assert shown == {"state": "WAITING", "upload": None}


@pytest.mark.parametrize("seconds", [0, -1, 604801])
async def test_a_url_is_valid_for_a_sensible_time(ask: Ask, store: Store, seconds: int) -> None:
    id = await create_uploaded_execution(ask, await create_pipeline(ask))
    await store.execution_worker("w").run_all()
    document = (
        "query($id: ID!, $s: Int) { execution(id: $id) { outputDownload(expiresIn: $s) { url } } }"
    )
    (error,) = (await ask(document, {"id": id, "s": seconds})).errors
    assert error["extensions"]["code"] == "BAD_USER_INPUT"


async def test_a_worker_elsewhere_runs_an_execution(ask: Ask, store: Store) -> None:
    id = await create_uploaded_execution(ask, await create_pipeline(ask))
    claim = """mutation($input: ClaimExecutionInput!) { claimExecution(input: $input) {
      ...on ClaimExecutionPayload { fence plan inputUrl output { fields { value } }
        errors { url } execution { state } } } }"""
    claimed = await ask.input(claim, id=id, worker="far")
    assert (claimed["fence"], claimed["execution"]) == (1, {"state": "IN_PROGRESS"})
    assert [step["name"] for step in claimed["plan"]["steps"]] == ["return", "far"]
    kept = await read_record(store, id)
    assert claimed["output"]["fields"][0] == {"value": staged_key(output_key(kept), 1)}
    progress = {"rowsSucceeded": 2, "rowsFailed": 1, "bytesRead": 40, "bytesWritten": 50}
    beat = """mutation($input: HeartbeatExecutionInput!) { heartbeatExecution(input: $input) {
      ...on HeartbeatExecutionPayload { execution { progress { rowsRead bytesWritten } } } } }"""
    told = await ask.input(beat, id=id, fence=1, progress=progress)
    assert told["execution"]["progress"] == {"rowsRead": 3, "bytesWritten": 50}
    complete = """mutation($input: CompleteExecutionInput!) { completeExecution(input: $input) {
      __typename ...on IllegalState { message }
      ...on CompleteExecutionPayload { execution { state } } } }"""
    early = await ask.input(complete, id=id, fence=1, progress=progress)
    assert early == {"__typename": "IllegalState", "message": "output.txt was not uploaded yet."}
    await put_file(store.files, staged_key(output_key(kept), 1), b"x")
    await put_file(store.files, staged_key(errors_key(kept), 1), b"y")
    done = await ask.input(complete, id=id, fence=1, progress=progress)
    assert done["execution"] == {"state": "SUCCESS"}


async def test_datasets_are_shown_and_given_to_workers_elsewhere(ask: Ask) -> None:
    await ask.create_groups("/usa")
    dataset = await Ask(ask.store, "reference dataset").make("/usa", "fuels")
    transformer = {
        "parameters": [{"index": 0, "key": "x", "type": "STRING"}],
        "transforms": [
            {
                "index": 0,
                "formula": "LOOKUP('fuels', :x) * 2",
                "outputs": [{"index": 0, "key": "y", "type": "NUMBER"}],
            }
        ],
    }
    pipeline = await ask.make("/usa", "looking", transformer=transformer)
    made = await create_execution(ask, pipelineId=pipeline, mode="INLINE", rows=[{"x": "b"}])
    assert made["results"] == {"rows": [{"y": 5}], "problems": []}
    pins = "query($id: ID!) { execution(id: $id) { pins { kind id version name } } }"
    id = await create_uploaded_execution(ask, pipeline)
    own = parse_key("ReferenceDataset", dataset)
    assert (await ask(pins, {"id": id})).value["pins"] == [
        {"kind": "D", "id": own, "version": 1, "name": "fuels"}
    ]
    claim = """mutation($input: ClaimExecutionInput!) { claimExecution(input: $input) {
      ...on ClaimExecutionPayload { plan datasets { identity url
        content { columns { name } keyColumn rowCount } } } } }"""
    claimed = await ask.input(claim, id=id, worker="far")
    assert [one["identity"] for one in claimed["plan"]["datasets"]] == [f"{own}:1"]
    (told,) = claimed["datasets"]
    assert told.pop("url").startswith("http://files.test/")
    assert told == {
        "identity": f"{own}:1",
        "content": {"columns": [{"name": "x"}, {"name": "y"}], "keyColumn": "x", "rowCount": 2},
    }


async def test_rows_of_a_dataset_are_looked_up_by_its_keys_together(ask: Ask) -> None:
    await ask.create_groups("/usa")
    grid = {
        "columns": [
            {"name": "region", "type": "STRING"},
            {"name": "year", "type": "NUMBER"},
            {"name": "factor", "type": "NUMBER"},
        ],
        "csv": "region,year,factor\neu,2024,0.4\neu,2025,0.3\nus,2025,0.5\n",
    }
    create = """mutation($input: CreateReferenceDatasetInput!) { createReferenceDataset(
      input: $input) { ...on ValidationProblem { problems { path code } }
      ...on CreateReferenceDatasetPayload { referenceDataset {
        content { keyColumn keyColumns rowCount } } } } }"""
    both = {"group": "/usa", "name": "grid", "content": {**grid, "keyColumns": ["year", "region"]}}
    wrong: list[dict[str, Any]] = [
        {"keyColumn": "year", "keyColumns": ["year"]},
        {"keyColumns": []},
    ]
    for keys in wrong:
        refused = await ask.input(create, **{**both, "content": {**grid, **keys}})
        assert refused["problems"][-1] == {"path": ["content", "keyColumns"], "code": None}
    once = await ask.input(create, **{**both, "content": {**grid, "keyColumn": "year"}})
    assert once["problems"] == [{"path": ["content", "csv"], "code": "DUPLICATE_KEY"}]
    made = await ask.input(create, **both)
    assert made["referenceDataset"]["content"] == {
        "keyColumn": "year",
        "keyColumns": ["year", "region"],
        "rowCount": 3,
    }
    formula = "LOOKUP(:region, 'grid', 'region', 'factor', :year, 'year') * 10"
    transformer = {
        "parameters": [
            {"index": 0, "key": "region", "type": "STRING"},
            {"index": 1, "key": "year", "type": "NUMBER"},
        ],
        "transforms": [
            {
                "index": 0,
                "formula": formula,
                "outputs": [{"index": 0, "key": "y", "type": "NUMBER"}],
            }
        ],
    }
    pipeline = await ask.make("/usa", "looking", transformer=transformer)
    rows = [{"region": "eu", "year": 2025}, {"region": "us", "year": 2025}]
    ran = await create_execution(ask, pipelineId=pipeline, mode="INLINE", rows=rows)
    assert ran["results"] == {"rows": [{"y": 3}, {"y": 5}], "problems": []}


async def test_pins_of_what_the_caller_does_not_see_are_left_out(ask: Ask) -> None:
    await ask.create_groups("/usa", "/eu")
    await Ask(ask.store, "reference dataset").make("/usa", "fuels")
    transformer = {
        "parameters": [{"index": 0, "key": "x", "type": "STRING"}],
        "transforms": [
            {
                "index": 0,
                "formula": "LOOKUP('fuels', :x) * 2",
                "outputs": [{"index": 0, "key": "y", "type": "NUMBER"}],
            }
        ],
    }
    pipeline = await ask.make("/usa", "looking", transformer=transformer)
    grant = """mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) {
      __typename } }"""
    assert (await ask.input(grant, id=pipeline, group="/eu"))["__typename"] == (
        "GrantPipelinePayload"
    )
    id = await create_uploaded_execution(ask, pipeline)
    pins = "query($id: ID!) { execution(id: $id) { pins { name } } }"
    for group, shown in (("/usa", [{"name": "fuels"}]), ("/eu", [])):
        reader = as_caller("rita", f"{group}=reader")
        assert (await ask(pins, {"id": id}, reader)).value["pins"] == shown


async def test_a_dataset_that_is_gone_is_a_problem_of_the_pipeline(ask: Ask) -> None:
    await ask.create_groups("/usa")
    datasets = Ask(ask.store, "reference dataset")
    dataset = await datasets.make("/usa", "fuels")
    formula = {
        "parameters": [],
        "transforms": [
            {
                "index": 0,
                "formula": "LOOKUP('fuels', 'b')",
                "outputs": [{"index": 0, "key": "y", "type": "NUMBER"}],
            }
        ],
    }
    pipeline = await ask.make("/usa", "looking", transformer=formula)
    delete = """mutation($input: DeletePipelineInput!) { deletePipeline(input: $input) {
      __typename } }"""
    await datasets.input(delete, id=dataset, force=True)
    create = """mutation($input: CreateExecutionInput!) { createExecution(input: $input) {
      ...on ValidationProblem { problems { path code message } } } }"""
    refused = await ask.input(create, pipelineId=pipeline)
    assert refused["problems"] == [
        {
            "path": ["pipelineId"],
            "code": "UNKNOWN_DATASET",
            "message": "transform 0, line 1, column 1: there is no dataset 'fuels'",
        }
    ]


async def test_an_execution_is_followed_to_its_end(ask: Ask, store: Store) -> None:
    id = await create_uploaded_execution(ask, await create_pipeline(ask))
    changes = RowChanges(store.table)
    async with aclosing(answers(store, changes, id, ROOT, PROGRESS)) as told:
        progress = {"rowsRead": 0, "bytesTotal": len(CSV)}
        assert await anext(told) == {"state": "WAITING", "progress": progress}
        await store.execution_worker("w").run_all()
        following = asyncio.ensure_future(anext(told))
        while not following.done():
            await asyncio.wait({following}, timeout=0.01)
            await changes.poll()
        assert await following == {"state": "SUCCESS", "progress": {**progress, "rowsRead": 3}}
        with pytest.raises(StopAsyncIteration):
            await anext(told)
    async with aclosing(answers(store, changes, id, ROOT, PROGRESS)) as told:
        assert [one["state"] async for one in told] == ["SUCCESS"]


async def end_by_revoke(ask: Ask, pipeline: str) -> None:
    await ask.input(REVOKE, id=pipeline, group="/eu")


async def end_by_deletion(ask: Ask, pipeline: str) -> None:
    deleted = """mutation($input: DeletePipelineInput!) { deletePipeline(input: $input) {
      __typename } }"""
    assert (await ask.input(deleted, id=pipeline))["__typename"] == "DeletePipelinePayload"


@pytest.mark.parametrize("end", [end_by_revoke, end_by_deletion])
async def test_whoever_loses_sight_of_the_pipeline_follows_its_executions_no_more(
    ask: Ask, store: Store, end: Callable[[Ask, str], Awaitable[None]]
) -> None:
    pipeline = await create_pipeline(ask)
    await ask.input(GRANT, id=pipeline, group="/eu")
    id = await create_uploaded_execution(ask, pipeline)
    changes = RowChanges(store.table)
    reader = as_caller("eve", "/eu=reader")
    async with aclosing(answers(store, changes, id, reader, PROGRESS)) as heard:
        assert (await anext(heard))["state"] == "WAITING"
        following = asyncio.ensure_future(anext(heard, None))
        await asyncio.sleep(0)
        await end(ask, pipeline)

        async def has_ended() -> bool:
            await changes.poll()
            return following.done()

        await until(has_ended)
        assert await following is None


CONSTANT = {
    "parameters": [],
    "transforms": [
        {"index": 0, "formula": "1 + 1", "outputs": [{"index": 0, "key": "two", "type": "NUMBER"}]}
    ],
}


async def test_a_pipeline_without_parameters_runs_files_and_rows(ask: Ask, store: Store) -> None:
    await ask.create_groups("/usa")
    pipeline = await ask.make("/usa", "constant", transformer=CONSTANT)
    inline = await create_execution(ask, pipelineId=pipeline, mode="INLINE", rows=[{}, {}])
    assert inline["results"] == {"rows": [{"two": 2}, {"two": 2}], "problems": []}
    id = await create_uploaded_execution(ask, pipeline)
    await store.execution_worker("w").run_all()
    over = (await ask(SHOWN, {"id": id})).value
    assert (over["state"], over["progress"]["rowsSucceeded"]) == ("SUCCESS", 3)


async def test_rows_of_a_request_are_some(ask: Ask, store: Store) -> None:
    pipeline = await create_pipeline(ask)
    before = await contents(store.table)
    missing: tuple[list[Any] | None, ...] = ([], None)
    for rows in missing:
        told = await ask.input(CREATE, pipelineId=pipeline, mode="INLINE", rows=rows)
        assert (told["code"], told["path"]) == ("BAD_USER_INPUT", ["rows"])
    assert await contents(store.table) == before


async def test_a_copied_result_has_no_rate_and_says_where_it_comes_from(
    ask: Ask, store: Store
) -> None:
    pipeline = await create_pipeline(ask)
    shown = "query($id: ID!) { execution(id: $id) { stateMessage progress { rowsPerSecond } } }"
    found = []
    for _ in range(2):
        id = await create_uploaded_execution(ask, pipeline)
        await store.execution_worker("w").run_all()
        found.append((await ask(shown, {"id": id})).value)
        record = await read_record(store, id)
        if record.copied_from is None:
            first, shown_id = record, id
    assert first.seconds_at_work is not None
    assert found[1] == {
        "stateMessage": f"The result was copied from the execution {shown_id}, which read the same "
        "input with the same formulas.",
        "progress": {"rowsPerSecond": None},
    }
    assert found[0]["stateMessage"] is None
    assert record.copied_from == first.id


async def test_an_execution_stored_before_copies_were_marked_is_read(store: Store) -> None:
    await Ask(store).create_groups("/usa")
    pipeline = await Ask(store).make("/usa", "Trips", transformer=TRIPS)
    record = await read_record(
        store, (await create_execution(Ask(store), pipelineId=pipeline))["id"]
    )
    assert "copiedFrom" not in (await contents(store.table))[key_of_execution(record.id)]
