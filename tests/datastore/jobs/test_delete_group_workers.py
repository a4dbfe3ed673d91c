"""Workers that delete a group: interrupted at every step, and concurrent with others."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import IllegalState, NotFound
from penstock.datastore.jobs.jobs import Job, JobState
from penstock.datastore.jobs.leases import LEASE_TIME
from penstock.datastore.roles import ROOT, GroupPath
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.datastore.jobs.sample_subtree import (
    STEPS,
    WITHIN,
    assert_only_the_rest,
    begin_deletion,
    follow,
    plant,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    NORTHWEST,
    SUPER,
    USA,
    Watch,
    make,
    on_sqlite,
    without_moto,
)
from tests.support.stores import open_table
from tests.support.table_interceptors import CutOffTable, InterruptedTable, dies

T = TypeVar("T")


class TickingHand(Watch):
    """A clock that moves with each reading, so that work takes time."""

    def __call__(self) -> datetime:
        self.move(timedelta(milliseconds=300))
        return self.time


def open_store(table: Table, watch: Watch) -> Store:
    return Store(table, clock=Clock(watch))


async def work_until_death(table: Table, watch: Watch, writes: int) -> bool:
    """Run jobs in a process that dies after so many writes; True if it died."""
    return await dies(open_store(CutOffTable(table, writes), watch).run_jobs("first"))


async def test_a_worker_that_dies_at_any_step_leaves_what_the_next_one_finishes(
    tmp_path: Path,
) -> None:
    counts = list[int]()
    while True:
        async with open_table("sqlite", tmp_path) as table:
            done = await let_next_finish(table, writes=len(counts))
        if done is None:
            break
        counts.append(done)
    assert len(counts) > 20
    assert counts == sorted(counts)
    assert counts[0] == 0 < counts[-1]


async def let_next_finish(table: Table, writes: int) -> int | None:
    """Let a worker die after so many writes, and the next one finish its job.

    Returns the steps of the first, or None if it came to the end.
    """
    watch, store = TickingHand(), Store(table)
    await plant(store)
    job = await begin_deletion(open_store(table, watch))
    if not await work_until_death(table, watch, writes):
        return None
    begun = await follow(store, job.id)
    assert begun.state is (JobState.RUNNING if writes else JobState.PENDING)
    assert await faults(table) == []
    watch.move(LEASE_TIME)
    assert await open_store(table, watch).run_jobs("second") == 1
    await assert_only_the_rest(store)
    ended = await follow(store, job.id)
    assert (ended.state, ended.done, ended.total) == (JobState.DONE, STEPS, STEPS)
    return begun.done


@on_sqlite
async def test_a_job_cut_off_again_and_again_gets_to_its_end(store: Store) -> None:
    await plant(store)
    job = await begin_deletion(store)
    watch = Watch()
    watch.time = Clock().now()
    rounds = 0
    while await work_until_death(store.table, watch, 8):
        rounds += 1
        assert await faults(store.table) == []
    assert rounds > 2
    assert (await follow(store, job.id)).done == STEPS
    await assert_only_the_rest(store)


@on_sqlite
async def test_a_held_job_is_left_alone_until_its_lease_runs_out(store: Store) -> None:
    await plant(store)
    watch = Watch()
    job = await begin_deletion(open_store(store.table, watch))
    assert await work_until_death(store.table, watch, 10)
    before = await contents(store.table)
    for still in (timedelta(), LEASE_TIME):
        watch.move(still)
        assert await open_store(store.table, watch).run_jobs("second") == 0
        assert await contents(store.table) == before
    watch.move(timedelta(milliseconds=1))
    assert await open_store(store.table, watch).run_jobs("second") == 1
    ended = await follow(store, job.id)
    assert (ended.state, ended.started_at) == (JobState.DONE, job.created_at)
    await assert_only_the_rest(store)


@on_sqlite
async def test_a_worker_who_comes_back_after_its_lease_stops_at_its_next_note(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    await plant(store)
    watch = Watch()
    job = await begin_deletion(open_store(store.table, watch))

    async def take_over() -> None:
        watch.move(LEASE_TIME + timedelta(seconds=1))
        assert await open_store(store.table, watch).run_jobs("second") == 1

    slow = InterruptedTable(store.table, take_over, writes=8)
    assert await open_store(slow, watch).run_jobs("first") == 0
    assert slow.other is None
    assert "another worker took the job" in caplog.text
    assert (await follow(store, job.id)).done == STEPS
    await assert_only_the_rest(store)


@without_moto
async def test_two_workers_at_one_job_take_everything_away_once(store: Store) -> None:
    await plant(store)
    job = await begin_deletion(store)
    watch = Watch()
    watch.time = Clock().now()
    # To each of them the lease of the other has expired.
    ahead = Watch()
    ahead.time = watch.time + 2 * LEASE_TIME
    first, second = open_store(store.table, watch), open_store(store.table, ahead)
    ended = await asyncio.gather(first.run_jobs("first"), second.run_jobs("second"))
    assert sum(ended) == 1
    assert (await follow(store, job.id)).state is JobState.DONE
    await assert_only_the_rest(store)


@without_moto
async def test_workers_who_come_at_once_share_no_job(store: Store) -> None:
    await plant(store)
    jobs = [await begin_deletion(store, group) for group in (NORTHWEST, USA)]
    ended = await asyncio.gather(*(store.run_jobs(f"w{n}") for n in range(4)))
    assert sum(ended) <= 2
    while await _unfinished_jobs(store, jobs):
        await store.run_jobs("last")
    await assert_only_the_rest(store)


async def _unfinished_jobs(store: Store, jobs: list[Job]) -> bool:
    return not all([(await follow(store, job.id)).is_over for job in jobs])


@without_moto
@pytest.mark.parametrize("seed", range(3))
async def test_whoever_writes_into_the_subtree_meanwhile_is_refused_or_goes_with_it(
    store: Store, seed: int
) -> None:
    made = await plant(store)
    await begin_deletion(store)
    session = store.open_session(SUPER)

    async def write(n: int) -> None:
        group = WITHIN[(n + seed) % len(WITHIN)]
        for step in range(5):
            await make(session, group, f"late {n} {step}")
            await session.groups.create(GroupPath(f"{group}/late{n}-{step}"), None)
            await session.pipelines.writing.grant(made["at eu"].id, group)
            await session.pipelines.writing.revoke(made["at eu"].id, group)

    async def share(n: int) -> None:
        for _ in range(5):
            await session.pipelines.writing.grant(made["lifted"].id, (USA, ROOT)[n % 2])
            await session.pipelines.writing.revoke(made["lifted"].id, (USA, ROOT)[n % 2])

    writing = [write(n) for n in range(6)] + [share(n) for n in range(2)]
    ended, *outcomes = await asyncio.gather(_until_done(store), *writing, return_exceptions=True)
    assert ended is None
    failures = {type(each) for each in outcomes if each is not None}
    assert failures <= {NotFound, IllegalState}
    await assert_only_the_rest(store)


async def _until_done(store: Store) -> None:
    while not await store.run_jobs("w"):
        await store.ping()
