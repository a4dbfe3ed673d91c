"""Results of claims: they count for quotas until the next end removes them."""

from collections.abc import AsyncIterable, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.errors import IllegalState, NotFound
from penstock.datastore.executions.claims.claims import Claims
from penstock.datastore.executions.files import (
    errors_key,
    output_key,
    place_own_files,
    placed_keys,
    staged_key,
)
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.objects.port import Files
from penstock.datastore.quotas.usage import sum_user
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.transform.outcome import RowCounts
from tests.datastore.executions.sample_executions import (
    ANN,
    ERRORS,
    current_execution,
    finished_execution,
    put_file,
    ready_execution,
)
from tests.datastore.executions.worker_death import ForwardingFiles
from tests.support.consistency_check import faults
from tests.support.sample_resources import Watch, on_sqlite

BAD = b"distance,Fuel type\nfar,gas\n"
WIDE = BAD.decode().encode("utf-16")
MINUTES = timedelta(minutes=5)


async def names_and_bytes(store: Store, execution: Execution) -> tuple[list[str], int]:
    """The names of the files in the folder of an execution, and the sum of their sizes."""
    folder = f"pipelines/{execution.pipeline_id}/1/executions/{execution.id}/"
    keys = sorted(await store.files.list(folder))
    stats = [await store.files.stat(key) for key in keys]
    return [key.removeprefix(folder) for key in keys], sum(stat.size for stat in stats if stat)


async def require_counted(store: Store, execution: Execution, *names: str) -> None:
    """Require that these files of the only execution are stored, and count."""
    found, size = await names_and_bytes(store, execution)
    assert [name for name in found if not name.startswith("input.")] == list(names)
    assert (await sum_user(store.table, "ann")).bytes == size
    assert await faults(store.table) == []


async def retry(store: Store, execution: Execution) -> None:
    await store.open_session(ANN).executions.changing.retry(execution.id)


@pytest.mark.parametrize(
    ("data", "kinds"), [(BAD, ["errors{}.csv"]), (WIDE, ["errors{}.csv", "table{}.csv"])]
)
async def test_each_end_leaves_its_own_files_alone(
    store: Store, pipeline: Pipeline, data: bytes, kinds: list[str]
) -> None:
    over = await finished_execution(store, pipeline, data)
    for part in (".2", ".3", ".4"):
        await retry(store, over)
        assert await store.execution_worker("w").run_all() == 1
        over = await current_execution(store, over)
        assert (over.state, over.code) == (ExecutionState.FAILED, "ALL_ROWS_FAILED")
        await require_counted(store, over, *(kind.format(part) for kind in kinds))


@on_sqlite
async def test_a_worker_elsewhere_that_follows_a_server_leaves_its_own_files_alone(
    store: Store, pipeline: Pipeline
) -> None:
    over = await finished_execution(store, pipeline, WIDE)
    external = store.open_session(ANN).executions.external
    await retry(store, over)
    claimed = (await external.claim(over.id, "far")).execution
    await put_file(store.files, staged_key(errors_key(claimed), 2), ERRORS)
    await external.fail(over.id, 2, "WORKER_FAILED", "no")
    await require_counted(store, over, "errors.2.csv")
    await retry(store, over)
    await external.claim(over.id, "far")
    await external.fail(over.id, 3, "WORKER_FAILED", "no")
    await require_counted(store, over)


@on_sqlite
async def test_a_cancellation_amid_a_claim_removes_what_the_claims_before_it_left(
    store: Store, pipeline: Pipeline
) -> None:
    over = await finished_execution(store, pipeline, BAD)
    session = store.open_session(ANN).executions
    await retry(store, over)
    await session.changing.cancel(over.id)
    await require_counted(store, over, "errors.csv")
    await retry(store, over)
    claims = Claims(store.table, store.clock, store.execution_rules)
    assert await claims.claim(await current_execution(store, over), "x") is not None
    await session.changing.cancel(over.id)
    await require_counted(store, over)


@on_sqlite
async def test_a_failure_after_too_many_attempts_leaves_nothing_of_them(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    over = await finished_execution(store, pipeline, BAD)
    await retry(store, over)
    claims = Claims(store.table, store.clock, store.execution_rules)
    for _ in range(store.execution_rules.max_attempts):
        claimed = await claims.claim(await current_execution(store, over), "x")
        assert claimed is not None
        await put_file(store.files, errors_key(place_own_files(claimed)), ERRORS)
        watch.move(MINUTES)
    assert await store.execution_worker("w").run_all() == 1
    assert (await current_execution(store, over)).code == "ATTEMPTS_EXHAUSTED"
    await require_counted(store, over)


class BrokenOutput(ForwardingFiles):
    """A store of files that fails in a way nobody expects, when the output is to be stored."""

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        if "/output" in key:
            raise ZeroDivisionError
        return await super().write(key, chunks, content_type=content_type)


@on_sqlite
async def test_an_unexpected_failure_leaves_no_rejected_rows(
    store: Store, pipeline: Pipeline, caplog: pytest.LogCaptureFixture
) -> None:
    made = await ready_execution(store, pipeline)
    broken = replace(store, files=BrokenOutput(store.files))
    assert await broken.execution_worker("w").run_all() == 1
    assert (await current_execution(store, made)).code == "INTERNAL_ERROR"
    await require_counted(store, made)
    caplog.clear()


class CancellingFiles(ForwardingFiles):
    """A store of files in which the execution is cancelled once its rejected rows are stored."""

    def __init__(self, store: Store, execution: Execution) -> None:
        super().__init__(store.files)
        self.store, self.execution = store, execution

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        etag = await super().write(key, chunks, content_type=content_type)
        if "/errors" in key:
            await self.store.open_session(ANN).executions.changing.cancel(self.execution.id)
        return etag


@on_sqlite
async def test_what_a_worker_stores_amid_a_cancellation_goes(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready_execution(store, pipeline)
    cancelling = replace(store, files=CancellingFiles(store, made))
    assert await cancelling.execution_worker("w").run_all() == 1
    assert (await current_execution(store, made)).state is ExecutionState.CANCELLED
    await require_counted(store, made)


class OvertakenFiles(ForwardingFiles):
    """A store of files in which somebody else calls once the first copy is made."""

    def __init__(self, files: Files, overtake: Callable[[], Awaitable[object]]) -> None:
        super().__init__(files)
        self.overtake: Callable[[], Awaitable[object]] | None = overtake

    async def copy(self, source: str, target: str, etag: str | None = None) -> None:
        await super().copy(source, target, etag)
        if self.overtake is not None:
            overtake, self.overtake = self.overtake, None
            await overtake()


@on_sqlite
@pytest.mark.parametrize("succeeds", [True, False])
@pytest.mark.parametrize("retries", [True, False])
async def test_what_a_worker_elsewhere_publishes_amid_a_cancellation_goes(
    store: Store, pipeline: Pipeline, watch: Watch, succeeds: bool, retries: bool
) -> None:
    made = await ready_execution(store, pipeline)
    session = store.open_session(ANN).executions
    await session.external.claim(made.id, "far")
    for key_of in (output_key, errors_key):
        await put_file(store.files, staged_key(key_of(made), 1), ERRORS)

    async def cancel() -> None:
        await session.changing.cancel(made.id)
        if retries:
            await retry(store, made)
            await session.external.claim(made.id, "near")

    external = store.open_session(ANN).executions.external
    late = replace(external, files=OvertakenFiles(store.files, cancel))
    ending = (
        late.complete(made.id, 1, RowCounts(1, 1, 0, 1, 1))
        if succeeds
        else late.fail(made.id, 1, "WORKER_FAILED", "no")
    )
    with pytest.raises((IllegalState, NotFound)):
        await ending
    await require_counted(store, made)


@on_sqlite
async def test_a_cancellation_removes_what_a_worker_elsewhere_published_before_it_was_cut_off(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready_execution(store, pipeline)
    session = store.open_session(ANN).executions
    claimed = (await session.external.claim(made.id, "far")).execution
    for key in placed_keys(claimed):
        await put_file(store.files, key, ERRORS)
    await session.changing.cancel(made.id)
    await require_counted(store, made)
