"""An execution that writes rows is started by a caller who may write them now, and by nothing else.

Roles are in the token of a caller. A file that comes is no caller: whoever uploaded it may have
lost their role since the execution was created.
"""

from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import NotPermitted
from penstock.datastore.executions.files import ingest_key
from penstock.datastore.executions.records import Execution
from penstock.datastore.executions.rows import key_of_execution
from penstock.datastore.records import Pipeline
from penstock.datastore.roles import Caller, Role
from penstock.datastore.store import Store
from penstock.datastore.table.port import Update
from tests.datastore.executions.sample_executions import (
    ANN,
    begin_execution,
    current_execution,
    put_file,
)
from tests.datastore.kept_rows.plants import plant_file, read_kwh
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import USA, Watch, caller

FORMER = caller({USA: Role.READER}, "ann")
BUCKET = caller({USA: Role.ADMIN}, "bucket")


async def upload_rows(store: Store, pipeline: Pipeline, *, is_early: bool = False) -> Execution:
    """Begin an execution of Ann's and upload its input; of an early release, its key has no id."""
    # The keys of an early release are found by the time in the id.
    made = await begin_execution(replace(store, clock=Clock()) if is_early else store, pipeline)
    if is_early:
        key = key_of_execution(made.id)
        await store.table.transact([Update(key=key, set={"ingest": made.created_at})])
        made = await current_execution(store, made)
    await put_file(store.files, ingest_key(made), plant_file([("north", 5)]))
    return made


async def tell(store: Store, who: Caller, made: Execution) -> Execution | None:
    """Tell of the upload, as an event does."""
    return await store.open_session(who).executions.uploads.confirm_key(ingest_key(made))


@pytest.mark.parametrize("who", [BUCKET, FORMER], ids=["another", "without the role"])
@pytest.mark.parametrize("is_early", [False, True], ids=["by its id", "by its time"])
async def test_an_event_starts_no_execution_that_writes_rows_for_others(
    store: Store, pipeline: Pipeline, who: Caller, is_early: bool
) -> None:
    made = await upload_rows(store, pipeline, is_early=is_early)
    before = await contents(store.table)
    with pytest.raises(NotPermitted):
        await tell(store, who, made)
    assert await contents(store.table) == before


async def test_the_creator_may_tell_of_their_own_upload(store: Store, pipeline: Pipeline) -> None:
    made = await upload_rows(store, pipeline)
    told = await tell(store, ANN, made)
    assert told is not None
    assert told.ready_at is not None


async def test_the_search_for_uploads_leaves_those_that_write_rows_to_callers(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    made, started = await upload_rows(store, pipeline), await upload_rows(store, pipeline)
    before = await contents(store.table)
    assert await store.confirm_uploads() == 0
    assert await contents(store.table) == before
    await store.open_session(ANN).executions.uploads.confirm(started.id)
    watch.move(timedelta(hours=1, minutes=11))
    assert await store.confirm_uploads() == 0
    after = await current_execution(store, made)
    assert (after.state, after.code) == ("failed", "NOT_STARTED")
    assert await store.files.stat(ingest_key(made)) is None, "its retry has another form"
    assert (await current_execution(store, started)).state == "waiting"
    assert await read_kwh(store, pipeline) == {}
    assert await faults(store.table) == []
