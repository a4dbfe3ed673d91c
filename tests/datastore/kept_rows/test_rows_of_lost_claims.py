"""Files of rows that a lost claim wrote go: no list names them, and they count for no quota."""

from contextlib import suppress
from functools import partial

import pytest

from penstock.datastore.errors import IllegalState
from penstock.datastore.executions.claims.claims import Claims
from penstock.datastore.executions.files import ingest_key, staged_rows_key
from penstock.datastore.executions.records import Execution
from penstock.datastore.kept_rows.part_keys import part_key, rows_folder
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from tests.datastore.executions.overtaken_calls import Call, overtake_each_call
from tests.datastore.executions.sample_executions import (
    ANN,
    begin_execution,
    current_execution,
    put_file,
)
from tests.datastore.executions.test_overtaken_calls import cancel, in_turn, retry, work
from tests.datastore.kept_rows.plants import plant_file
from tests.support.sample_resources import on_sqlite


async def start_execution(store: Store, pipeline: Pipeline, number: int) -> Execution:
    made = await begin_execution(store, pipeline)
    await put_file(store.files, ingest_key(made), plant_file([("north", number)]))
    return await store.open_session(ANN).executions.uploads.confirm(made.id)


async def stored_bytes(store: Store, made: Execution) -> int:
    keys = [key for key in await store.files.list("") if made.id in key]
    stats = [await store.files.stat(key) for key in keys]
    return sum(stat.size for stat in stats if stat is not None)


@on_sqlite
@pytest.mark.parametrize(
    "meanwhile", [cancel, in_turn(cancel, retry), in_turn(cancel, retry, work)]
)
async def test_rows_of_a_worker_that_was_overtaken_go(
    store: Store, pipeline: Pipeline, meanwhile: Call
) -> None:
    calls = 0
    prepare = partial(start_execution, store, pipeline)
    async for made in overtake_each_call(store, prepare, work, meanwhile):
        with suppress(IllegalState):
            await cancel(store, made)
        now = await current_execution(store, made)
        assert await stored_bytes(store, made) <= now.counted_bytes, (calls, now.state)
        calls += 1
    assert calls > 11


@on_sqlite
async def test_a_cancellation_removes_the_rows_of_its_claims_and_no_others(
    store: Store, pipeline: Pipeline
) -> None:
    await start_execution(store, pipeline, 1)
    assert await store.execution_worker("w").run_all() == 1
    kept = await store.files.list(rows_folder(pipeline.id))
    made = await start_execution(store, pipeline, 2)
    claimed = await Claims(store.table, store.clock, store.execution_rules).claim(made, "x")
    assert claimed is not None
    lost = [
        part_key(pipeline.id, f"{made.id}-1"),
        part_key(pipeline.id, f"{made.id}-1-7"),
        staged_rows_key(claimed, 0, "output"),
    ]
    newer = part_key(pipeline.id, f"{made.id}-12")
    for key in (*lost, newer):
        await put_file(store.files, key, b"rows")
    await store.open_session(ANN).executions.changing.cancel(made.id)
    assert {*await store.files.list(rows_folder(pipeline.id))} == {*kept, newer}
    assert [await store.files.stat(key) for key in lost] == [None] * 3
