"""Merged files hold the same rows, totals, past and history, whoever dies or writes meanwhile."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import duckdb
import pytest

from penstock.datastore.kept_rows.conditions import RowFilter
from penstock.datastore.kept_rows.external_table import ExternalEngine, write_statements
from penstock.datastore.kept_rows.part_files import copy_parts
from penstock.datastore.kept_rows.part_keys import rows_folder
from penstock.datastore.kept_rows.part_list import MERGED_AFTER, pipelines_to_merge, read_parts
from penstock.datastore.kept_rows.write_part import PartWriter, WrittenFile
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.executions.sample_executions import ANN
from tests.datastore.executions.worker_death import (
    mortal_store,
)
from tests.datastore.kept_rows.plants import read_kwh, read_rows, read_sum, run_file
from tests.support.consistency_check import faults
from tests.support.sample_resources import SUPER, Watch, on_sqlite
from tests.support.table_interceptors import dies

HOURS = timedelta(hours=2)


async def keep_many(store: Store, pipeline: Pipeline, watch: Watch) -> list[Any]:
    """Keep twelve commits, one of them a withdrawal; return the times behind each."""
    times = []
    for n in range(MERGED_AFTER):
        if n == 5:
            await store.open_session(ANN).row_withdrawals.by_keys(pipeline, [["p2"]], "wrong")
        else:
            await run_file(store, pipeline, same=n, **{f"p{n % 4}": f"{n}.5"})
        times.append(watch())
        watch.move(timedelta(seconds=1))
    return times


async def describe(store: Store, pipeline: Pipeline, times: list[Any]) -> dict[str, Any]:
    """Everything that readers learn of the rows, now and at each time."""
    rows = await read_rows(store, pipeline, size=1)
    keys = [(pipeline.id, row.digest) for row in rows]
    versions = await store.open_session(ANN).kept_rows.many_versions(keys)
    return {
        "rows": rows,
        "versions": versions,
        "past": [await read_kwh(store, pipeline, as_at=at) for at in times],
        "sums": [await read_sum(store, pipeline, as_at=at) for at in times],
    }


async def test_merged_files_hold_the_same_rows_past_and_history(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    times = await keep_many(store, pipeline, watch)
    before = await describe(store, pipeline, times)
    assert await pipelines_to_merge(store.table) == [pipeline.id]
    assert await store.merge_rows() == 1
    assert await pipelines_to_merge(store.table) == []
    parts = await read_parts(store.table, pipeline.id)
    assert (len(parts), len({one.file for one in parts})) == (MERGED_AFTER, 1)
    assert await describe(store, pipeline, times) == before
    assert await store.merge_rows() == 0
    await run_file(store, pipeline, p2=77)
    assert (await read_kwh(store, pipeline))["p2"] == "77"
    assert [await read_kwh(store, pipeline, as_at=at) for at in times] == before["past"]
    watch.move(HOURS)
    await store.sweep_files()
    assert await faults(store.table) == []


async def test_a_reader_of_an_old_list_finishes_while_files_are_merged(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    await keep_many(store, pipeline, watch)
    held = await read_kwh(store, pipeline)
    old = await read_parts(store.table, pipeline.id)
    assert await store.merge_rows() == 1
    fresh = replace(store, part_files=type(store.part_files)(store.part_files.engine))
    late = fresh.open_session(ANN).kept_rows
    late._snapshots[pipeline.id] = old
    page = await late.page(pipeline, RowFilter(), Window(size=100))
    assert {row.key[0]: f"{row.values['kwh']:f}" for _, row in page.entries} == held
    await store.sweep_files()
    assert len(await store.files.list(rows_folder(pipeline.id))) == MERGED_AFTER + 1
    watch.move(HOURS)
    await store.sweep_files()
    assert len(await store.files.list(rows_folder(pipeline.id))) == 1
    assert await read_kwh(fresh, pipeline) == held


@on_sqlite
async def test_wherever_a_merge_dies_nothing_changes_and_nothing_is_left(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    times = await keep_many(store, pipeline, watch)
    before = await describe(store, pipeline, times)
    deaths = 0
    for calls in range(20):
        mortal = mortal_store(store, calls)
        if not await dies(mortal.merge_rows()):
            break
        deaths += 1
        assert await describe(store, pipeline, times) == before
    assert deaths >= 3
    assert await describe(store, pipeline, times) == before
    watch.move(HOURS)
    await store.sweep_files()
    assert len(await store.files.list(rows_folder(pipeline.id))) == 1
    assert await describe(store, pipeline, times) == before
    assert await faults(store.table) == []


async def test_a_withdrawal_and_an_execution_during_a_merge_are_kept(
    store: Store, pipeline: Pipeline, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = await keep_many(store, pipeline, watch)
    before = await describe(store, pipeline, times)
    write = PartWriter.write_merged

    async def write_while_others_do(*arguments: Any) -> WrittenFile:
        written = await write(*arguments)
        await store.open_session(ANN).row_withdrawals.by_keys(pipeline, [["p1"]], "wrong")
        await run_file(store, pipeline, p3=99)
        return written

    monkeypatch.setattr(PartWriter, "write_merged", write_while_others_do)
    assert await store.merge_rows() == 1
    held = {**before["past"][-1], "p3": "99"}
    del held["p1"]
    assert await read_kwh(store, pipeline) == held
    assert [await read_kwh(store, pipeline, as_at=at) for at in times] == before["past"]
    watch.move(HOURS)
    await store.sweep_files()
    assert await faults(store.table) == []


async def test_two_merges_at_once_leave_one_file(
    store: Store, pipeline: Pipeline, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = await keep_many(store, pipeline, watch)
    before = await describe(store, pipeline, times)
    write = PartWriter.write_merged

    async def write_after_another(*arguments: Any) -> WrittenFile:
        written = await write(*arguments)
        monkeypatch.setattr(PartWriter, "write_merged", write)
        assert await store.merge_rows() == 1
        return written

    monkeypatch.setattr(PartWriter, "write_merged", write_after_another)
    assert await store.merge_rows() == 0
    assert await describe(store, pipeline, times) == before
    watch.move(HOURS)
    await store.sweep_files()
    assert len(await store.files.list(rows_folder(pipeline.id))) == 1
    assert await describe(store, pipeline, times) == before


async def test_a_deleted_pipeline_leaves_no_merged_file(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    await keep_many(store, pipeline, watch)
    assert await store.merge_rows() == 1
    await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id)
    for _ in range(3):
        await store.finish_deletes()
    watch.move(HOURS)
    await store.sweep_files()
    assert await store.files.list(rows_folder(pipeline.id)) == ()
    assert await read_parts(store.table, pipeline.id) == []
    assert await faults(store.table) == []


async def test_duckdb_reads_merged_files_as_the_product_does(
    store: Store, pipeline: Pipeline, watch: Watch, tmp_path: Any
) -> None:
    times = await keep_many(store, pipeline, watch)
    assert await store.merge_rows() == 1
    await run_file(store, pipeline, p1=5)
    listed = await read_parts(store.table, pipeline.id)
    await copy_parts(store.files, listed, tmp_path)
    # A list that was read during a merge may end before the last commit of a merged file.
    for parts, at in ((listed, watch()), (listed[:4], times[3])):
        sql = write_statements(ExternalEngine.DUCKDB, "plants", str(tmp_path), pipeline.id, parts)
        with duckdb.connect(":memory:") as connection:
            connection.execute(sql)
            found = connection.execute("SELECT plant, kwh FROM plants_latest").fetchall()
        assert dict(found) == await read_kwh(store, pipeline, as_at=at)
