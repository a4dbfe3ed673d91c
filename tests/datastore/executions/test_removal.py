"""Removal of executions that expired or lost their pipeline, also after an interruption."""

from collections.abc import AsyncIterable
from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.errors import NotFound
from penstock.datastore.executions.files import STAGED_FORM_TIME, ingest_key, output_key, staged_key
from penstock.datastore.executions.lists.listing import ExecutionFilter
from penstock.datastore.executions.records import Execution
from penstock.datastore.executions.removal import ExecutionRemoval
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.objects.no_files import NoFiles
from penstock.datastore.objects.port import Chunks
from penstock.datastore.objects.s3 import S3Files
from penstock.datastore.records import Pipeline
from penstock.datastore.roles import ROOT
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.executions.sample_executions import (
    ANN,
    all_keys,
    begin_execution,
    finished_execution,
    put_file,
    read_content,
    ready_execution,
)
from tests.datastore.executions.worker_death import ForwardingFiles
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import SUPER, USA, Watch, on_sqlite, tags
from tests.support.table_interceptors import CutOffTable, ProcessDied


async def files_of(store: Store, execution: Execution) -> list[bool]:
    return [await read_content(store.files, key) is not None for key in all_keys(execution)]


KEPT = {"G", "GC", "QG", "QU", "IK", "FU"}


async def rows_left(store: Store) -> set[str]:
    """The kinds of rows that are left, without groups and their counts.

    Those that expire by themselves are left out too: receipts of idempotency and the places of open
    uploads.
    """
    return {key.pk.split(":")[0] for key in await contents(store.table)} - KEPT


async def test_a_run_is_kept_for_some_time_and_then_gone_with_its_files_and_counts(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    over = await finished_execution(store, pipeline, tags=tags("a=b/c"))
    kept = await begin_execution(store, pipeline, tags=tags("a=b"))
    watch.move(timedelta(days=29, hours=23))
    await store.finish_deletes()
    assert await files_of(store, over) == [False, True, True, True, False, False]
    watch.move(timedelta(hours=1))
    await store.finish_deletes()
    assert not any(await files_of(store, over))
    session = store.open_session(ANN)
    with pytest.raises(NotFound):
        await session.executions.reading.one(over.id)
    page = await session.executions.listing.page(pipeline, ExecutionFilter(), Window())
    assert [id for id, _ in page.entries] == [kept.id]
    assert await faults(store.table) == []


async def test_a_deleted_pipeline_takes_its_executions_and_their_files_with_it(
    store: Store, pipeline: Pipeline
) -> None:
    made = [
        await finished_execution(store, pipeline, tags=tags("a=b/c")),
        await ready_execution(store, pipeline),
        await begin_execution(store, pipeline),
    ]
    session = store.open_session(SUPER)
    await session.pipelines.deleting.delete(pipeline.id)
    for one in made:
        with pytest.raises(NotFound):
            await session.executions.reading.one(one.id)
    assert await store.finish_deletes() == 1
    assert await rows_left(store) == set()
    assert await faults(store.table) == []
    for one in made:
        assert not any(await files_of(store, one))


class LastingForms(ForwardingFiles):
    """Files whose forms stay valid until they expire, as those of S3 do."""

    @property
    def ends_forms(self) -> bool:
        return False


async def test_what_a_form_sends_after_the_deletion_of_its_pipeline_is_removed(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    """A form of S3 stays valid, for an hour or, for what a worker makes, for a day."""
    store = replace(store, files=LastingForms(store.files))
    made = await begin_execution(store, pipeline)
    ended = await finished_execution(store, pipeline)
    await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id)
    await store.finish_deletes()
    late = [ingest_key(made), staged_key(output_key(ended), 1)]
    for key in late:
        await put_file(store.files, key, b"late")
    watch.move(STAGED_FORM_TIME)
    await store.sweep_files()
    assert [await read_content(store.files, key) for key in late] == [b"late"] * 2
    watch.move(timedelta(hours=1, minutes=1))
    assert await store.sweep_files() == 1
    assert await store.files.list(f"pipelines/{pipeline.id}/") == ()
    assert "F" not in {key.pk.split(":")[0] for key in await contents(store.table)}
    assert await store.sweep_files() == 0


def test_the_forms_of_s3_alone_stay_valid() -> None:
    assert (LocalFiles.ends_forms, NoFiles.ends_forms, S3Files.ends_forms) == (True, True, False)


@on_sqlite
async def test_a_removal_goes_on_wherever_it_was_cut(store: Store, pipeline: Pipeline) -> None:
    over = await finished_execution(store, pipeline, tags=tags("a=b"))
    await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id)
    cuts = 0
    for writes in range(50):
        try:
            cut = Store(CutOffTable(store.table, writes), clock=store.clock, files=store.files)
            if await cut.finish_deletes():
                break
        except ProcessDied:
            cuts += 1
    assert cuts > 2
    await store.finish_deletes()
    assert await rows_left(store) == set()
    assert not any(await files_of(store, over))


@on_sqlite
async def test_a_run_that_was_tried_again_meanwhile_is_not_removed(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    failed = await finished_execution(store, pipeline, b"nonsense\n")
    watch.move(timedelta(days=31))
    await store.open_session(ANN).executions.changing.retry(failed.id)
    before = await contents(store.table)
    assert not await ExecutionRemoval(store.table, store.files, store.clock).remove(failed)
    assert await contents(store.table) == before
    assert (await files_of(store, failed))[1]


@on_sqlite
async def test_a_group_is_deleted_with_the_executions_of_its_pipelines(
    store: Store, pipeline: Pipeline
) -> None:
    await finished_execution(store, pipeline)
    session = store.open_session(SUPER)
    _, job = await session.group_deletions.delete(USA)
    assert job is not None
    assert await store.run_jobs("w") == 1
    await store.finish_deletes()
    assert await rows_left(store) == {"J", "JA", "JG", "JU"}
    assert await faults(store.table) == []
    assert (await session.groups.count(ROOT)).children == 1


@on_sqlite
async def test_a_pipeline_that_was_never_run_goes_in_one_transaction(
    store: Store, pipeline: Pipeline
) -> None:
    await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id)
    assert await rows_left(store) == set()


class DeletingFiles(ForwardingFiles):
    """A file store that deletes the pipeline before it stores an output."""

    def __init__(self, store: Store, pipeline: Pipeline) -> None:
        super().__init__(store.files)
        self.store, self.pipeline = store, pipeline

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        async def late() -> Chunks:
            async for chunk in chunks:
                yield chunk
            if key.endswith("output.txt"):
                await self.store.open_session(SUPER).pipelines.deleting.delete(self.pipeline.id)
                await self.store.finish_deletes()

        return await self.files.write(key, late(), content_type=content_type)


@on_sqlite
async def test_a_run_whose_pipeline_is_deleted_meanwhile_leaves_no_file(
    store: Store, pipeline: Pipeline
) -> None:
    made = await ready_execution(store, pipeline)
    await replace(store, files=DeletingFiles(store, pipeline)).execution_worker("w").run_all()
    assert await rows_left(store) == set()
    assert not any(await files_of(store, made))
    assert await faults(store.table) == []
