"""An execution waits for an upload only with a place, whoever comes between."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.access.open_uploads import UploadLimits
from penstock.datastore.errors import QuotaExceeded
from penstock.datastore.executions.lists.listing import ExecutionFilter
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.executions.sample_executions import ANN, begin_execution
from tests.support.sample_resources import USA, Watch
from tests.support.table_interceptors import PausedTable

LONG = timedelta(minutes=2)
"""A pause after which nobody waits for a row any more that is about to come."""


async def create(store: Store, pipeline: Pipeline, _: Execution) -> None:
    await begin_execution(store, pipeline)


async def retry(store: Store, _: Pipeline, cancelled: Execution) -> None:
    await store.open_session(ANN).executions.changing.retry(cancelled.id)


async def cancelled_execution(store: Store, pipeline: Pipeline) -> Execution:
    made = await begin_execution(store, pipeline)
    return await store.open_session(ANN).executions.changing.cancel(made.id)


async def waiting_executions(store: Store, pipeline: Pipeline) -> list[Execution]:
    listing = store.open_session(ANN).executions.listing
    page = await listing.page(pipeline, ExecutionFilter(), Window(size=100))
    return [one for _, one in page.entries if one.state is ExecutionState.WAITING]


async def places_of(store: Store) -> tuple[int, int]:
    uploads = store.open_session(ANN).executions.access.open_uploads
    return await uploads.count(), await uploads.count(USA)


@pytest.mark.parametrize("act", [create, retry])
async def test_of_two_with_one_place_left_one_opens_an_upload_wherever_the_other_pauses(
    store: Store,
    pipeline: Pipeline,
    watch: Watch,
    act: Callable[[Store, Pipeline, Execution], Awaitable[None]],
) -> None:
    store = replace(store, upload_limits=UploadLimits(1, 1))
    changing = store.open_session(ANN).executions.changing
    for calls in range(100):
        mine, other = [await cancelled_execution(store, pipeline) for _ in range(2)]

        async def come_between(cancelled: Execution = other) -> None:
            watch.move(LONG)
            with suppress(QuotaExceeded):
                await act(store, pipeline, cancelled)

        paused = PausedTable(store.table, come_between, calls=calls)
        with suppress(QuotaExceeded):
            await act(replace(store, table=paused), pipeline, mine)
        waiting = await waiting_executions(store, pipeline)
        assert len(waiting) == 1, f"paused behind {calls} calls"
        assert await places_of(store) == (1, 1)
        await changing.cancel(waiting[0].id)
        if paused.left >= 0:
            return
    raise AssertionError("The call does not end.")
