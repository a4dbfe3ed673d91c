"""A cluster gives the same bytes as one machine, also when it loses machines."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import Unavailable
from penstock.datastore.executions.files import errors_key, output_key
from penstock.datastore.executions.records import Execution, ExecutionRules
from penstock.datastore.executions.workers.row_engine import LOCAL_ENGINE, EngineStep, RowTask
from penstock.datastore.objects.port import Files
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from penstock.server.runtime.dask.transport import PartFailed
from penstock.transform.csv_records import RecordSpan
from penstock.transform.csv_transform import CsvTransform, PartContext
from penstock.transform.outcome import RowCounts
from tests.datastore.conftest import implementation, table, watch
from tests.datastore.dataset_loads.sample_loads import index_always, loaded_dataset
from tests.datastore.executions.lookup_pipelines import lookup_pipeline, lookup_transformer
from tests.datastore.executions.sample_executions import (
    current_execution,
    pipeline_in,
    plant_pipeline,
    read_content,
    ready_execution,
)
from tests.datastore.objects.conftest import files, local, local_store, s3, s3_store
from tests.server.runtime.dask_machines import Machine, machine, machines, scheduler
from tests.server.runtime.row_inputs import (
    LARGE,
    MIXED,
    ODD_FILES,
    OPEN,
    collect_steps,
    name_file,
    run_task,
    task_of,
)
from tests.support.consistency_check import faults
from tests.support.patience import until
from tests.support.sample_resources import SUPER, USA, Watch, create_groups, on_sqlite

pytestmark = pytest.mark.runs_together("cluster")

cluster = pytest.importorskip("penstock.server.runtime.dask.cluster", reason="penstock[dask]")
parts = pytest.importorskip("penstock.server.runtime.dask.tasks")
calls = pytest.importorskip("penstock.server.runtime.dask.calls")

__all__ = [
    "files",
    "implementation",
    "index_always",
    "local",
    "local_store",
    "machine",
    "machines",
    "s3",
    "s3_store",
    "table",
    "watch",
]


async def test_parts_give_what_the_whole_gives(machines: Any, files: Files) -> None:
    task = await task_of(files, MIXED)
    whole = await run_task(LOCAL_ENGINE, files, task)
    assert whole[2].counts == RowCounts(3490, 2003, 1487, 33_912, 132_851)
    far = cluster.Cluster(machines.address, part_bytes=3_000)
    assert await run_task(far, files, task) == whole


@pytest.mark.parametrize("most", [0, 1, 2, 3])
async def test_it_stops_where_one_machine_stops(machines: Any, local: Files, most: int) -> None:
    task = await task_of(local, LARGE, most)
    whole = await run_task(LOCAL_ENGINE, local, task)
    assert (whole[2].refusal is None) == (most == 3)
    for size in (100_000, 500_001):
        assert await run_task(cluster.Cluster(machines.address, size), local, task) == whole


@pytest.mark.parametrize("data", ODD_FILES, ids=name_file)
async def test_odd_files_are_as_odd_in_parts(machines: Any, local: Files, data: bytes) -> None:
    task = await task_of(local, data)
    whole = await run_task(LOCAL_ENGINE, local, task)
    for size in (max(10, len(data) // 7), max(1, len(data) - 1)):
        assert await run_task(cluster.Cluster(machines.address, size), local, task) == whole


@pytest.mark.parametrize(("most", "data"), [(None, MIXED), (1, LARGE), (3, LARGE), (None, OPEN)])
async def test_results_that_would_fill_a_machine_are_made_piece_by_piece_here(
    machines: Any, local: Files, most: int | None, data: bytes
) -> None:
    task = await task_of(local, data, most)
    whole = await run_task(LOCAL_ENGINE, local, task)
    size = len(data) // 5
    for kept in (0, size // 2, size):
        far = cluster.Cluster(machines.address, size, result_bytes=kept)
        assert await run_task(far, local, task) == whole


async def test_a_machine_gives_up_a_part_whose_results_are_too_large(local: Files) -> None:
    task = await task_of(local, MIXED)
    source = parts.SourceUrl("")
    recipe = parts.ProgramRecipe("r", parts.installed_version(), task.plan, (), None)
    read = list[int]()

    def blocks(*_: object) -> Iterator[bytes]:
        for number in range(100):
            read.append(number)
            yield b"1,gas\n" * 100

    with mock.patch.object(parts, "fetch_range", blocks):
        header = CsvTransform(task.program, None)
        header.feed(MIXED[:19])
        span, above = RecordSpan(0, 60_000, 1), PartContext(header.form, 1)
        assert parts.transform(recipe, source, span, above, 2_000) is None
    assert len(read) < 10


@on_sqlite
async def test_machines_look_up_in_a_copy_of_an_index(
    store: Store, machines: Any, index_always: None
) -> None:
    made = await loaded_dataset(await create_groups(store), store)
    looked = lookup_transformer("LOOKUP('fuels', :fuel)")
    pipeline = await pipeline_in(store, USA, "asking", transformer=looked)
    data = b"fuel\n" + b"".join(b"key %d\n" % n for n in range(300))
    far = cluster.Cluster(machines.address, part_bytes=500)
    execution = await ready_execution(store, pipeline, data)
    assert await store.execution_worker("w", far).run_all() == 1
    assert (await current_execution(store, execution)).state == "success"
    lines = [b"%d.5\r\n" % n for n in range(300)]
    assert await read_content(store.files, output_key(execution)) == b"y\r\n" + b"".join(lines)
    table_file = parts.TableFile("D", made.content, parts.SourceUrl(""))
    with (
        mock.patch.object(parts, "fetch_range", return_value=[b"forged"]),
        pytest.raises(PartFailed, match="The index of the dataset D is damaged"),
    ):
        parts.read_rows(table_file)


async def test_what_a_lost_machine_took_along_is_done_again(machine: Machine, local: Files) -> None:
    task = await task_of(local, MIXED)
    whole = await run_task(LOCAL_ENGINE, local, task)
    async with scheduler() as lone:
        first = await machine(lone.address)
        async with aclosing(cluster.Cluster(lone.address, 2_000).steps(local, task)) as steps:
            taken = [await anext(steps) for _ in range(4)]
            await until(lambda: len(first.data) > 0)
            async with machine(lone.address):
                await first.close()
                assert await collect_steps(steps, taken) == whole


async def test_who_stops_reading_leaves_no_work_behind(machines: Any, local: Files) -> None:
    task = await task_of(local, MIXED)
    steps = cluster.Cluster(machines.address, 1_000).steps(local, task)
    await anext(steps)
    await anext(steps)
    await steps.aclose()
    await until(lambda: not machines.tasks)


@pytest.fixture
def store(table: Table, local: Files, watch: Watch) -> Store:
    rules = ExecutionRules(heartbeat=timedelta(milliseconds=20))
    return Store(table, clock=Clock(watch), files=local, execution_rules=rules)


@on_sqlite
async def test_an_execution_ends_alike_wherever_it_is_run(store: Store, machines: Any) -> None:
    pipeline = await plant_pipeline(store)
    found: list[tuple[object, ...]] = []
    for engine in (LOCAL_ENGINE, cluster.Cluster(machines.address, 3_000)):
        # The bounds differ, or the second execution would reuse the result of the first.
        most = 100_000 + len(found)
        made = await ready_execution(store, pipeline, MIXED, max_failed_rows=most)
        assert await store.execution_worker("w", engine).run_all() == 1
        over = await current_execution(store, made)
        output = await read_content(store.files, output_key(over))
        errors = await read_content(store.files, errors_key(over))
        found.append((over.state, over.counts, over.message, output, errors))
    assert found[0] == found[1]
    assert (found[0][0], found[0][2]) == ("success", None)
    assert await faults(store.table) == []


@on_sqlite
async def test_datasets_are_read_by_the_machines(store: Store, machines: Any) -> None:
    made = await ready_execution(
        store, await lookup_pipeline(store), b"fuel\n" + b"gas\noil\n" * 500
    )
    await store.execution_worker("w", cluster.Cluster(machines.address, 1_000)).run_all()
    over = await current_execution(store, made)
    assert (over.state, over.code, over.counts.succeeded) == ("success", None, 1000)
    output = await read_content(store.files, output_key(over))
    assert output == b"y\r\n" + b"27.5\r\n44\r\n" * 500


@on_sqlite
async def test_a_cancelled_execution_is_taken_back_from_the_cluster(store: Store) -> None:
    made = await ready_execution(store, await plant_pipeline(store), MIXED)
    async with scheduler() as idle:
        running = asyncio.create_task(
            store.execution_worker("w", cluster.Cluster(idle.address, 3_000)).run_one()
        )
        await until(lambda: bool(idle.tasks))
        await store.open_session(SUPER).executions.changing.cancel(made.id)
        assert await running
        await until(lambda: not idle.tasks)
    assert (await current_execution(store, made)).state == "cancelled"
    assert await read_content(store.files, output_key(made)) is None


@dataclass(frozen=True)
class InterruptedEngine:
    """A cluster whose worker learns of nothing while another one has the execution meanwhile."""

    inner: Any
    interrupt: Callable[[], Awaitable[object]]

    async def steps(self, files: Files, task: RowTask) -> AsyncGenerator[EngineStep]:
        async with aclosing(self.inner.steps(files, task)) as steps:
            yield await anext(steps)
            await self.interrupt()
            async for step in steps:
                yield step


@on_sqlite
@pytest.mark.parametrize("retried", [False, True])
async def test_answers_that_come_after_another_attempt_change_nothing(
    table: Table, local: Files, watch: Watch, machines: Any, *, retried: bool
) -> None:
    silent = ExecutionRules(heartbeat=timedelta(hours=1))
    store = Store(table, clock=Clock(watch), files=local, execution_rules=silent)
    made = await ready_execution(store, await plant_pipeline(store), MIXED)
    engine = cluster.Cluster(machines.address, 3_000)
    ended = list[tuple[Execution, Mapping[str, bytes | None]]]()

    async def state() -> tuple[Execution, Mapping[str, bytes | None]]:
        one = await current_execution(store, made)
        keys = await local.list("pipelines/", "")
        return one, {key: await read_content(local, key) for key in keys}

    async def let_another_end_it() -> None:
        if retried:
            changing = store.open_session(SUPER).executions.changing
            await changing.cancel(made.id)
            await changing.retry(made.id)
        watch.move(timedelta(hours=5))
        assert await store.execution_worker("heir", engine).run_all() == 1
        ended.append(await state())

    late = InterruptedEngine(engine, let_another_end_it)
    assert await store.execution_worker("late", late).run_one()
    over, kept = await state()
    assert [(over, kept)] == ended
    *_, whole = await run_task(LOCAL_ENGINE, local, await task_of(local, MIXED))
    assert (over.state, over.fence, over.counts) == ("success", 2, whole.counts)
    assert await faults(store.table) == []


@on_sqlite
async def test_without_a_cluster_an_execution_waits_for_one(store: Store, watch: Watch) -> None:
    made = await ready_execution(store, await plant_pipeline(store), MIXED)
    nowhere = cluster.Cluster("tcp://127.0.0.1:9", 3_000, connect_seconds=0.1)
    assert await store.execution_worker("w", nowhere).run_one()
    after = await current_execution(store, made)
    assert (after.attempts, after.code) == (1, None)
    watch.move(timedelta(minutes=5))
    assert await store.execution_worker("heir").run_all() == 1
    assert (await current_execution(store, made)).state == "success"


NO_SCHEDULERS = [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9, b"\xff" * 64, b"\x00" * 64]


@on_sqlite
@pytest.mark.parametrize("answer", NO_SCHEDULERS)
async def test_an_execution_waits_where_something_else_answers_as_the_scheduler_or_nothing(
    store: Store, answer: bytes
) -> None:
    async def say(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await ended.wait()
        writer.close()

    ended = asyncio.Event()
    made = await ready_execution(store, await plant_pipeline(store), MIXED)
    async with await asyncio.start_server(say, "127.0.0.1", 0) as other:
        port = other.sockets[0].getsockname()[1]
        engine = cluster.Cluster(f"tcp://127.0.0.1:{port}", 3_000, connect_seconds=0.1)
        assert await store.execution_worker("w", engine).run_one()
        ended.set()
    after = await current_execution(store, made)
    assert (after.state, after.attempts, after.code) == ("in_progress", 1, None)


async def test_rows_of_a_request_and_small_files_need_no_cluster(local: Files) -> None:
    nowhere = cluster.Cluster("tcp://127.0.0.1:9", connect_seconds=0.1)
    task = await task_of(local, MIXED)
    assert await run_task(nowhere, local, task) == await run_task(LOCAL_ENGINE, local, task)
    few = replace(task, execution=task.execution, size=10**9)
    with pytest.raises(Unavailable):
        await run_task(nowhere, local, few)


async def test_machines_without_penstock_live_and_do_not_work(
    machine: Machine, local: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "pack_call", lambda *_: b"cserver.gone\nsurvey\n.")
    task = await task_of(local, MIXED)
    async with scheduler() as found, machine(found.address) as only:
        with pytest.raises(Unavailable, match="Its machines have no Penstock, or another version"):
            await run_task(cluster.Cluster(found.address, 3_000), local, task)
        assert only.status.name == "running"


async def test_machines_of_another_version_are_found_out(
    machines: Any, local: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "installed_version", lambda: "0.0.1")
    task = await task_of(local, MIXED)
    with pytest.raises(Unavailable, match=r"cluster has Penstock .*, the worker 0\.0\.1"):
        await run_task(cluster.Cluster(machines.address, 3_000), local, task)
