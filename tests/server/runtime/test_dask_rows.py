"""The machines of a cluster write the files of kept rows; the holder of the claim commits them."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from msgspec.structs import replace as changed

from penstock.datastore.clock import Clock
from penstock.datastore.executions.files import output_key, staged_rows_key
from penstock.datastore.executions.records import Execution
from penstock.datastore.kept_rows.part_list import read_parts
from penstock.datastore.objects.chunks import single_chunk
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.objects.port import Files
from penstock.datastore.records import Pipeline, RowKeeping
from penstock.datastore.store import Store
from penstock.datastore.table.port import Page, Query, Table
from tests.datastore.conftest import implementation, table, watch
from tests.datastore.executions.sample_executions import (
    current_execution,
    pipeline_in,
    read_content,
    ready_execution,
)
from tests.datastore.executions.worker_death import MortalFiles, MortalTable, WriteAllowance
from tests.datastore.kept_rows.plants import PLANTS as PLANTS_PIPELINE
from tests.datastore.kept_rows.plants import (
    keep_plants,
    plant_file,
    read_kwh,
    read_rows,
    read_sum,
    run_file,
)
from tests.datastore.objects.conftest import files, local, local_store, s3, s3_store
from tests.server.runtime.dask_machines import Machine, machine, machines, scheduler
from tests.support.consistency_check import faults
from tests.support.patience import until
from tests.support.sample_resources import SUPER, Watch, create_groups, on_sqlite
from tests.support.table_interceptors import InterceptedTable, ProcessDied

pytestmark = pytest.mark.runs_together("cluster")

cluster = pytest.importorskip("penstock.server.runtime.dask.cluster", reason="penstock[dask]")
rows = pytest.importorskip("penstock.server.runtime.dask.rows")
transport = pytest.importorskip("penstock.server.runtime.dask.transport")
uploads = pytest.importorskip("penstock.server.runtime.dask.uploads")
pieces = pytest.importorskip("penstock.datastore.kept_rows.output_pieces")

__all__ = [
    "files",
    "implementation",
    "local",
    "local_store",
    "machine",
    "machines",
    "s3",
    "s3_store",
    "table",
    "watch",
]

PLANTS = [(f"plant {n:04d}", n) for n in range(400)]
TOTAL = str(sum(range(400)))


@pytest.fixture
def store(table: Table, local: Files, watch: Watch) -> Store:
    return Store(table, clock=Clock(watch), files=local)


@pytest.fixture(autouse=True)
def small_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let outputs be cut at every step."""
    monkeypatch.setattr(pieces.OutputCuts.__init__, "__defaults__", (1,))


@pytest.fixture
async def pipeline(store: Store) -> Pipeline:
    await create_groups(store)
    return await keep_plants(store)


def spreading(address: str, least: int = 1_500) -> Any:
    """A cluster whose machines have small pieces of the input, and of the output."""
    return cluster.Cluster(address, part_bytes=500, rows_bytes=least)


async def run_on(store: Store, pipeline: Pipeline, engine: Any, data: bytes) -> Execution:
    execution = await ready_execution(store, pipeline, data)
    assert await store.execution_worker("w", engine).run_all() == 1
    return await current_execution(store, execution)


async def list_staged(store: Store, one: Execution) -> list[str]:
    folder = output_key(one).rpartition("/")[0]
    return list(await store.files.list(f"{folder}/rows."))


@on_sqlite
async def test_rows_are_those_that_one_machine_keeps(
    store: Store, pipeline: Pipeline, machines: Any
) -> None:
    data = plant_file([*PLANTS[:100], ("broken", "none"), *PLANTS[100:]])
    over = await run_on(store, pipeline, spreading(machines.address), data)
    assert (over.state, over.succeeded, over.failed) == ("success", 400, 1)
    parts = await read_parts(store.table, pipeline.id)
    assert len(parts) == 4
    assert {(one.until, one.at, one.execution) for one in parts} == {(4, parts[0].at, over.id)}
    assert (over.rows_first, over.rows_commit) == (1, 4)
    assert (over.result_bytes or 0) > sum(one.size for one in parts) > 0
    found = await read_rows(store, pipeline)
    assert [(row.key[0], row.values["kwh"], row.number) for row in found] == [
        (plant, kwh, kwh + 1) for plant, kwh in PLANTS
    ]
    assert await read_sum(store, pipeline) == TOTAL
    explained = await store.open_session(SUPER).executions.explaining.one(found[-1])
    assert explained.input.entries == {"plant": "plant 0399", "kwh": "399"}
    assert await list_staged(store, over) == []
    assert await faults(store.table) == []


@on_sqlite
async def test_a_small_output_is_one_file(store: Store, pipeline: Pipeline, machines: Any) -> None:
    over = await run_on(store, pipeline, spreading(machines.address, 10**6), plant_file(PLANTS))
    assert (over.rows_first, over.rows_commit) == (None, 1)
    assert await read_sum(store, pipeline) == TOTAL


@on_sqlite
async def test_rows_with_the_same_key_in_two_pieces_end_the_execution(
    store: Store, pipeline: Pipeline, machines: Any
) -> None:
    data = plant_file([*PLANTS, PLANTS[3]])
    over = await run_on(store, pipeline, spreading(machines.address), data)
    assert (over.state, over.code) == ("failed", "DUPLICATE_KEY")
    assert over.message == "rows 4 and 401 of the output have the same key"
    assert await read_parts(store.table, pipeline.id) == []
    assert await store.files.list("results/") == ()
    assert await list_staged(store, over) == []


@on_sqlite
async def test_later_rows_correct_those_of_many_files_and_the_past_stays(
    store: Store, pipeline: Pipeline, machines: Any, watch: Watch
) -> None:
    before = watch()
    watch.move(timedelta(minutes=1))
    await run_on(store, pipeline, spreading(machines.address), plant_file(PLANTS))
    between = watch()
    watch.move(timedelta(minutes=1))
    await run_file(store, pipeline, **{"plant 0399": 400})
    assert await read_sum(store, pipeline) == str(int(TOTAL) + 1)
    assert await read_sum(store, pipeline, as_at=between) == TOTAL
    assert await read_kwh(store, pipeline, as_at=before) == {}
    again = [(plant, kwh + 1) for plant, kwh in PLANTS]
    over = await run_on(store, pipeline, spreading(machines.address, 500), plant_file(again))
    assert (over.rows_first, over.rows_commit) == (6, 17)
    assert await store.merge_rows() == 1
    assert await read_sum(store, pipeline) == str(int(TOTAL) + 400)
    assert await read_sum(store, pipeline, as_at=between) == TOTAL
    watch.move(timedelta(hours=2))
    await store.sweep_files()
    assert await read_sum(store, pipeline) == str(int(TOTAL) + 400)
    assert await faults(store.table) == []


def note_forms(noted: list[tuple[str, Any]]) -> Any:
    """The method that makes the forms of machines, which also notes them with their keys."""
    make = rows.SpreadRows._form

    async def make_and_note(spread: Any, number: int, kind: str) -> Any:
        form = await make(spread, number, kind)
        noted.append((staged_rows_key(spread.written.execution, number, kind), form))
        return form

    return make_and_note


@on_sqlite
async def test_what_a_machine_uploads_after_the_end_changes_no_rows(
    table: Table, files: Files, machines: Any, tmp_path: Any
) -> None:
    store, noted = Store(table, files=files), list[tuple[str, Any]]()
    await create_groups(store)
    pipeline = await keep_plants(store)
    with mock.patch.object(rows.SpreadRows, "_form", note_forms(noted)):
        over = await run_on(store, pipeline, spreading(machines.address), plant_file(PLANTS))
    parts = await read_parts(store.table, pipeline.id)
    late = tmp_path / "late.parquet"
    late.write_bytes(b"late")
    assert len(noted) == 2 * len(parts) == 8
    assert {key for key, _ in noted}.isdisjoint(one.file for one in parts)
    assert await list_staged(store, over) == []
    for _, form in noted:
        # S3 cannot refuse a form that is valid; what comes by it is no file of rows.
        with suppress(transport.PartFailed):
            await asyncio.to_thread(uploads.send_file, form, late)
    if isinstance(files, LocalFiles):
        assert await list_staged(store, over) == []
    for part in parts:
        assert (await read_content(files, part.file) or b"")[:4] == b"PAR1"
    assert await read_sum(store, pipeline) == TOTAL


@on_sqlite
@pytest.mark.parametrize("piece", [0, 3])
async def test_what_a_machine_that_was_believed_lost_sends_again_is_not_kept(
    table: Table, files: Files, machines: Any, piece: int
) -> None:
    store = Store(table, files=files)
    await create_groups(store)
    pipeline = await keep_plants(store)
    check = rows.SpreadRows._require_unique_keys

    async def send_again(spread: Any, count: int) -> None:
        """Let the same piece come once more, of the same size, with other bytes."""
        await check(spread, count)
        key = staged_rows_key(spread.written.execution, piece, "parquet")
        content = await read_content(files, key) or b""
        other = content[:40] + bytes([content[40] ^ 1]) + content[41:]
        await files.write(key, single_chunk(other), content_type="application/x-parquet")

    with mock.patch.object(rows.SpreadRows, "_require_unique_keys", send_again):
        over = await run_on(store, pipeline, spreading(machines.address), plant_file(PLANTS))
    assert (over.state, over.rows_first, over.rows_commit) == ("success", None, 1)
    assert await read_sum(store, pipeline) == TOTAL
    assert await list_staged(store, over) == []


@on_sqlite
@pytest.mark.parametrize("calls", [21, 26, 44])
async def test_wherever_the_holder_dies_the_rows_are_kept_once(
    store: Store, pipeline: Pipeline, machines: Any, watch: Watch, calls: int
) -> None:
    far, life = spreading(machines.address), WriteAllowance(calls)
    made = await ready_execution(store, pipeline, plant_file(PLANTS))
    dying = replace(
        store, table=MortalTable(store.table, life), files=MortalFiles(store.files, life)
    )
    with pytest.raises(ProcessDied):
        await dying.execution_worker("mortal", far).run_all()
    assert await read_parts(store.table, pipeline.id) == []
    watch.move(timedelta(minutes=5))
    await store.execution_worker("heir", far).run_all()
    over = await current_execution(store, made)
    assert (over.state, over.rows_first, over.rows_commit) == ("success", 1, 4)
    assert await read_sum(store, pipeline) == TOTAL
    assert await list_staged(store, over) == []
    assert await faults(store.table) == []


@on_sqlite
async def test_the_commits_of_an_execution_leave_with_its_files(
    store: Store, machines: Any, watch: Watch
) -> None:
    await create_groups(store)
    short = changed(PLANTS_PIPELINE, rows=RowKeeping(key=("plant",), keep_days=1))
    pipeline = await pipeline_in(store, name="Short", transformer=short)
    over = await run_on(store, pipeline, spreading(machines.address), plant_file(PLANTS))
    watch.move(timedelta(days=2))
    assert await store.drop_old_rows() == 4
    assert await read_parts(store.table, pipeline.id) == []
    gone = await current_execution(store, over)
    assert (gone.rows_first, gone.rows_commit) == (None, None)
    watch.move(timedelta(hours=2))
    await store.sweep_files()
    assert await store.files.list("results/") == ()
    assert await faults(store.table) == []


@on_sqlite
async def test_a_deleted_pipeline_leaves_no_commit_and_no_file(
    store: Store, pipeline: Pipeline, machines: Any
) -> None:
    await run_on(store, pipeline, spreading(machines.address), plant_file(PLANTS))
    await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id)
    while await store.finish_deletes():
        pass
    assert await read_parts(store.table, pipeline.id) == []
    assert await store.files.list("results/") == ()
    assert await faults(store.table) == []


class _LateTable(InterceptedTable):
    """A table whose queries do not see the last row yet, as a query beside a transaction may."""

    async def query(self, query: Query) -> Page:
        page = await super().query(query)
        return replace(page, items=page.items[:-1])


@on_sqlite
async def test_a_list_that_lacks_the_last_commit_of_an_execution_has_none_of_it(
    store: Store, pipeline: Pipeline, machines: Any
) -> None:
    await run_file(store, pipeline, **{"plant 0001": 7})
    await run_on(store, pipeline, spreading(machines.address), plant_file(PLANTS))
    assert len(await read_parts(store.table, pipeline.id)) == 5
    late = replace(store, table=_LateTable(store.table))
    assert [one.commit for one in await read_parts(late.table, pipeline.id)] == [1]
    assert await read_kwh(late, pipeline) == {"plant 0001": "7"}


@on_sqlite
async def test_a_lost_machine_s_files_are_written_by_another(
    store: Store, pipeline: Pipeline, machine: Machine
) -> None:
    execution = await ready_execution(store, pipeline, plant_file(PLANTS))
    async with scheduler() as lone:
        first = await machine(lone.address)
        engine = spreading(lone.address)
        running = asyncio.create_task(store.execution_worker("w", engine).run_all())
        await until(lambda: any("write_rows" in key for key in first.state.tasks))
        async with machine(lone.address):
            await first.close()
            assert await running == 1
    over = await current_execution(store, execution)
    assert (over.state, over.rows_commit) == ("success", 4)
    assert await read_sum(store, pipeline) == TOTAL


@on_sqlite
async def test_without_machines_that_can_the_worker_writes_the_rows_itself(
    store: Store, pipeline: Pipeline, machines: Any
) -> None:
    with mock.patch.object(rows, "installed_version", return_value="0.0.1"):
        over = await run_on(store, pipeline, spreading(machines.address), plant_file(PLANTS))
    assert (over.state, over.rows_first, over.rows_commit) == ("success", None, 1)
    assert await read_sum(store, pipeline) == TOTAL
    assert await list_staged(store, over) == []
