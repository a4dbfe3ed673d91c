"""The creator of an execution and the owner group upload and start its input, nobody else."""

import pytest

from penstock.datastore.errors import NotFound, NotPermitted
from penstock.datastore.executions.files import ingest_key
from penstock.datastore.roles import Caller, Role
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.layout import PIPELINE
from tests.datastore.executions.sample_executions import (
    ANN,
    INPUT,
    begin_execution,
    current_execution,
    plant_pipeline,
    put_file,
)
from tests.support.consistency_check import contents
from tests.support.sample_resources import EU, NORTHWEST, SUPER, USA, caller

GUEST = caller({EU: Role.CONTRIBUTOR}, "guest")
BELOW = caller({NORTHWEST: Role.CONTRIBUTOR}, "below")
OWNER = caller({USA: Role.CONTRIBUTOR}, "owner")


@pytest.mark.parametrize("stranger", [GUEST, BELOW])
async def test_who_may_run_a_pipeline_uploads_nothing_for_others(
    store: Store, stranger: Caller
) -> None:
    pipeline = await plant_pipeline(store)
    await store.open_session(SUPER).repository(PIPELINE).writing.grant(pipeline.id, EU)
    execution = await begin_execution(store, pipeline, ANN)
    await put_file(store.files, ingest_key(execution), INPUT)
    before = await contents(store.table)
    uploads = store.open_session(stranger).executions.uploads
    with pytest.raises(NotPermitted):
        await uploads.form(execution.id)
    with pytest.raises(NotPermitted):
        await uploads.confirm(execution.id)
    assert await contents(store.table) == before
    assert (await current_execution(store, execution)).ready_at is None


@pytest.mark.parametrize("other", [ANN, OWNER])
async def test_the_creator_and_the_owner_group_upload_and_start(
    store: Store, other: Caller
) -> None:
    pipeline = await plant_pipeline(store)
    execution = await begin_execution(store, pipeline, ANN)
    uploads = store.open_session(other).executions.uploads
    assert await uploads.form(execution.id) is not None
    await put_file(store.files, ingest_key(execution), INPUT)
    assert (await uploads.confirm(execution.id)).ready_at is not None


async def test_a_guest_uploads_and_starts_what_the_guest_created(store: Store) -> None:
    pipeline = await plant_pipeline(store)
    await store.open_session(SUPER).repository(PIPELINE).writing.grant(pipeline.id, EU)
    execution = await begin_execution(store, pipeline, GUEST)
    uploads = store.open_session(GUEST).executions.uploads
    assert await uploads.form(execution.id) is not None
    await put_file(store.files, ingest_key(execution), INPUT)
    assert (await uploads.confirm(execution.id)).ready_at is not None


async def test_a_hidden_execution_costs_as_much_as_one_that_is_not_there(store: Store) -> None:
    pipeline = await plant_pipeline(store)
    execution = await begin_execution(store, pipeline, ANN)
    costs = []
    for id in (execution.id, store.clock.new_id()):
        metered = MeteredTable(store.table)
        session = Store(metered, store.clock, files=store.files).open_session(GUEST)
        with pytest.raises(NotFound):
            await session.executions.reading.one(id)
        costs.append(metered.units.rcu)
    assert costs[0] == costs[1] == 2
