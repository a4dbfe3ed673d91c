"""The input of an execution, its authors, its attempts and its place in the queue."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from penstock.datastore.executions.attempts import AttemptOutcome, ExecutionAttempt, attempts_of
from penstock.datastore.executions.claims.queue import queue_position
from penstock.datastore.executions.files import errors_key, ingest_key, output_key, staged_key
from penstock.datastore.executions.records import (
    EventKind,
    Execution,
    ExecutionEvent,
    ExecutionState,
)
from penstock.datastore.executions.rows import key_of_execution
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.port import Update
from penstock.transform.outcome import RowCounts
from tests.datastore.executions.sample_executions import put_file
from tests.schema.executions.test_executions import (
    CSV,
    START,
    create_execution,
    create_pipeline,
    create_uploaded_execution,
    read_record,
)
from tests.support.consistency_check import contents
from tests.support.graphql_client import ROOT, Ask, as_caller

DETAILS = """query($id: ID!) { execution(id: $id) { state createdBy startedBy cancelledBy
  input { name sizeBytes } durationSeconds estimatedEnd queuePosition
  attempts { worker startedAt endedAt outcome note } reusedFrom { id } } }"""
CANCEL = """mutation($input: CancelExecutionInput!) { cancelExecution(input: $input) {
  ...on CancelExecutionPayload { execution { startedBy cancelledBy } } } }"""
RETRY = """mutation($input: RetryExecutionInput!) { retryExecution(input: $input) {
  ...on RetryExecutionPayload { execution { startedBy cancelledBy } } } }"""
EXPLAIN = """query($id: ID!, $row: Int!) { execution(id: $id) { explanation(row: $row) {
  row input outputs { key formula explanation { value { text } } } } } }"""
ADA, CARL = (as_caller(user, "/usa=admin") for user in ("ada", "carl"))
EPOCH = "1970-01-01T00:00:00.000Z"
STRANGER = as_caller("sven", "/europe=admin")


async def read_details(ask: Ask, id: str) -> Any:
    return (await ask(DETAILS, {"id": id})).value


async def test_an_execution_names_its_input_and_those_who_moved_it(ask: Ask, store: Store) -> None:
    pipeline = await create_pipeline(ask)
    made = await create_execution(ask, ADA, pipelineId=pipeline, inputName="May 2022.csv")
    id = made["id"]
    told = await read_details(ask, id)
    assert (told["createdBy"], told["startedBy"], told["cancelledBy"]) == ("ada", None, None)
    assert told["input"] == {"name": "May 2022.csv", "sizeBytes": None}
    assert (told["durationSeconds"], told["queuePosition"], told["attempts"]) == (None, None, [])
    await put_file(store.files, ingest_key(await read_record(store, id)), CSV)
    await ask.input(START, CARL, id=id)
    assert (await read_details(ask, id))["startedBy"] == "carl"
    cancelled = (await ask.input(CANCEL, ADA, id=id))["execution"]
    assert cancelled == {"startedBy": "carl", "cancelledBy": "ada"}
    again = (await ask.input(RETRY, CARL, id=id))["execution"]
    assert again == {"startedBy": "carl", "cancelledBy": None}
    assert await store.execution_worker("w").run_all() == 1
    told = await read_details(ask, id)
    assert told["input"] == {"name": "May 2022.csv", "sizeBytes": len(CSV)}
    assert told["durationSeconds"] >= 0
    (attempt,) = told["attempts"]
    assert (attempt["worker"], attempt["outcome"], attempt["note"]) == ("w", "SUCCEEDED", None)
    assert attempt["startedAt"] <= attempt["endedAt"]


async def test_rows_of_a_request_are_started_by_their_creator(ask: Ask) -> None:
    pipeline = await create_pipeline(ask)
    made = await create_execution(
        ask, ADA, pipelineId=pipeline, mode="INLINE", rows=[{"distance": "1"}]
    )
    told = await read_details(ask, made["id"])
    assert (told["startedBy"], told["input"]["name"]) == ("ada", None)
    assert told["input"]["sizeBytes"] > 0


@pytest.mark.parametrize("name", ["", "a" * 256, "a\u202eb", "a\nb"])
async def test_a_bad_name_of_an_input_is_refused(ask: Ask, store: Store, name: str) -> None:
    pipeline = await create_pipeline(ask)
    before = await contents(store.table)
    refused = await ask.input(
        """mutation($input: CreateExecutionInput!) { createExecution(input: $input) {
        ...on ValidationProblem { problems { path } } } }""",
        pipelineId=pipeline,
        inputName=name,
    )
    assert refused == {"problems": [{"path": ["inputName"]}]}
    assert await contents(store.table) == before


async def test_a_reused_result_leads_to_where_it_was_made(ask: Ask, store: Store) -> None:
    pipeline = await create_pipeline(ask)
    first = await create_uploaded_execution(ask, pipeline)
    assert await store.execution_worker("w").run_all() == 1
    second = await create_uploaded_execution(ask, pipeline)
    assert await store.execution_worker("w").run_all() == 1
    assert (await read_details(ask, second))["reusedFrom"] == {"id": first}
    assert (await read_details(ask, first))["reusedFrom"] is None
    hidden = await ask(DETAILS, {"id": second}, STRANGER)
    assert hidden.data == {"execution": None}


async def test_executions_that_wait_have_a_place_in_the_queue(ask: Ask, store: Store) -> None:
    pipeline = await create_pipeline(ask)
    ids = [await create_uploaded_execution(ask, pipeline) for _ in range(3)]
    records = sorted([await read_record(store, id) for id in ids], key=lambda one: one.due)
    metered = MeteredTable(store.table)
    places = [await queue_position(metered, one) for one in records]
    # Those of one millisecond share a place.
    assert places == [sum(other.due < one.due for other in records) for one in records]
    assert metered.units.calls == 3 * 8
    assert (await ask(DETAILS, {"id": ids[0]}, ROOT)).value["queuePosition"] in (0, 1, 2)
    await ask.input(CANCEL, id=ids[0])
    assert (await read_details(ask, ids[0]))["queuePosition"] is None


def event(seq: int, kind: EventKind, by: str = "w", note: str | None = None) -> ExecutionEvent:
    return ExecutionEvent(
        seq=seq, happening=kind, state=ExecutionState.WAITING, at=f"t{seq}", by=by, note=note
    )


def test_attempts_begin_with_claims_and_end_with_what_follows() -> None:
    history = [
        event(1, EventKind.CREATED, "ann"),
        event(2, EventKind.UPLOADED, "ann"),
        event(3, EventKind.CLAIMED, "w1"),
        event(4, EventKind.TAKEN_OVER, "w2"),
        event(5, EventKind.CANCELLED, "ann", "enough"),
        event(6, EventKind.RETRIED, "bob"),
        event(7, EventKind.CLAIMED, "w3"),
        event(8, EventKind.FAILED, "penstock", "gone"),
        event(9, EventKind.RETRIED, "bob"),
        event(10, EventKind.CANCELLED, "bob"),
        event(11, EventKind.RETRIED, "bob"),
        event(12, EventKind.CLAIMED, "w4"),
    ]
    ended = AttemptOutcome
    assert attempts_of(history) == [
        ExecutionAttempt("w1", "t3", "t4", ended.LOST),
        ExecutionAttempt("w2", "t4", "t5", ended.CANCELLED, "enough"),
        ExecutionAttempt("w3", "t7", "t8", ended.FAILED, "gone"),
        ExecutionAttempt("w4", "t12"),
    ]
    assert attempts_of(history[3:5]) == [
        ExecutionAttempt("w2", "t4", "t5", ended.CANCELLED, "enough")
    ]


async def test_the_end_is_estimated_while_a_worker_runs(ask: Ask, store: Store) -> None:
    pipeline = await create_pipeline(ask)
    record = await read_record(store, await create_uploaded_execution(ask, pipeline))
    begun = datetime.fromisoformat("2022-08-10T23:55:00+00:00")

    def running(**changes: Any) -> Execution:
        values = {
            "state": ExecutionState.IN_PROGRESS,
            "claimed_at": begun.isoformat(),
            "heartbeat_at": (begun + timedelta(seconds=10)).isoformat(),
            "bytes_read": 25,
            "bytes_total": 100,
        }
        return msgspec.structs.replace(record, **{**values, **changes})

    assert running().end_estimate == begun + timedelta(seconds=40)
    assert running(bytes_read=100).end_estimate == begun + timedelta(seconds=10)
    for unknown in (
        {"bytes_read": 0},
        {"bytes_total": None},
        {"state": ExecutionState.SUCCESS},
        {"heartbeat_at": begun.isoformat()},
        {"bytes_read": 1, "bytes_total": 2**40},
    ):
        assert running(**unknown).end_estimate is None, unknown


async def test_any_progress_that_a_worker_elsewhere_reports_can_be_read(
    ask: Ask, store: Store
) -> None:
    pipeline = await create_pipeline(ask)
    id = await create_uploaded_execution(ask, pipeline)
    record = await read_record(store, id)
    external = store.open_session(ADA).executions.external
    await external.claim(record.id, "far")
    largest = Update(
        key=key_of_execution(record.id), set={"bytesTotal": 5 * 2**30, "claimedAt": EPOCH}
    )
    await store.table.transact([largest])
    shown = """query($id: ID!) { execution(id: $id) { estimatedEnd durationSeconds progress {
      rowsRead rowsSucceeded rowsFailed bytesRead bytesWritten rowsPerSecond etaSeconds } } }"""
    for counts in (RowCounts(), RowCounts(1, 1, 0, 1, 1), RowCounts(*[10**15] * 5)):
        await external.heartbeat(record.id, 1, counts)
        told = (await ask(shown, {"id": id}, CARL)).value
        assert told["progress"]["bytesRead"] == counts.bytes_read
        assert told["progress"]["etaSeconds"] in (None, 0)
        assert (told["estimatedEnd"] is None) is (told["progress"]["etaSeconds"] is None)


PROBLEMS = b"row,column,code,message\r\n"


@pytest.mark.parametrize(
    ("output", "errors"),
    [
        (b"return,far\r\n1e999999999,true\r\n", PROBLEMS),
        (b"return,far\r\nNaN,true\r\n", PROBLEMS),
        (b"return,far\r\nmany,true\r\n", PROBLEMS),
        (b"return,far\r\n1,true,more\r\n", PROBLEMS),
        (b"return,far\r\n\xff,true\r\n", PROBLEMS),
        (b'return,far\r\n"' + b"1" * 200_000 + b'",true\r\n', PROBLEMS),
        (b"return,far\r\n", PROBLEMS + b"3000000000,a,b,c\r\n"),
        (b"return,far\r\n", PROBLEMS + b"x,a,b,c\r\n"),
        (b"return,far\r\n", PROBLEMS + b"1,a\r\n"),
        (b"return,far\r\n", PROBLEMS + b"1" * 5_000 + b",a,b,c\r\n"),
    ],
)
async def test_results_that_a_worker_elsewhere_wrote_in_another_form_are_unreadable(
    ask: Ask, store: Store, output: bytes, errors: bytes
) -> None:
    id = await complete_elsewhere(ask, store, output, errors)
    shown = "query($id: ID!) { execution(id: $id) { state results { rows problems { row } } } }"
    answer = await ask(shown, {"id": id}, CARL)
    assert [error["extensions"]["code"] for error in answer.errors] == ["UNREADABLE"]
    assert answer.data == {"execution": {"state": "SUCCESS", "results": None}}


async def complete_elsewhere(ask: Ask, store: Store, output: bytes, errors: bytes) -> str:
    """Run rows of a request elsewhere, which writes these files; return the execution's id."""
    pipeline = await create_pipeline(ask)
    made = await create_execution(
        ask, ADA, pipelineId=pipeline, mode="INLINE", rows=[{"distance": "far"}]
    )
    await ask.input(RETRY, ADA, id=made["id"])
    record = await read_record(store, made["id"])
    external = store.open_session(ADA).executions.external
    fence = (await external.claim(record.id, "far")).execution.fence
    await put_file(store.files, staged_key(output_key(record), fence), output)
    await put_file(store.files, staged_key(errors_key(record), fence), errors)
    await external.complete(record.id, fence, RowCounts(1, 1, 0, 1, 1))
    return str(made["id"])


async def test_an_infinite_result_of_an_earlier_release_is_a_problem_of_its_row(
    ask: Ask, store: Store
) -> None:
    output = b"return,far\r\n1,true\r\nInfinity,true\r\n-Infinity,\r\n2,false\r\n"
    errors = PROBLEMS + b"2,distance,INVALID_INPUT,far\r\n6,,FIELD_COUNT,two\r\n"
    id = await complete_elsewhere(ask, store, output, errors)
    shown = """query($id: ID!) { execution(id: $id) { state results { rows
      problems { row column code message } } } }"""
    told = (await ask(shown, {"id": id}, CARL)).value
    assert told["state"] == "SUCCESS"
    assert told["results"]["rows"] == [{"return": 1, "far": True}, {"return": 2, "far": False}]
    infinite = ("return", "NUMBER_OUT_OF_RANGE", "the result is no finite number")
    assert [tuple(one.values()) for one in told["results"]["problems"]] == [
        (2, "distance", "INVALID_INPUT", "far"),
        (3, *infinite),
        (4, *infinite),
        (6, None, "FIELD_COUNT", "two"),
    ]


async def test_a_row_of_the_output_is_explained_from_its_input_row(ask: Ask, store: Store) -> None:
    pipeline = await create_pipeline(ask)
    id = await create_uploaded_execution(ask, pipeline)
    told = await ask(EXPLAIN, {"id": id, "row": 1})
    assert (told.code, told.data) == ("ILLEGAL_STATE", {"execution": None})
    assert await store.execution_worker("w").run_all() == 1
    # The second row of the file is rejected, so the third is the second of the output.
    for row, number, trip, values in (
        (1, 1, {"distance": "12.5", "fuel": "gas"}, ["25", "true"]),
        (2, 3, {"distance": "3", "fuel": "wood"}, ["6", "false"]),
    ):
        found = (await ask(EXPLAIN, {"id": id, "row": row})).value["explanation"]
        assert (found["row"], found["input"]) == (number, trip)
        assert [(one["key"], one["formula"]) for one in found["outputs"]] == [
            ("return", ":distance * 2"),
            ("far", "REF('return') > 10"),
        ]
        shown = [one["explanation"]["value"]["text"] for one in found["outputs"]]
        assert shown == values
    for row in (0, 3):
        assert (await ask(EXPLAIN, {"id": id, "row": row})).code == "NOT_FOUND"
    assert (await ask(EXPLAIN, {"id": id, "row": 1}, STRANGER)).data == {"execution": None}


async def test_a_row_is_explained_only_to_those_who_see_what_its_formulas_call(ask: Ask) -> None:
    await ask.create_groups("/usa", "/usa/northwest", "/eu")
    formula = {"formula": ":x * 3", "outputs": [{"index": 0, "key": "y", "type": "NUMBER"}]}
    parameters = [{"index": 0, "key": "x", "type": "NUMBER"}]
    made = await ask.input(
        """mutation($input: CreateCalculationInput!) { createCalculation(input: $input) {
        ...on CreateCalculationPayload { calculation { id } } ...on UserError { message } } }""",
        group="/usa",
        name="secret",
        parameters=parameters,
        **formula,
    )
    assert "calculation" in made, made
    call = {**formula, "index": 0, "formula": "#secret(:x)"}
    transformer = {"parameters": parameters, "transforms": [call]}
    pipeline = await ask.make("/usa", "Calls", transformer=transformer)
    share = """mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) {
      __typename } }"""
    await ask.input(share, id=pipeline, group="/eu")
    run = await create_execution(ask, pipelineId=pipeline, mode="INLINE", rows=[{"x": 2}])
    seen = (await ask(EXPLAIN, {"id": run["id"], "row": 1}, ADA)).value["explanation"]
    assert seen["outputs"][0]["explanation"]["value"] == {"text": "6"}
    guest = as_caller("eve", "/eu=admin")
    assert (await ask(DETAILS, {"id": run["id"]}, guest)).value["state"] == "SUCCESS"
    told = await ask(EXPLAIN, {"id": run["id"], "row": 1}, guest)
    assert (told.code, told.data) == ("FORBIDDEN", {"execution": None})
