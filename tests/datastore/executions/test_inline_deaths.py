"""Rows of a request whose server dies: they run once, or nothing ran and a call again runs them."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.errors import IllegalState
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.files import input_key, output_key
from penstock.datastore.executions.lists.listing import ExecutionFilter
from penstock.datastore.executions.records import Execution
from penstock.datastore.records import Pipeline, State
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.executions.sample_executions import (
    ANN,
    current_execution,
    event_history,
    read_content,
)
from tests.datastore.executions.worker_death import MortalFiles, MortalTable, WriteAllowance
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import SUPER, Watch, on_sqlite
from tests.support.table_interceptors import ProcessDied

ROWS = [{"distance": 4, "fuel": "gas"}]
OUTPUT = b"return,co2\r\n8,2\r\n"
CREATED, STORED = 3, 5
"""The writes until a pipeline's first execution is created, and until its rows are stored."""


async def run(store: Store, pipeline: Pipeline, key: str) -> Execution:
    wanted = ExecutionRequest(pipeline_id=pipeline.id)
    return await store.open_session(ANN).executions.inline.run(wanted, ROWS, key)


async def die_after(store: Store, pipeline: Pipeline, writes: int, key: str) -> None:
    life = WriteAllowance(writes)
    table, files = MortalTable(store.table, life), MortalFiles(store.files, life)
    with suppress(ProcessDied):
        await run(replace(store, table=table, files=files), pipeline, key)


async def only_execution(store: Store, pipeline: Pipeline) -> Execution:
    listing = store.open_session(ANN).executions.listing
    page = await listing.page(pipeline, ExecutionFilter(), Window(size=2))
    ((_, found),) = page.entries
    return found


async def kinds_of(store: Store, execution: Execution) -> list[tuple[str, str]]:
    events = await event_history(store.open_session(ANN), execution)
    return [(str(kind), by) for kind, _, by in events]


async def test_stored_rows_of_a_dead_server_are_run_by_a_worker(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    await die_after(store, pipeline, STORED, "key")
    made = await only_execution(store, pipeline)
    assert (made.state, made.ready_at) == ("waiting", None)
    watch.move(timedelta(minutes=9))
    assert await store.confirm_uploads() == 0
    watch.move(timedelta(minutes=2))
    assert await store.confirm_uploads() == 1
    assert await store.confirm_uploads() == 0
    assert await store.execution_worker("heir").run_all() == 1
    over = await current_execution(store, made)
    assert (over.state, over.counts.succeeded, over.started_by) == ("success", 1, "ann")
    assert await read_content(store.files, output_key(over)) == OUTPUT
    assert await run(store, pipeline, "key") == over
    assert await faults(store.table) == []


async def test_an_execution_whose_rows_were_lost_says_so_and_runs_when_it_is_created_again(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    await die_after(store, pipeline, CREATED, "key")
    watch.move(timedelta(minutes=11))
    assert await store.confirm_uploads() == 0
    lost = await only_execution(store, pipeline)
    assert (lost.state, lost.code, lost.rows) == ("failed", "ROWS_NOT_STORED", 0)
    assert "Create it again" in (lost.message or "")
    assert await read_content(store.files, input_key(lost)) is None
    again = await run(store, pipeline, "key")
    assert (again.id, again.state, again.code) == (lost.id, "success", None)
    assert await read_content(store.files, output_key(again)) == OUTPUT
    assert await run(store, pipeline, "key") == again
    assert await only_execution(store, pipeline) == again
    assert [kind for kind, _ in await kinds_of(store, again)] == [
        "created",
        "failed",
        "retried",
        "claimed",
        "succeeded",
    ]
    assert await faults(store.table) == []


@on_sqlite
async def test_a_sweep_leaves_time_to_a_call_that_begins_lost_rows_again(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    await die_after(store, pipeline, CREATED, "key")
    watch.move(timedelta(minutes=11))
    await store.confirm_uploads()
    lost = await only_execution(store, pipeline)
    again = await store.open_session(ANN).executions.changing.retry(lost.id)
    assert (again.state, again.ready_at) == ("waiting", None)
    await store.confirm_uploads()
    assert (await current_execution(store, lost)).state == "waiting"
    watch.move(timedelta(minutes=11))
    await store.confirm_uploads()
    assert (await current_execution(store, lost)).code == "ROWS_NOT_STORED"
    assert await faults(store.table) == []


@on_sqlite
async def test_two_calls_again_run_the_rows_once(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    await die_after(store, pipeline, CREATED, "key")
    watch.move(timedelta(minutes=11))
    await store.confirm_uploads()
    await asyncio.gather(*(run(store, pipeline, "key") for _ in range(3)))
    over = await only_execution(store, pipeline)
    assert (over.state, over.fence) == ("success", 1)
    kinds = [kind for kind, _ in await kinds_of(store, over)]
    assert kinds.count("retried") == kinds.count("claimed") == 1


@on_sqlite
async def test_a_disabled_pipeline_runs_no_lost_rows(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    await die_after(store, pipeline, CREATED, "key")
    watch.move(timedelta(minutes=11))
    await store.confirm_uploads()
    await store.open_session(SUPER).pipelines.writing.update(
        pipeline.id, 1, {"state": State.DISABLED}
    )
    before = await contents(store.table)
    with pytest.raises(IllegalState):
        await run(store, pipeline, "key")
    assert await contents(store.table) == before


@on_sqlite
async def test_wherever_the_server_dies_the_rows_run_once_when_the_call_is_repeated(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    codes: list[str | None] = []
    for writes in range(12):
        key = f"key {writes}"
        await die_after(store, pipeline, writes, key)
        watch.move(timedelta(minutes=11))
        await store.confirm_uploads()
        await store.execution_worker("heir").run_all()
        listing = store.open_session(ANN).executions.listing
        page = await listing.page(pipeline, ExecutionFilter(), Window(size=100))
        codes += [one.code for _, one in page.entries if one.state != "success"]
        over = await run(store, pipeline, key)
        assert (over.state, over.counts.succeeded) == ("success", 1)
        assert await read_content(store.files, output_key(over)) == OUTPUT
        page = await listing.page(pipeline, ExecutionFilter(), Window(size=100))
        assert [one.state.value for _, one in page.entries] == ["success"] * (writes + 1)
        assert await faults(store.table) == []
    assert {*codes} == {"ROWS_NOT_STORED"}
