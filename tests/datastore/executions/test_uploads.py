"""Uploads of inputs: the form, the upload, and three ways to notice it."""

from datetime import timedelta

import pytest

from penstock.datastore.errors import IllegalState, NotPermitted
from penstock.datastore.executions.files import ingest_key
from penstock.datastore.records import Pipeline, State
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import (
    ANN,
    INPUT,
    REED,
    begin_execution,
    current_execution,
    event_history,
    put_file,
    ready_execution,
    uploaded_execution,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import Watch, on_sqlite

pytestmark = on_sqlite


async def test_the_form_is_for_who_may_run_and_expires_with_the_time_to_upload(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    made = await begin_execution(store, pipeline)
    form = await store.open_session(ANN).executions.uploads.form(made.id)
    assert form is not None
    assert dict(form.fields)["key"] == ingest_key(made)
    with pytest.raises(NotPermitted):
        await store.open_session(REED).executions.uploads.form(made.id)
    watch.move(timedelta(hours=1))
    assert await store.open_session(ANN).executions.uploads.form(made.id) is None


async def test_confirming_makes_it_ready_once(store: Store, pipeline: Pipeline) -> None:
    made = await begin_execution(store, pipeline)
    uploads = store.open_session(ANN).executions.uploads
    before = await contents(store.table)
    with pytest.raises(IllegalState, match="Nothing was uploaded") as refused:
        await uploads.confirm(made.id)
    assert refused.value.state == "WAITING"
    assert await contents(store.table) == before
    await put_file(store.files, ingest_key(made), INPUT)
    confirmed = await uploads.confirm(made.id)
    assert (confirmed.ready_at, confirmed.bytes_total) == ("2022-08-10T23:55:20.322Z", len(INPUT))
    assert await uploads.confirm(made.id) == confirmed
    assert await uploads.form(made.id) is None
    assert await event_history(store.open_session(ANN), made) == [
        ("created", "waiting", "ann"),
        ("uploaded", "waiting", "ann"),
    ]
    assert await faults(store.table) == []


async def test_only_who_may_run_confirms(store: Store, pipeline: Pipeline) -> None:
    made = await uploaded_execution(store, pipeline)
    with pytest.raises(NotPermitted):
        await store.open_session(REED).executions.uploads.confirm(made.id)
    assert (await current_execution(store, made)).ready_at is None


async def test_nothing_is_confirmed_for_what_was_cancelled(
    store: Store, pipeline: Pipeline
) -> None:
    made = await uploaded_execution(store, pipeline)
    await store.open_session(ANN).executions.changing.cancel(made.id)
    with pytest.raises(IllegalState, match="cancelled"):
        await store.open_session(ANN).executions.uploads.confirm(made.id)


async def test_an_upload_that_nobody_confirms_is_found(store: Store, pipeline: Pipeline) -> None:
    found, waits = await begin_execution(store, pipeline), await begin_execution(store, pipeline)
    await put_file(store.files, ingest_key(found), INPUT)
    assert await store.confirm_uploads() == 1
    assert await store.confirm_uploads() == 0
    assert (await event_history(store.open_session(ANN), found))[-1] == (
        "uploaded",
        "waiting",
        "penstock",
    )
    assert (await current_execution(store, waits)).ready_at is None
    assert await faults(store.table) == []


async def test_who_never_uploads_ends_in_failure(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    made = await begin_execution(store, pipeline)
    watch.move(timedelta(hours=1, minutes=9))
    await store.confirm_uploads()
    assert (await current_execution(store, made)).state == "waiting"
    watch.move(timedelta(minutes=2))
    await store.confirm_uploads()
    after = await current_execution(store, made)
    assert (after.state, after.code) == ("failed", "NO_INPUT")
    assert await faults(store.table) == []


async def test_an_upload_that_came_late_still_counts(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    made = await begin_execution(store, pipeline)
    watch.move(timedelta(hours=5))
    await put_file(store.files, ingest_key(made), INPUT)
    assert await store.confirm_uploads() == 1


@pytest.mark.parametrize("state", [State.FROZEN, State.DISABLED])
async def test_an_execution_without_input_begins_only_while_its_pipeline_is_enabled(
    store: Store, pipeline: Pipeline, state: State
) -> None:
    made = await uploaded_execution(store, pipeline)
    pipelines = store.open_session(ANN).pipelines.writing
    await pipelines.update(pipeline.id, 1, {"state": state})
    before = await contents(store.table)
    uploads = store.open_session(ANN).executions.uploads
    words = rf"The pipeline is {state.value}: no execution can begin\."
    with pytest.raises(IllegalState, match=words):
        await uploads.confirm(made.id)
    with pytest.raises(IllegalState, match=words):
        await uploads.confirm_key(ingest_key(made))
    assert await store.confirm_uploads() == 0
    assert await contents(store.table) == before
    await pipelines.update(pipeline.id, 2, {"state": State.ENABLED})
    assert await store.confirm_uploads() == 1


async def test_what_was_uploaded_runs_although_its_pipeline_is_frozen(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready_execution(store, pipeline)
    await store.open_session(ANN).pipelines.writing.update(pipeline.id, 1, {"state": State.FROZEN})
    assert await store.execution_worker("w").run_all() == 1
    assert (await current_execution(store, made)).state == "success"
