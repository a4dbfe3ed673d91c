"""Rows are kept once and together, wherever a worker dies and however many end at once."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.kept_rows.part_files import copy_to_disk
from penstock.datastore.kept_rows.part_keys import rows_folder
from penstock.datastore.kept_rows.part_list import read_head, read_parts
from penstock.datastore.kept_rows.write_part import PARQUET, PartWriter
from penstock.datastore.objects.chunks import single_chunk
from penstock.datastore.objects.port import Files
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import ANN, current_execution, ready_execution
from tests.datastore.executions.worker_death import (
    mortal_store,
)
from tests.datastore.kept_rows.plants import plant_file, read_kwh, read_rows, read_sum, run_file
from tests.support.consistency_check import faults
from tests.support.sample_resources import SUPER, Watch, on_sqlite
from tests.support.table_interceptors import dies

MINUTES = timedelta(minutes=5)


@on_sqlite
async def test_wherever_a_worker_dies_the_rows_appear_together_and_once(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    deaths = 0
    for calls in range(60):
        before = await read_kwh(store, pipeline)
        made = await ready_execution(store, pipeline, plant_file([("a", calls), ("b", 1)]))
        mortal = mortal_store(store, calls)
        if not await dies(mortal.execution_worker("mortal").run_all()):
            break
        deaths += 1
        if (await current_execution(store, made)).state != "success":
            assert await read_kwh(store, pipeline) == before
        watch.move(MINUTES)
        await store.execution_worker("heir").run_all()
        assert await read_kwh(store, pipeline) == {"a": str(calls), "b": "1"}
        parts = await read_parts(store.table, pipeline.id)
        assert [one.execution for one in parts].count(made.id) == 1
        assert (await read_head(store.table, pipeline.id)).commits == len(parts)
        assert await faults(store.table) == []
    assert deaths >= 10


async def test_a_worker_that_was_believed_dead_adds_no_rows(
    store: Store, pipeline: Pipeline, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await ready_execution(store, pipeline, plant_file([("a", 1), ("b", 2)]))
    write, heirs = PartWriter._store, list[asyncio.Task[int]]()

    async def write_late(writer: PartWriter, *arguments: Any) -> None:
        await write(writer, *arguments)
        if not heirs:
            watch.move(MINUTES)
            heirs.append(asyncio.create_task(store.execution_worker("heir").run_all()))
            # The slow worker may notice meanwhile that it was believed dead, and end its own work.
            await asyncio.shield(heirs[0])

    monkeypatch.setattr(PartWriter, "_store", write_late)
    await store.execution_worker("slow").run_all()
    assert [await heir for heir in heirs] == [1]
    (part,) = await read_parts(store.table, pipeline.id)
    assert part.file.rpartition("/")[2] == f"{made.id}-2.parquet"
    assert await read_kwh(store, pipeline) == {"a": "1", "b": "2"}
    assert await faults(store.table) == []


async def test_executions_that_end_at_once_are_commits_one_after_another(
    store: Store, pipeline: Pipeline
) -> None:
    count = 6
    for n in range(count):
        await ready_execution(store, pipeline, plant_file([("same", n), (f"p{n}", n)]))
    workers = [store.execution_worker(f"w{n}") for n in range(count)]
    await asyncio.gather(*(each.run_all() for each in workers))
    parts = await read_parts(store.table, pipeline.id)
    assert [one.commit for one in parts] == list(range(1, count + 1))
    found = await read_kwh(store, pipeline)
    assert len(found) == count + 1
    (last,) = [row for row in await read_rows(store, pipeline) if row.key == ("same",)]
    assert last.execution_id == parts[-1].execution


async def test_a_deleted_pipeline_leaves_no_row_and_no_file_of_its_rows(
    store: Store, pipeline: Pipeline
) -> None:
    await run_file(store, pipeline, a=1, b=2)
    await run_file(store, pipeline, a=3)
    session = store.open_session(ANN)
    assert await session.row_withdrawals.by_keys(pipeline, [["b"]], "wrong") == 1
    assert len(await store.files.list(rows_folder(pipeline.id))) == 3
    await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id)
    for _ in range(3):
        await store.finish_deletes()
    assert await store.files.list(rows_folder(pipeline.id)) == ()
    assert await read_parts(store.table, pipeline.id) == []
    assert (await read_head(store.table, pipeline.id)).commits == 0
    assert await faults(store.table) == []


async def test_an_execution_with_rows_is_kept_as_long_as_they_are(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    made = await run_file(store, pipeline, a=1)
    watch.move(timedelta(days=400))
    await store.finish_deletes()
    assert (await current_execution(store, made)).rows_commit == 1
    assert await read_sum(store, pipeline) == "1"


async def test_rows_are_read_as_they_were(store: Store, pipeline: Pipeline, watch: Watch) -> None:
    await run_file(store, pipeline, a=1, b=2)
    first = watch()
    watch.move(MINUTES)
    await run_file(store, pipeline, a=10)
    second = watch()
    watch.move(MINUTES)
    await store.open_session(ANN).row_withdrawals.by_keys(pipeline, [["b"]], "wrong")
    assert await read_sum(store, pipeline) == "10"
    assert await read_sum(store, pipeline, as_at=second) == "12"
    assert await read_sum(store, pipeline, as_at=first) == "3"
    assert await read_kwh(store, pipeline, as_at=first - MINUTES) == {}


async def test_rows_are_withdrawn_all_or_none(store: Store, pipeline: Pipeline) -> None:
    await run_file(store, pipeline, a=1, b=2)
    withdrawals = store.open_session(ANN).row_withdrawals
    with pytest.raises(NotFound) as failure:
        await withdrawals.by_keys(pipeline, [["a"], ["none"]], "wrong")
    assert failure.value.positions == (1,)
    assert await read_sum(store, pipeline) == "3"


def list_files(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("*.*")]


async def test_a_copy_that_fails_leaves_nothing_on_the_disk(files: Files, tmp_path: Path) -> None:
    await files.write("results/one", single_chunk(b"PAR1"), content_type=PARQUET)
    with pytest.raises(Unavailable):
        await copy_to_disk(files, "results/one", tmp_path / "one.parquet", size=5)
    with pytest.raises(NotFound):
        await copy_to_disk(files, "results/two", tmp_path / "two.parquet", size=4)
    assert list_files(tmp_path) == []
    await copy_to_disk(files, "results/one", tmp_path / "one.parquet", size=4)
    assert list_files(tmp_path) == ["one.parquet"]
