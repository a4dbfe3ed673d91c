"""Reports: each change of an execution is told once, with counts and times and no user's data."""

from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from penstock.datastore.executions.claims.claims import Claims, ExecutionQueue
from penstock.datastore.executions.claims.queue import COUNTED, SAMPLED
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.records import ExecutionRules
from penstock.datastore.executions.rows import SHARD_COUNT
from penstock.datastore.jobs.jobs import COUNTED as COUNTED_JOBS
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.layout import EXECUTION, EXECUTION_DUE, JOB
from penstock.datastore.table.port import Item, Put
from penstock.datastore.work_reports import ExecutionChange, ExecutionReport
from tests.datastore.executions.sample_executions import (
    ANN,
    INPUT,
    OUTPUT,
    begin_execution,
    current_execution,
    ready_execution,
)
from tests.support.sample_resources import Watch, on_sqlite

MINUTE = timedelta(minutes=1)


@pytest.fixture
def told() -> list[ExecutionReport]:
    return []


@pytest.fixture
def watched(store: Store, told: list[ExecutionReport]) -> Store:
    return replace(store, execution_rules=ExecutionRules(watch=told.append))


def changes(told: list[ExecutionReport]) -> list[tuple[str, int, str | None]]:
    """The changes with their attempts and reasons, and the list is empty again."""
    found = [(one.change.value, one.attempt, one.reason) for one in told]
    told.clear()
    return found


async def test_a_success_is_told_with_what_was_worked(
    watched: Store, pipeline: Pipeline, told: list[ExecutionReport], watch: Watch
) -> None:
    made = await ready_execution(watched, pipeline)
    watch.move(2 * MINUTE)
    assert await watched.execution_worker("w").run_all() == 1
    created, started, ended = told
    assert [one.change for one in told] == ["created", "started", "succeeded"]
    assert {(one.id, one.pipeline, one.mode) for one in told} == {(made.id, pipeline.id, "job")}
    assert created.at == (watch.time - 2 * MINUTE).timestamp()
    assert (started.at, started.attempt, started.waited) == (watch.time.timestamp(), 1, 120.0)
    assert (started.seconds, ended.waited, ended.seconds) == (None, None, 0.0)
    assert (ended.rows_succeeded, ended.rows_failed) == (2, 1)
    over = await current_execution(watched, made)
    assert (ended.bytes_read, ended.bytes_written) == (len(INPUT), over.bytes_written)
    assert over.bytes_written >= len(OUTPUT)


async def test_a_copied_result_is_a_success_without_work(
    watched: Store, pipeline: Pipeline, told: list[ExecutionReport]
) -> None:
    for _ in range(2):
        await ready_execution(watched, pipeline)
        assert await watched.execution_worker("w").run_all() == 1
    assert told[-1].change is ExecutionChange.SUCCEEDED
    assert (told[-1].rows_succeeded, told[-1].bytes_read, told[-1].bytes_written) == (0, 0, 0)


async def test_a_failure_has_a_code_and_no_message(
    watched: Store, pipeline: Pipeline, told: list[ExecutionReport]
) -> None:
    await ready_execution(watched, pipeline, b"distance,fuel\ns3cr3t,gas\n")
    assert await watched.execution_worker("w").run_all() == 1
    assert changes(told) == [
        ("created", 0, None),
        ("started", 1, None),
        ("failed", 1, "ALL_ROWS_FAILED"),
    ]


async def test_cancel_and_retry_are_told_and_a_repeated_cancel_is_not(
    watched: Store, pipeline: Pipeline, told: list[ExecutionReport]
) -> None:
    made = await begin_execution(watched, pipeline)
    changing = watched.open_session(ANN).executions.changing
    for _ in range(2):
        await changing.cancel(made.id)
    assert told[-1].seconds is None
    await changing.retry(made.id)
    assert changes(told) == [("created", 0, None), ("cancelled", 0, None), ("retried", 0, None)]


async def test_a_repeated_creation_is_told_once(
    watched: Store, pipeline: Pipeline, told: list[ExecutionReport]
) -> None:

    wanted = ExecutionRequest(pipeline_id=pipeline.id)
    for _ in range(2):
        await watched.open_session(ANN).executions.creating.create(wanted, "key")
    assert changes(told) == [("created", 0, None)]


async def test_a_claim_that_another_worker_took_over_is_told_by_both(
    watched: Store, pipeline: Pipeline, told: list[ExecutionReport], watch: Watch
) -> None:
    made = await ready_execution(watched, pipeline)
    claims = Claims(watched.table, watched.clock, watched.execution_rules)
    first = await claims.claim(made, "a")
    assert first is not None
    watch.move(5 * MINUTE)
    assert await watched.execution_worker("b").run_one()
    await watched.execution_worker("a").run(msgspec.structs.replace(first, attempts=99))
    assert changes(told) == [
        ("created", 0, None),
        ("started", 1, None),
        ("taken_over", 2, None),
        ("succeeded", 2, None),
        ("claim_lost", 99, "taken_over"),
    ]


async def test_the_claim_of_a_worker_that_died_is_told_once(
    watched: Store, pipeline: Pipeline, told: list[ExecutionReport]
) -> None:
    made = await ready_execution(watched, pipeline)
    claims = Claims(watched.table, watched.clock, watched.execution_rules)
    assert await claims.claim(made, "a") is not None
    told.clear()
    assert await watched.release_executions("a") == 1
    assert changes(told) == [("claim_lost", 1, "worker_died")]


async def test_a_report_survives_its_way_between_processes(
    watched: Store, pipeline: Pipeline, told: list[ExecutionReport]
) -> None:
    await ready_execution(watched, pipeline)
    assert await watched.execution_worker("w").run_all() == 1
    sent = [msgspec.json.encode(one) for one in told]
    assert [msgspec.json.decode(one, type=ExecutionReport) for one in sent] == told


async def read_queue(store: Store) -> ExecutionQueue:
    executions, _ = await store.read_queues()
    return executions


async def test_the_queue_counts_what_waits_and_what_runs(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    assert await read_queue(store) == (0, 0, 0.0)
    made = [await ready_execution(store, pipeline) for _ in range(3)]
    await begin_execution(store, pipeline)  # waits for its input
    watch.move(MINUTE)
    made.append(await ready_execution(store, pipeline))
    watch.move(MINUTE)
    assert await read_queue(store) == (4, 0, 120.0)
    claims = Claims(store.table, store.clock, store.execution_rules)
    for one in made[:3]:
        assert await claims.claim(one, "w") is not None
    assert await read_queue(store) == (1, 3, 60.0)
    assert await store.execution_worker("w2").run_all() == 1
    assert await read_queue(store) == (0, 3, 0.0)


async def test_an_execution_whose_claim_ran_out_waits_since_the_last_heartbeat(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    made = await ready_execution(store, pipeline)
    claims = Claims(store.table, store.clock, store.execution_rules)
    watch.move(10 * MINUTE)
    assert await claims.claim(made, "w") is not None
    watch.move(3 * MINUTE)
    assert await read_queue(store) == (1, 0, 180.0)


@on_sqlite
async def test_the_queue_costs_the_same_however_long_it_is(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    empty = await cost_of_queues(store)
    assert empty == 8 * 0.5 + 0.5
    made = [await ready_execution(store, pipeline) for _ in range(150)]
    rows = [waiting_row(number, made[0].due) for number in range(2 * COUNTED)]
    for start in range(0, len(rows), 25):
        await store.table.write([Put(row) for row in rows[start : start + 25]])
    watch.move(MINUTE)
    long = await cost_of_queues(store)
    assert SAMPLED == 96
    # 8 queries of 125 rows, 96 executions that are there or not, and no job.
    assert 8 * 1.5 < long <= 8 * 1.5 + SAMPLED * 0.5 + 0.5 == 60.5
    assert await read_queue(store) == (COUNTED, 0, 60.0)


@on_sqlite
async def test_the_longest_names_make_the_queues_cost_four_times_as_much(store: Store) -> None:
    """Executions are 4 KB long here, of the longest name, and imports of the longest prefix."""
    name, prefix = "\N{GRINNING FACE}" * 255, "p" * 1024
    rows: list[Item] = []
    for number in range(2 * COUNTED):
        row = {**waiting_row(number, 1_660_000_000_000), "by": name}
        rows.append(row)
        if number < SAMPLED:
            id = str(row["sk"])[-36:]
            rows.append({**EXECUTION.item(id=id, pipeline=id), "message": "m" * 3700})
    created = store.clock.timestamp()
    for number in range(2 * COUNTED_JOBS):
        job: Item = {"kind": "import_audio", "createdAt": created, "createdBy": name}
        job |= {"prefix": prefix, "cursor": prefix, "worker": "w" * 60, "connection": "c" * 36}
        rows.append({**JOB.item(id=f"0197f000-0000-7000-8000-{number:012x}"), **job})
    for start in range(0, len(rows), 25):
        await store.table.write([Put(row) for row in rows[start : start + 25]])
    assert 200 < await cost_of_queues(store) <= 225


async def cost_of_queues(store: Store) -> float:
    metered = MeteredTable(store.table)
    await replace(store, table=metered).read_queues()
    return metered.units.rcu


def waiting_row(number: int, after: int) -> Item:
    """A row of the queue behind all executions; a sample does not read its execution."""
    shard, id = number % SHARD_COUNT, f"0197f000-0000-7000-8000-{number:012x}"
    row = EXECUTION_DUE.item(stage="ready", shard=shard, due=after + 1000 + number, id=id)
    return {**row, "by": "ann"}
