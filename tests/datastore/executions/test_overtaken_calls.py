"""Calls about an execution overtake each other, and no more is stored of it than counts.

Each call is overtaken by each of the others, before each of its calls of the table and the files.
"""

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
)
from contextlib import suppress

import pytest
from msgspec import structs

from penstock.datastore.errors import IllegalState
from penstock.datastore.executions.files import (
    errors_key,
    ingest_key,
    output_key,
    staged_key,
)
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.executions.upload_places import awaits_upload
from penstock.datastore.objects.directory import LocalFiles, UploadRefused
from penstock.datastore.objects.signed_links import SignedLink
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.transform.outcome import RowCounts
from tests.datastore.executions.overtaken_calls import Call, OvertakenFiles, overtake_each_call
from tests.datastore.executions.sample_executions import (
    ANN,
    ERRORS,
    INPUT,
    begin_execution,
    current_execution,
    finished_execution,
)
from tests.support.consistency_check import faults
from tests.support.sample_resources import on_sqlite


async def start(store: Store, made: Execution) -> None:
    await store.open_session(ANN).executions.uploads.confirm(made.id)


async def cancel(store: Store, made: Execution) -> None:
    await store.open_session(ANN).executions.changing.cancel(made.id)


async def retry(store: Store, made: Execution) -> None:
    await store.open_session(ANN).executions.changing.retry(made.id)


async def upload(store: Store, made: Execution) -> None:
    await send(store, ingest_key(await current_execution(store, made)), INPUT)


async def claim(store: Store, made: Execution) -> None:
    claimed = (await store.open_session(ANN).executions.external.claim(made.id, "far")).execution
    for key_of in (output_key, errors_key):
        await send(store, staged_key(key_of(claimed), claimed.fence), ERRORS)


async def send(store: Store, key: str, content: bytes) -> None:
    """Send a file with its form, if that is still open."""
    files = store.files.files if isinstance(store.files, OvertakenFiles) else store.files
    assert isinstance(files, LocalFiles)

    async def pieces() -> AsyncIterator[bytes]:
        yield content

    with suppress(UploadRefused):
        await files.write_upload(SignedLink("POST", key, "text/csv", None, 1000), pieces())


async def complete(store: Store, made: Execution) -> None:
    fence = (await current_execution(store, made)).fence
    external = store.open_session(ANN).executions.external
    await external.complete(made.id, fence, RowCounts(1, 1, 0, 1, 1))


async def fail(store: Store, made: Execution) -> None:
    fence = (await current_execution(store, made)).fence
    await store.open_session(ANN).executions.external.fail(made.id, fence, "WORKER_FAILED", "no")


async def work(store: Store, made: Execution) -> None:
    await store.execution_worker("w").run_all()


def in_turn(*calls: Call) -> Call:
    async def call_all(store: Store, made: Execution) -> None:
        for call in calls:
            await call(store, made)

    return call_all


async def make_awaited(store: Store, pipeline: Pipeline) -> Execution:
    made = await begin_execution(store, pipeline)
    await upload(store, made)
    return made


async def make_failed(store: Store, pipeline: Pipeline) -> Execution:
    return await finished_execution(store, pipeline, b"distance,Fuel type\nfar,gas\n")


async def make_tried_again(store: Store, pipeline: Pipeline) -> Execution:
    made = await make_failed(store, pipeline)
    await retry(store, made)
    return made


async def make_claimed_again(store: Store, pipeline: Pipeline) -> Execution:
    made = await make_tried_again(store, pipeline)
    await claim(store, made)
    return made


CALLS: Mapping[str, tuple[Callable[[Store, Pipeline], Awaitable[Execution]], Call]] = {
    "start": (make_awaited, start),
    "cancel what is awaited": (make_awaited, cancel),
    "cancel what is claimed again": (make_claimed_again, cancel),
    "retry": (make_failed, retry),
    "claim again": (make_tried_again, claim),
    "complete": (make_claimed_again, complete),
    "fail": (make_claimed_again, fail),
    "work": (make_tried_again, work),
}
MEANWHILE: Mapping[str, Call] = {
    "cancel": cancel,
    "cancel, retry, upload and start": in_turn(cancel, retry, upload, start),
    "cancel, retry and claim": in_turn(cancel, retry, claim),
    "fail and retry": in_turn(fail, retry),
    "work": work,
}


async def require_counted(store: Store, made: Execution) -> None:
    """Require that no more is stored of the execution than counts, or holds a place."""
    now = await current_execution(store, made)
    listed = await store.files.list(f"pipelines/{made.pipeline_id}/")
    keys = {key for key in listed if made.id in key}
    if awaits_upload(now):
        keys.discard(ingest_key(now))
    if now.state is ExecutionState.IN_PROGRESS:
        plain = structs.replace(now, placed=None)
        keys -= {staged_key(key_of(plain), now.fence) for key_of in (output_key, errors_key)}
    sizes = {key.rpartition("/")[2]: (await store.files.stat(key)) for key in keys}
    stored = {name: stat.size for name, stat in sizes.items() if stat is not None}
    assert sum(stored.values()) <= now.counted_bytes, (now.state, now.fence, stored)


@on_sqlite
@pytest.mark.thorough
@pytest.mark.parametrize("meanwhile", MEANWHILE)
@pytest.mark.parametrize("call", CALLS)
async def test_no_more_is_stored_than_counts(
    store: Store, pipeline: Pipeline, call: str, meanwhile: str
) -> None:
    prepare, overtaken = CALLS[call]

    def make(_: int) -> Awaitable[Execution]:
        return prepare(store, pipeline)

    async for made in overtake_each_call(store, make, overtaken, MEANWHILE[meanwhile]):
        await require_counted(store, made)
        with suppress(IllegalState):
            await cancel(store, made)
        await require_counted(store, made)
    assert await faults(store.table) == []
