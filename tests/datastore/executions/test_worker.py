"""The execution worker: outputs, and the handling of failures."""

from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.errors import Invalid, LimitExceeded
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.files import errors_key, ingest_key, input_key, output_key
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.transform.outcome import RowCounts
from tests.datastore.executions.sample_executions import (
    ANN,
    ERRORS,
    INPUT,
    OUTPUT,
    copied_message,
    current_execution,
    event_history,
    finished_execution,
    put_file,
    read_content,
    ready_execution,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import on_sqlite

MINUTES = timedelta(minutes=5)


async def test_output_and_rejected_rows_are_there_and_the_input_is_kept(
    store: Store, pipeline: Pipeline
) -> None:
    over = await finished_execution(store, pipeline)
    assert (over.state, over.counts) == (
        "success",
        RowCounts(3, 2, 1, len(INPUT), len(OUTPUT) + len(ERRORS)),
    )
    assert (over.worker, over.held_until, over.code) == (None, None, None)
    assert await read_content(store.files, output_key(over)) == OUTPUT
    assert await read_content(store.files, errors_key(over)) == ERRORS
    assert await read_content(store.files, input_key(over)) == INPUT
    assert await faults(store.table) == []


@on_sqlite
async def test_results_larger_than_an_upload_may_be_are_not_published(
    store: Store, pipeline: Pipeline
) -> None:
    most = len(OUTPUT) + len(ERRORS)
    roomy = replace(store, execution_rules=replace(store.execution_rules, max_bytes=most))
    assert (await finished_execution(roomy, pipeline)).state == "success"
    other = INPUT.replace(b"\n", b"\r\n")
    narrow = replace(roomy, execution_rules=replace(roomy.execution_rules, max_bytes=most - 1))
    over = await finished_execution(narrow, pipeline, other)
    assert (over.state, over.code) == ("failed", "OUTPUT_TOO_LARGE")
    assert await read_content(store.files, output_key(over)) is None
    assert await faults(store.table) == []


@on_sqlite
async def test_what_is_uploaded_later_does_not_reach_a_run(
    store: Store, pipeline: Pipeline
) -> None:
    failed = await finished_execution(store, pipeline, b"nonsense\n")
    await put_file(store.files, ingest_key(failed), INPUT)
    await store.open_session(ANN).executions.changing.retry(failed.id)
    await store.execution_worker("w").run_all()
    assert (await current_execution(store, failed)).state == "failed"


@on_sqlite
@pytest.mark.parametrize(
    ("data", "more", "code", "message"),
    [
        (b"", {}, "EMPTY_INPUT", "the file is empty"),
        (b"fuel\ngas\n", {}, "MISSING_COLUMN", "the header lacks 'distance'; it has 'fuel'"),
        (b"distance,fuel\nx,gas\n", {}, "ALL_ROWS_FAILED", "No row could be used."),
        (
            INPUT,
            {"max_failed_rows": 0},
            "TOO_MANY_FAILED_ROWS",
            "Row 2: more than 0 rows failed; those below were not looked at",
        ),
    ],
    ids=["empty", "header", "no good row", "threshold"],
)
async def test_a_run_fails_only_when_nothing_could_be_done_or_too_much_failed(
    store: Store, pipeline: Pipeline, data: bytes, more: dict[str, int], code: str, message: str
) -> None:
    failed = await finished_execution(store, pipeline, data, **more)
    assert (failed.state, failed.code, failed.message) == ("failed", code, message)
    assert await read_content(store.files, output_key(failed)) is None
    errors = await read_content(store.files, errors_key(failed))
    assert errors is not None
    assert errors.startswith(b"row,column,code,message")
    assert await faults(store.table) == []


ROWS: list[dict[str, object]] = [
    {"distance": 12.5, "fuel": "gas"},
    {"distance": "far"},
    {"distance": 3},
]


@on_sqlite
async def test_rows_of_a_request_are_run_at_once_and_like_files(
    store: Store, pipeline: Pipeline
) -> None:
    inline = store.open_session(ANN).executions.inline
    wanted = ExecutionRequest(pipeline_id=pipeline.id)
    made = await inline.run(wanted, ROWS, "key")
    assert (made.state, made.counts.succeeded, made.counts.failed) == ("success", 2, 1)
    assert await read_content(store.files, output_key(made)) == OUTPUT
    assert await inline.run(wanted, ROWS, "key") == made
    with pytest.raises(Invalid):
        await inline.run(wanted, ROWS[:1], "key")
    assert [event for event, _, _ in await event_history(store.open_session(ANN), made)] == [
        "created",
        "claimed",
        "succeeded",
    ]
    assert await faults(store.table) == []


@on_sqlite
async def test_a_request_has_only_so_many_rows(store: Store, pipeline: Pipeline) -> None:
    inline = store.open_session(ANN).executions.inline
    wanted = ExecutionRequest(pipeline_id=pipeline.id)
    before = await contents(store.table)
    with pytest.raises(LimitExceeded, match="1001 is more than the maximum of 1000"):
        await inline.run(wanted, [{"distance": 1}] * 1001)
    with pytest.raises(LimitExceeded, match="bytes of the rows"):
        await inline.run(wanted, [{"fuel": "x" * 4_200_000}])
    assert await contents(store.table) == before
    assert (await inline.run(wanted, [{"distance": 1}] * 1000)).counts.succeeded == 1000


@on_sqlite
async def test_the_same_work_is_not_done_twice(store: Store, pipeline: Pipeline) -> None:
    first, second = (
        await finished_execution(store, pipeline),
        await finished_execution(store, pipeline),
    )
    assert (second.state, second.message) == ("success", copied_message(first.id))
    assert second.counts == first.counts
    assert second.digest == first.digest
    assert await read_content(store.files, output_key(second)) == OUTPUT
    assert await read_content(store.files, errors_key(second)) == ERRORS
    other = await finished_execution(store, pipeline, INPUT + b"1,gas\n")
    assert (other.message, other.counts.rows) == (None, 4)
    bounded = await finished_execution(store, pipeline, max_failed_rows=5)
    assert bounded.message is None


@on_sqlite
async def test_work_is_done_again_where_its_files_are_gone(
    store: Store, pipeline: Pipeline
) -> None:
    first = await finished_execution(store, pipeline)
    await store.files.delete(output_key(first))
    second = await finished_execution(store, pipeline)
    assert (second.state, second.message) == ("success", None)
    assert await read_content(store.files, output_key(second)) == OUTPUT


@on_sqlite
async def test_an_input_that_is_gone_is_told(store: Store, pipeline: Pipeline) -> None:
    made = await ready_execution(store, pipeline)
    await store.files.delete(input_key(made))
    await store.execution_worker("w").run_all()
    after = await current_execution(store, made)
    assert (after.state, after.code) == ("failed", "INPUT_GONE")
