"""Uploads of workers elsewhere go with their claims, wherever a process is killed."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta

import pytest
from msgspec import structs

from penstock.datastore.executions.claims.claims import Claims
from penstock.datastore.executions.files import (
    EARLIER_CLAIMS,
    errors_key,
    ingest_key,
    output_key,
    staged_key,
    staged_keys,
)
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.objects.chunks import single_chunk
from penstock.datastore.objects.directory import LocalFiles, UploadRefused
from penstock.datastore.objects.signed_links import SignedLink
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.transform.outcome import RowCounts
from tests.datastore.executions.sample_executions import (
    ANN,
    ERRORS,
    INPUT,
    OUTPUT,
    begin_execution,
    current_execution,
    ready_execution,
)
from tests.datastore.executions.worker_death import (
    mortal_store,
)
from tests.support.consistency_check import faults
from tests.support.sample_resources import Watch, on_sqlite
from tests.support.table_interceptors import ProcessDied

pytestmark = on_sqlite

MINUTES = timedelta(minutes=5)
COUNTS = RowCounts(3, 2, 1, 43, 121)
Call = Callable[[Store], Awaitable[object]]


async def die(store: Store, calls: int, call: Call) -> bool:
    """Make a call in a process that dies after so many writes; whether it died."""
    with suppress(ProcessDied):
        await call(mortal_store(store, calls))
        return False
    return True


def files_of(store: Store) -> LocalFiles:
    assert isinstance(store.files, LocalFiles)
    return store.files


async def upload(store: Store, key: str, data: bytes) -> None:
    """Send a file by the form of the key."""
    link = SignedLink("POST", key, "text/csv", None, 1000)
    await files_of(store).write_upload(link, single_chunk(data))


async def upload_claim(store: Store, made: Execution, fence: int) -> None:
    """Send both files of a claim by its forms."""
    await upload(store, staged_key(output_key(made), fence), OUTPUT)
    await upload(store, staged_key(errors_key(made), fence), ERRORS)


async def stored_uploads(store: Store, made: Execution) -> list[str]:
    """The names of the files that claims of the execution uploaded and that are there still."""
    found = [await store.files.list(f"{key}.") for key in (output_key(made), errors_key(made))]
    return [key.rpartition("/")[2] for keys in found for key in keys]


async def claimed_elsewhere(store: Store, pipeline: Pipeline, number: int) -> Execution:
    """Create an execution that a worker elsewhere claimed and uploaded both files of."""
    made = await ready_execution(store, pipeline, INPUT + b"%d,gas\n" % number)
    claimed = await store.open_session(ANN).executions.external.claim(made.id, "far")
    await upload_claim(store, made, 1)
    return claimed.execution


async def require_no_upload(store: Store, made: Execution, *fences: int) -> None:
    assert await stored_uploads(store, made) == []
    for fence in fences:
        with pytest.raises(UploadRefused):
            await upload_claim(store, made, fence)


@pytest.mark.parametrize("heir", ["server", "elsewhere"])
async def test_wherever_the_next_claim_is_killed_the_one_after_it_ends_all_uploads(
    store: Store, pipeline: Pipeline, watch: Watch, heir: str
) -> None:
    deaths = 0
    for calls in range(60):
        made = await claimed_elsewhere(store, pipeline, calls)
        watch.move(MINUTES)

        async def claim(at: Store, id: str = made.id) -> object:
            if heir == "server":
                return await at.execution_worker("w").run_all()
            return await at.open_session(ANN).executions.external.claim(id, "heir")

        died = await die(store, calls, claim)
        watch.move(MINUTES)
        if not died:
            break
        deaths += 1
        await store.execution_worker("last").run_all()
        after = await current_execution(store, made)
        assert (after.state, after.rows) == (ExecutionState.SUCCESS, 4)
        await require_no_upload(store, made, 1)
        assert await faults(store.table) == []
    assert deaths >= {"server": 17, "elsewhere": 5}[heir]


async def test_a_claim_after_a_retry_ends_what_a_killed_cancellation_left(
    store: Store, pipeline: Pipeline
) -> None:
    deaths, left = 0, 0
    for calls in range(20):
        made = await claimed_elsewhere(store, pipeline, calls)
        changing = store.open_session(ANN).executions.changing

        async def cancel(at: Store, id: str = made.id) -> object:
            return await at.open_session(ANN).executions.changing.cancel(id)

        if not await die(store, calls, cancel):
            break
        deaths += 1
        if (await current_execution(store, made)).state is ExecutionState.CANCELLED:
            # It refuses uploads before it is written.
            with pytest.raises(UploadRefused):
                await upload_claim(store, made, 1)
            left += len(await stored_uploads(store, made)) > 0
        else:
            await changing.cancel(made.id)
        await changing.retry(made.id)
        assert await store.execution_worker("w").run_all() == 1
        await require_no_upload(store, made, 1)
    assert deaths >= 7
    assert left >= 2


async def test_a_killed_cancellation_leaves_no_form_of_the_input(
    store: Store, pipeline: Pipeline
) -> None:
    states = set[ExecutionState]()
    for calls in range(10):
        made = await begin_execution(store, pipeline)

        async def cancel(at: Store, id: str = made.id) -> object:
            return await at.open_session(ANN).executions.changing.cancel(id)

        if not await die(store, calls, cancel):
            break
        state = (await current_execution(store, made)).state
        states.add(state)
        if state is ExecutionState.CANCELLED:
            with pytest.raises(UploadRefused):
                await upload(store, ingest_key(made), INPUT)
    assert states == {ExecutionState.WAITING, ExecutionState.CANCELLED}


async def test_a_completion_that_was_killed_removes_its_uploads_when_it_is_repeated(
    store: Store, pipeline: Pipeline
) -> None:
    left = 0
    for calls in range(20):
        made = await claimed_elsewhere(store, pipeline, calls)

        async def complete(at: Store, id: str = made.id) -> object:
            return await at.open_session(ANN).executions.external.complete(id, 1, COUNTS)

        if not await die(store, calls, complete):
            break
        if (await current_execution(store, made)).state is ExecutionState.SUCCESS:
            left += len(await stored_uploads(store, made)) > 0
        await complete(store)
        await require_no_upload(store, made, 1)
    assert left == 2


async def test_the_forms_of_a_claim_whose_server_died_end_with_a_removal(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    made = await claimed_elsewhere(store, pipeline, 0)
    # The claim of a server that died before it ended the uploads of the first.
    watch.move(MINUTES)
    claims = Claims(store.table, store.clock, store.execution_rules)
    assert await claims.claim(await current_execution(store, made), "dead") is not None
    await store.open_session(ANN).pipelines.deleting.delete(pipeline.id)
    watch.move(timedelta(hours=1))
    await store.finish_deletes()
    await require_no_upload(store, made, 1, 2)


async def test_a_claim_ends_those_of_so_many_before_it(store: Store, pipeline: Pipeline) -> None:
    made = replace_fence(await ready_execution(store, pipeline), 1000)
    assert len(staged_keys(made)) == 2 * (EARLIER_CLAIMS + 1)
    assert staged_keys(made)[-2:] == [
        staged_key(output_key(made), 1000),
        staged_key(errors_key(made), 1000),
    ]
    assert staged_keys(replace_fence(made, 0)) == []


def replace_fence(execution: Execution, fence: int) -> Execution:
    return structs.replace(execution, fence=fence)
