"""Cancel and retry of executions."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace

import pytest

from penstock.datastore.errors import IllegalState, NotPermitted
from penstock.datastore.executions.files import ingest_key, input_key, output_key, staged_key
from penstock.datastore.records import Pipeline, State
from penstock.datastore.roles import Role
from penstock.datastore.store import Store
from penstock.datastore.table.port import Operation, Table
from penstock.transform.outcome import RowCounts
from tests.datastore.executions.sample_executions import (
    ANN,
    INPUT,
    NORA,
    begin_execution,
    current_execution,
    event_history,
    finished_execution,
    put_file,
    ready_execution,
    uploaded_execution,
)
from tests.datastore.executions.worker_death import (
    mortal_store,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import USA, caller, on_sqlite
from tests.support.table_interceptors import InterceptedTable, ProcessDied

pytestmark = on_sqlite


async def test_what_is_not_over_can_be_cancelled_and_that_twice(
    store: Store, pipeline: Pipeline
) -> None:
    changing = store.open_session(ANN).executions.changing
    made = await ready_execution(store, pipeline)
    cancelled = await changing.cancel(made.id)
    assert (cancelled.state, cancelled.finished_at) == ("cancelled", "2022-08-10T23:55:20.322Z")
    assert await changing.cancel(made.id) == cancelled
    assert (await event_history(store.open_session(ANN), made))[-1] == (
        "cancelled",
        "cancelled",
        "ann",
    )
    assert await store.execution_worker("w").run_all() == 0
    assert await faults(store.table) == []


async def test_what_ended_is_not_cancelled(store: Store, pipeline: Pipeline) -> None:
    over = await finished_execution(store, pipeline)
    before = await contents(store.table)
    with pytest.raises(IllegalState) as refused:
        await store.open_session(ANN).executions.changing.cancel(over.id)
    assert refused.value.state == "SUCCESS"
    assert await contents(store.table) == before


async def test_others_runs_are_for_who_contributes_to_the_owner(
    store: Store, pipeline: Pipeline
) -> None:
    anns, noras = (
        await begin_execution(store, pipeline),
        await begin_execution(store, pipeline, NORA),
    )
    nora = store.open_session(NORA).executions.changing
    with pytest.raises(NotPermitted):
        await nora.cancel(anns.id)
    assert (await current_execution(store, anns)).state == "waiting"
    assert (await nora.cancel(noras.id)).state == "cancelled"
    with pytest.raises(NotPermitted):
        await store.open_session(caller({USA: Role.READER}, "nora")).executions.changing.retry(
            noras.id
        )
    other = store.open_session(caller({USA: Role.CONTRIBUTOR}, "al")).executions.changing
    assert (await other.cancel(anns.id)).state == "cancelled"


async def test_what_failed_begins_anew_with_what_was_pinned(
    store: Store, pipeline: Pipeline
) -> None:
    failed = await finished_execution(store, pipeline, b"nonsense\n")
    assert (failed.state, failed.code) == ("failed", "UNKNOWN_COLUMN")
    session = store.open_session(ANN)
    again = await session.executions.changing.retry(failed.id)
    assert (again.state, again.code, again.counts, again.attempts) == (
        "waiting",
        None,
        RowCounts(),
        0,
    )
    assert again.fence == 1
    assert await store.execution_worker("w").run_all() == 1
    assert [event for event, _, _ in await event_history(session, failed)] == [
        "created",
        "uploaded",
        "claimed",
        "failed",
        "retried",
        "claimed",
        "failed",
    ]
    assert await faults(store.table) == []


async def test_what_was_cancelled_before_its_input_came_waits_for_it_again(
    store: Store, pipeline: Pipeline
) -> None:
    made = await begin_execution(store, pipeline)
    changing = store.open_session(ANN).executions.changing
    await changing.cancel(made.id)
    again = await changing.retry(made.id)
    assert again.upload_until == "2022-08-11T00:55:20.322Z"
    await put_file(store.files, ingest_key(again), INPUT)
    await store.confirm_uploads()
    assert await store.execution_worker("w").run_all() == 1
    assert (await current_execution(store, made)).state == "success"


@pytest.mark.parametrize("state", [State.FROZEN, State.DISABLED])
async def test_nothing_is_tried_again_of_a_pipeline_that_is_not_enabled(
    store: Store, pipeline: Pipeline, state: State
) -> None:
    made = await begin_execution(store, pipeline)
    session = store.open_session(ANN)
    await session.pipelines.writing.update(pipeline.id, 1, {"state": state})
    assert (await session.executions.changing.cancel(made.id)).state == "cancelled"
    before = await contents(store.table)
    with pytest.raises(IllegalState) as refused:
        await session.executions.changing.retry(made.id)
    assert refused.value.state == state.name
    assert await contents(store.table) == before


async def test_success_is_not_tried_again(store: Store, pipeline: Pipeline) -> None:
    over = await finished_execution(store, pipeline)
    with pytest.raises(IllegalState):
        await store.open_session(ANN).executions.changing.retry(over.id)


class OvertakenTable(InterceptedTable):
    """A table whose first write is followed by calls of somebody else, before it is answered."""

    def __init__(self, table: Table, overtake: Callable[[], Awaitable[None]]) -> None:
        super().__init__(table)
        self.overtake: Callable[[], Awaitable[None]] | None = overtake

    async def transact(self, operations: Sequence[Operation]) -> float:
        units = await self._table.transact(operations)
        if self.overtake is not None:
            overtake, self.overtake = self.overtake, None
            await overtake()
        return units


@pytest.mark.parametrize("starts", [False, True])
async def test_a_cancellation_takes_nothing_of_a_retry_that_overtook_it(
    store: Store, pipeline: Pipeline, starts: bool
) -> None:
    made = await uploaded_execution(store, pipeline)
    changing = store.open_session(ANN).executions.changing

    async def retry_and_upload() -> None:
        again = await changing.retry(made.id)
        await put_file(store.files, ingest_key(again), INPUT)
        if starts:
            await store.open_session(ANN).executions.uploads.confirm(made.id)

    slow = replace(store, table=OvertakenTable(store.table, retry_and_upload))
    await slow.open_session(ANN).executions.changing.cancel(made.id)
    again = await current_execution(store, made)
    assert again.state == "waiting"
    kept = input_key(again) if starts else ingest_key(again)
    assert await store.files.list(f"pipelines/{pipeline.id}/") == (kept,)
    ready = await store.open_session(ANN).executions.uploads.confirm(made.id)
    assert ready.bytes_total == len(INPUT)


async def test_a_cancellation_takes_nothing_of_a_claim_that_overtook_it(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready_execution(store, pipeline)
    session = store.open_session(ANN).executions
    await session.external.claim(made.id, "far")

    async def claim_and_upload() -> None:
        await session.changing.retry(made.id)
        await session.external.claim(made.id, "near")
        await put_file(store.files, staged_key(output_key(made), 2), b"x")

    slow = replace(store, table=OvertakenTable(store.table, claim_and_upload))
    await slow.open_session(ANN).executions.changing.cancel(made.id)
    assert (await current_execution(store, made)).fence == 2
    assert await store.files.stat(staged_key(output_key(made), 2)) is not None


async def test_wherever_a_cancellation_dies_nothing_stays_that_counts_no_more(
    store: Store, pipeline: Pipeline
) -> None:
    bad, deaths = b"distance,Fuel type\nfar,gas\n", 0
    for calls in range(40):
        awaited = await uploaded_execution(store, pipeline)
        failed = await finished_execution(store, pipeline, bad + b"far%d,gas\n" % calls)
        changing = store.open_session(ANN).executions.changing
        await changing.retry(failed.id)
        await store.open_session(ANN).executions.external.claim(failed.id, "far")
        died = 0
        for made in (awaited, failed):
            mortal = mortal_store(store, calls)
            with suppress(ProcessDied):
                await mortal.open_session(ANN).executions.changing.cancel(made.id)
                continue
            died += 1
            if (await current_execution(store, made)).state == "cancelled":
                kept = await store.files.list(f"pipelines/{pipeline.id}/1/executions/{made.id}/")
                assert [key for key in kept if "/input." not in key] == []
                assert await store.files.stat(ingest_key(made)) is None
        deaths += died
        if not died:
            break
    assert deaths >= 8
