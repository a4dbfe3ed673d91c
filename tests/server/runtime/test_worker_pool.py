"""Worker processes: started for work, replaced when they die, and gone with their server."""

import asyncio
import os
import signal
import sys
from asyncio import create_subprocess_exec
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import msgspec
import pytest

from penstock.datastore.errors import RequestRefused
from penstock.datastore.executions.files import errors_key, output_key
from penstock.datastore.executions.records import Execution
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.datastore.work_reports import ExecutionChange, ExecutionReport
from penstock.server.runtime.stores import build_store, open_files, open_table
from penstock.server.runtime.worker import WorkerProcessConfig
from penstock.server.runtime.worker_pool import WorkerPool, run_workers
from penstock.server.settings.settings import Settings
from penstock.server.telemetry.instrument import Instrumentation
from tests.datastore.executions.lookup_pipelines import lookup_pipeline
from tests.datastore.executions.sample_executions import (
    ANN,
    ERRORS,
    INPUT,
    NORA,
    OUTPUT,
    current_execution,
    plant_pipeline,
    read_content,
    ready_execution,
)
from tests.support.consistency_check import faults
from tests.support.patience import HUNG_SECONDS, until
from tests.support.server_process import environment
from tests.support.warm_start import Program, start_program

pytestmark = pytest.mark.runs_together("pool")

LONG = b"distance,fuel\n" + b"1.5,gas\n" * 240_000
ENDS = (ExecutionChange.SUCCEEDED, ExecutionChange.FAILED)
LONG_OUTPUT = b"return,co2\r\n" + b"3,0.75\r\n" * 240_000


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings.load(
        data_dir=tmp_path,
        execution_workers=2,
        execution_poll_seconds=0.1,
        shutdown_seconds=int(HUNG_SECONDS),
    )


@pytest.fixture
async def store(settings: Settings) -> AsyncIterator[Store]:
    async with open_table(settings) as table, open_files(settings) as files:
        await table.create()
        yield build_store(table, settings, files)


@pytest.fixture
async def pipeline(store: Store) -> Pipeline:
    return await plant_pipeline(store)


async def wait_for_state(store: Store, execution: Execution, *states: str) -> Execution:
    async with asyncio.timeout(HUNG_SECONDS):
        while True:
            found = await current_execution(store, execution)
            if found.state in states:
                return found
            await asyncio.sleep(0.05)


async def test_no_process_is_there_without_work_and_one_comes_with_it(
    store: Store, pipeline: Pipeline, settings: Settings
) -> None:
    async with run_workers(store, settings) as pooled:
        await asyncio.sleep(0.05)
        made = await ready_execution(pooled, pipeline)
        over = await wait_for_state(store, made, "success", "failed")
    assert (over.state, over.counts.failed) == ("success", 1)
    assert await read_content(store.files, output_key(made)) == OUTPUT
    assert await read_content(store.files, errors_key(made)) == ERRORS
    assert await faults(store.table) == []


async def test_what_processes_do_is_counted_in_their_server(
    store: Store, pipeline: Pipeline, settings: Settings
) -> None:
    instrumentation = Instrumentation.of(settings)
    metrics = instrumentation.metrics
    assert metrics is not None

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(f"penstock_{name}", labels)

    async with run_workers(store, settings, instrumentation) as pooled:
        assert value("execution_workers") == 0
        made = await ready_execution(pooled, pipeline)
        await wait_for_state(store, made, "success")
        # A process reports behind its commit, and not at all once it is stopped.
        await until(lambda: value("executions_ended_total", mode="job", state="succeeded"))
        assert value("execution_workers") in (1, 2)
    assert value("execution_workers") == 0
    assert value("executions_started_total", mode="job") == 1
    assert value("executions_ended_total", mode="job", state="succeeded") == 1
    assert value("execution_rows_total", outcome="failed") == 1
    assert value("execution_bytes_total", direction="read") == len(INPUT)


async def test_a_killed_process_is_told_as_a_lost_claim(
    store: Store, pipeline: Pipeline, settings: Settings
) -> None:
    told: list[ExecutionReport] = []
    rules = replace(store.execution_rules, watch=told.append)
    made = await ready_execution(store, pipeline, LONG)
    pool = WorkerPool(replace(store, execution_rules=rules), settings, told.append)
    running = asyncio.create_task(pool.run())
    await until(lambda: told)
    for process in pool.processes:
        os.kill(process, signal.SIGKILL)
    await wait_for_state(store, made, "success", "failed")
    # The last report comes behind its commit.
    await until(lambda: told[-1].change in ENDS)
    running.cancel()
    await asyncio.wait([running])
    await pool.stop()
    found = [(one.change.value, one.attempt, one.reason) for one in told]
    assert found == [
        ("started", 1, None),
        ("claim_lost", 1, "worker_died"),
        ("taken_over", 2, None),
        ("succeeded", 2, None),
    ]
    assert {one.id for one in told} == {made.id}


async def test_a_process_looks_values_up_in_the_datasets_of_the_plan(
    store: Store, settings: Settings
) -> None:
    pipeline = await lookup_pipeline(store)
    async with run_workers(store, settings) as pooled:
        made = await ready_execution(pooled, pipeline, b"fuel\ngas\noil\n")
        over = await wait_for_state(store, made, "success", "failed")
    assert (over.state, over.counts.succeeded) == ("success", 2)
    assert await read_content(store.files, output_key(made)) == b"y\r\n27.5\r\n44\r\n"


async def test_one_caller_holds_all_but_one_of_the_workers(
    store: Store, pipeline: Pipeline, settings: Settings
) -> None:
    made = [await ready_execution(store, pipeline, INPUT * 500) for _ in range(4)]
    settings = settings.model_copy(update={"execution_workers": 3})
    async with run_workers(store, settings) as pooled:
        other = await ready_execution(pooled, pipeline, who=NORA)
        await wait_for_state(store, other, "success")
        over = [await wait_for_state(store, one, "success") for one in made]
    for begun in (one.claimed_at or "" for one in over):
        running = [one for one in over if (one.claimed_at or "") <= begun < (one.finished_at or "")]
        assert len(running) <= 2


async def test_a_pool_without_places_starts_no_process(
    store: Store, pipeline: Pipeline, settings: Settings
) -> None:
    made = await ready_execution(store, pipeline)
    pool = WorkerPool(store, settings.model_copy(update={"execution_workers": 0}))
    await pool._fill()
    assert pool.processes == ()
    assert (await current_execution(store, made)).state == "waiting"


async def test_a_killed_worker_is_noticed_and_its_run_finished_by_the_next(
    store: Store, pipeline: Pipeline, settings: Settings
) -> None:
    made = await ready_execution(store, pipeline, LONG)
    pool = WorkerPool(store, settings)
    running = asyncio.create_task(pool.run())
    await wait_for_state(store, made, "in_progress")
    killed = pool.processes
    for process in killed:
        os.kill(process, signal.SIGKILL)
    over = await wait_for_state(store, made, "success", "failed")
    running.cancel()
    await asyncio.wait([running])
    await pool.stop()
    assert (over.state, over.fence, over.rows) == ("success", 2, 240_000)
    assert await read_content(store.files, output_key(over)) == LONG_OUTPUT
    assert pool.processes == ()
    assert await faults(store.table) == []


async def test_a_pool_goes_on_where_the_end_of_a_process_cannot_be_noted(
    store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_store: Store, _worker: str) -> int:
        raise RequestRefused("TransactWriteItems", "ValidationException", "made up")

    class DeadProcess:
        pid, stdout = 1, None

        async def wait(self) -> int:
            return 1

    monkeypatch.setattr(Store, "release_executions", refuse)
    pool = WorkerPool(store, settings)
    pool._processes["w"] = ended = cast("Process", DeadProcess())
    await pool._watch("w", ended)
    assert pool.processes == ()


async def test_a_stopped_pool_leaves_its_runs_to_others_and_no_process_behind(
    store: Store, pipeline: Pipeline, settings: Settings
) -> None:
    async with run_workers(store, settings) as pooled:
        made = await ready_execution(pooled, pipeline, LONG)
        await wait_for_state(store, made, "in_progress")
    left = await current_execution(store, made)
    assert (left.state, left.attempts) == ("in_progress", 0)
    assert await store.execution_worker("w").run_one()
    assert (await current_execution(store, made)).state == "success"


async def test_a_worker_process_ends_when_its_server_is_gone(settings: Settings) -> None:
    async with open_table(settings) as table:
        await table.create()
    # A new process, and not a fork as of the other tests.
    process = await create_subprocess_exec(
        sys.executable, "-m", "penstock.server.runtime.worker", stdin=PIPE
    )
    assert process.stdin is not None
    given = settings.model_dump(mode="json", exclude_unset=True)
    orders = WorkerProcessConfig("w", given, poll=60, idle=600)
    process.stdin.write(msgspec.json.encode(orders) + b"\n\n")
    await asyncio.sleep(0.5)
    assert process.returncode is None
    process.stdin.close()
    async with asyncio.timeout(HUNG_SECONDS):
        assert await process.wait() == 0


def start_worker(settings: Settings, *options: str) -> Program:
    """Start a worker of its own, beside no server."""
    arguments = ("worker", "--data-dir", str(settings.data_dir), *options)
    return start_program(
        "penstock", *arguments, variables=environment(), output=DEVNULL, errors=DEVNULL
    )


async def test_workers_of_their_own_run_what_is_ready_once_and_end(
    store: Store, pipeline: Pipeline, settings: Settings
) -> None:
    made = [await ready_execution(store, pipeline, INPUT + b"%d,gas\n" % n) for n in range(20)]
    programs = [start_worker(settings, "--once") for _ in range(2)]
    assert [program.wait(HUNG_SECONDS) for program in programs] == [0, 0]
    over = [await current_execution(store, one) for one in made]
    found = [(one.state, one.fence, one.rows, one.message) for one in over]
    assert found == [("success", 1, 4, None)] * 20
    assert await faults(store.table) == []


async def test_a_worker_of_its_own_stops_when_it_is_told_to(
    store: Store, pipeline: Pipeline, settings: Settings
) -> None:
    made = await ready_execution(store, pipeline, LONG)
    program = start_worker(settings)
    await wait_for_state(store, made, "in_progress")
    program.terminate()
    assert program.wait(HUNG_SECONDS) == 0
    assert (await current_execution(store, made)).attempts == 0
    cancelled = await store.open_session(ANN).executions.changing.cancel(made.id)
    assert cancelled.state == "cancelled"
