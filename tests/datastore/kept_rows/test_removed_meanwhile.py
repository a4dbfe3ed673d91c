"""A pipeline that is deleted while its rows are written leaves no row and no file of them."""

from collections.abc import AsyncIterator

import pytest

from penstock.datastore.datasets.staged_files import StagedFile
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.records import Execution, ExecutionMode
from penstock.datastore.executions.removal import ExecutionRemoval
from penstock.datastore.kept_rows.part_keys import rows_folder
from penstock.datastore.kept_rows.write_part import PartWriter
from penstock.datastore.objects.port import Files
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.datastore.table.port import Key
from tests.datastore.executions.sample_executions import ANN, ready_execution
from tests.datastore.kept_rows.plants import plant_file, run_file
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import SUPER


async def remove(store: Store, pipeline: Pipeline) -> None:
    await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id)
    for _ in range(3):
        await store.finish_deletes()


async def files_of(files: Files, pipeline: Pipeline) -> tuple[str, ...]:
    folders = (rows_folder(pipeline.id), f"pipelines/{pipeline.id}/")
    return tuple([key for folder in folders for key in await files.list(folder)])


@pytest.mark.parametrize("failure", [None, Unavailable("The store is away."), RuntimeError("odd")])
async def test_rows_that_were_written_after_the_removal_are_deleted(
    store: Store, pipeline: Pipeline, failure: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ready_execution(store, pipeline, plant_file([("north", 1)]))
    write, written = PartWriter._store, list[str]()

    async def remove_and_write(writer: PartWriter, key: str, *rest: object) -> None:
        await remove(store, pipeline)
        await write(writer, key, *rest)  # type: ignore[arg-type]
        written.append(key)
        if failure is not None:
            raise failure

    monkeypatch.setattr(PartWriter, "_store", remove_and_write)
    await store.execution_worker("w").run_all()
    assert len(written) == 1
    assert await files_of(store.files, pipeline) == ()
    assert await faults(store.table) == []


async def test_files_of_rows_that_nothing_names_go_with_the_pipeline(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ready_execution(store, pipeline, plant_file([("north", 1)]))
    write = PartWriter._store

    async def write_elsewhere_and_fail(writer: PartWriter, key: str, *rest: object) -> None:
        await write(writer, f"{rows_folder(pipeline.id)}of nobody.parquet", *rest)  # type: ignore[arg-type]
        raise RuntimeError

    monkeypatch.setattr(PartWriter, "_store", write_elsewhere_and_fail)
    await store.execution_worker("w").run_all()
    assert len(await store.files.list(rows_folder(pipeline.id))) == 1
    await remove(store, pipeline)
    assert await files_of(store.files, pipeline) == ()
    assert await faults(store.table) == []


async def test_rows_of_a_request_whose_pipeline_went_leave_no_input(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = type(store.files).write

    async def remove_and_write(files: Files, *arguments: object, **named: object) -> None:
        await remove(store, pipeline)
        await write(files, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(type(store.files), "write", remove_and_write)
    wanted = ExecutionRequest(pipeline_id=pipeline.id, mode=ExecutionMode.INLINE)
    rows = [{"plant": "north", "kwh": 1}]
    with pytest.raises(Exception, match="There is no"):
        await store.open_session(ANN).executions.inline.run(wanted, rows)
    assert await files_of(store.files, pipeline) == ()
    assert await faults(store.table) == []


async def rows_of(store: Store, pipeline: Pipeline) -> list[Key]:
    keys = [key for key in await contents(store.table) if pipeline.id in key.pk]
    return [key for key in keys if key.pk.startswith("KR:") or key.sk in ("PKR", "PKD")]


async def test_an_execution_that_ends_during_the_removal_leaves_no_head(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ready_execution(store, pipeline, plant_file([("north", 1)]))
    finding, ended = ExecutionRemoval._pipeline_executions, list[int]()

    def end_and_find(removing: ExecutionRemoval, id: str) -> AsyncIterator[Execution]:
        async def find() -> AsyncIterator[Execution]:
            ended.append(await store.execution_worker("w").run_all())
            async for execution in finding(removing, id):
                yield execution

        return find()

    monkeypatch.setattr(ExecutionRemoval, "_pipeline_executions", end_and_find)
    await remove(store, pipeline)
    assert ended[0] == 1
    assert await rows_of(store, pipeline) == []
    assert await files_of(store.files, pipeline) == ()
    assert await faults(store.table) == []


async def test_a_withdrawal_that_meets_a_deletion_writes_nothing(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run_file(store, pipeline, north=1)
    put = StagedFile.put

    async def put_and_delete(staged: StagedFile, *arguments: object) -> None:
        await put(staged, *arguments)  # type: ignore[arg-type]
        await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id)

    monkeypatch.setattr(StagedFile, "put", put_and_delete)
    with pytest.raises(NotFound):
        await store.open_session(ANN).row_withdrawals.by_keys(pipeline, [["north"]], "wrong")
    for _ in range(3):
        await store.finish_deletes()
    assert await rows_of(store, pipeline) == []
    assert await files_of(store.files, pipeline) == ()
    assert await faults(store.table) == []
