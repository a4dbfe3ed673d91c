"""Several processes give the same bytes as one, also where a part of the input ends the work."""

import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import Unavailable
from penstock.datastore.executions.files import output_key
from penstock.datastore.executions.workers.row_engine import LOCAL_ENGINE
from penstock.datastore.objects.port import Files
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from penstock.server.runtime import core_engine
from penstock.server.runtime.core_engine import CoreEngine
from penstock.server.runtime.part_process import PartOrder, ProgramRecipe
from penstock.server.runtime.part_processes import MODULE, PartProcess, start_part_processes
from penstock.transform.csv_parts import RecordPart
from penstock.transform.csv_transform import PartContext
from penstock.transform.header import FileForm
from penstock.transform.outcome import RowCounts
from tests.datastore.conftest import implementation, table
from tests.datastore.executions.lookup_pipelines import lookup_pipeline
from tests.datastore.executions.sample_executions import (
    current_execution,
    read_content,
    ready_execution,
)
from tests.datastore.objects.conftest import files, local, local_store, s3, s3_store
from tests.server.runtime.row_inputs import LARGE, MIXED, ODD_FILES, name_file, run_task, task_of
from tests.support.sample_resources import on_sqlite

__all__ = ["files", "implementation", "local", "local_store", "s3", "s3_store", "table"]


def engine_with(part_bytes: int, cores: int = 1, kept_bytes: int = 10**9) -> CoreEngine:
    return CoreEngine(cores, least_bytes=0, part_bytes=part_bytes, kept_bytes=kept_bytes)


async def test_parts_give_what_the_whole_gives(files: Files) -> None:
    task = await task_of(files, MIXED)
    whole = await run_task(LOCAL_ENGINE, files, task)
    assert whole[2].counts == RowCounts(3490, 2003, 1487, 33_912, 132_851)
    assert await run_task(engine_with(3_000, cores=2), files, task) == whole


@pytest.mark.parametrize("most", [0, 1, 2, 3])
async def test_it_stops_where_one_process_stops(local: Files, most: int) -> None:
    task = await task_of(local, LARGE, most)
    whole = await run_task(LOCAL_ENGINE, local, task)
    assert (whole[2].refusal is None) == (most == 3)
    assert await run_task(engine_with(100_000, cores=2), local, task) == whole


async def test_results_that_are_too_large_to_wait_are_made_again(local: Files) -> None:
    task = await task_of(local, LARGE, 3)
    whole = await run_task(LOCAL_ENGINE, local, task)
    assert await run_task(engine_with(500_001, kept_bytes=1_000), local, task) == whole


@pytest.mark.parametrize("data", ODD_FILES, ids=name_file)
async def test_odd_files_are_as_odd_in_parts(local: Files, data: bytes) -> None:
    task = await task_of(local, data)
    whole = await run_task(LOCAL_ENGINE, local, task)
    assert await run_task(engine_with(max(10, len(data) // 7)), local, task) == whole


async def test_small_files_need_no_process(local: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere")
    task = await task_of(local, MIXED)
    assert await run_task(CoreEngine(2), local, task) == await run_task(LOCAL_ENGINE, local, task)
    with pytest.raises(FileNotFoundError):
        await run_task(engine_with(3_000), local, task)


async def test_a_process_that_ends_amid_its_work_is_found_out(local: Files) -> None:
    recipe = ProgramRecipe((await task_of(local, MIXED)).plan, (), None)
    above = PartContext(FileForm(",", (0, 1), ("distance", "Fuel type")), 1)
    async with start_part_processes(2, recipe) as (one, other):
        for process in (one, other):
            process.send(PartOrder(RecordPart(19, 1, b"1.5,gas\n"), above))
        counts = [step.ending.counts async for step in one.read_steps()]
        assert counts[-1] == RowCounts(1, 1, 0, 8, 8)
        await other.end()
        with pytest.raises(Unavailable, match=r"parts of the input ended \(-9\)"):
            _ = [step async for step in other.read_steps()]


async def test_no_process_outlives_who_stops_reading(
    local: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[PartProcess] = []

    @asynccontextmanager
    async def start(number: int, recipe: ProgramRecipe) -> AsyncIterator[Sequence[PartProcess]]:
        async with start_part_processes(number, recipe) as started:
            seen.extend(started)
            yield started

    monkeypatch.setattr(core_engine, "start_part_processes", start)
    task = await task_of(local, MIXED)
    async with aclosing(engine_with(1_000, cores=2).steps(local, task)) as steps:
        _ = [await anext(steps) for _ in range(4)]
        assert [one.is_running for one in seen] == [True, True]
    assert [one.is_running for one in seen] == [False, False]


def test_a_process_ends_with_its_input() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", MODULE], stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    assert (ended.stdout, ended.stderr) == (b"", b"")


@on_sqlite
async def test_datasets_are_read_by_the_processes(table: Table, local: Files) -> None:
    store = Store(table, clock=Clock(), files=local)
    made = await ready_execution(
        store, await lookup_pipeline(store), b"fuel\n" + b"gas\noil\n" * 500
    )
    await store.execution_worker("w", engine_with(1_000)).run_all()
    over = await current_execution(store, made)
    assert (over.state, over.code, over.counts.succeeded) == ("success", None, 1000)
    output = await read_content(store.files, output_key(over))
    assert output == b"y\r\n" + b"27.5\r\n44\r\n" * 500
