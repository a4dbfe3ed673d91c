"""Concurrent Transformers and Loaders do each step of each run once, despite faults."""

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta
from random import Random, uniform
from typing import Any, TypeVar

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import IllegalState, LeaseLost, Unavailable
from penstock.datastore.manifest.lists import RunListFilter
from penstock.datastore.manifest.records import Action, Run, RunState, Stage
from penstock.datastore.manifest.transitions import Claim, MarkLoaded, MarkProcessed
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table
from penstock.datastore.tag_search.search import run_together
from tests.datastore.manifest.sample_runs import SNOW, TYPES, discover, run_faults, run_name
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import SUPER, Watch, create_groups, without_moto
from tests.support.table_interceptors import InterceptedTable

pytestmark = without_moto

T = TypeVar("T")
RUNS = int(os.environ.get("RACED_RUNS", "200"))
"""On the embedded table; a quarter of them where each request goes over HTTP."""
TRANSFORM, LOAD = Stage.TRANSFORM, Stage.LOAD
BEFORE = {TRANSFORM: RunState.NEW, LOAD: RunState.PROCESSED}


class FlakyTable(InterceptedTable):
    """A table that loses answers of writes, sends some writes twice, and drops others."""

    def __init__(self, table: Table, seed: int) -> None:
        super().__init__(table)
        self.random = Random(seed)

    async def transact(self, operations: Any) -> float:
        chance = self.random.random()
        if chance < 0.05:
            raise Unavailable("nothing was done")
        units = await self._table.transact(operations)
        if chance < 0.15:
            raise Unavailable("the answer was lost")
        return units if chance < 0.95 else await self._table.transact(operations)


async def until_answered(call: Callable[[], Awaitable[T]]) -> T:
    while True:
        try:
            return await call()
        except Unavailable:
            # Long enough for other workers to change the run.
            await asyncio.sleep(uniform(0, 0.02))


class Worker:
    """A process that claims runs, works on them and reports the end; `done` counts its steps."""

    def __init__(self, store: Store, name: str, stage: Stage, left: set[str]) -> None:
        self.session = store.open_session(SUPER)
        self.name, self.stage, self.left = name, stage, left
        self.done: Counter[str] = Counter()

    async def work(self) -> None:
        while self.left:
            listed = RunListFilter(state=BEFORE[self.stage])
            page = await self.session.run_lists.page(SNOW, listed, Window(size=10))
            for _, run in page.entries:
                await self.take(run)
            await asyncio.sleep(0.001)

    async def take(self, run: Run) -> None:
        ask = Claim(stage=self.stage, owner=self.name, seconds=3600)
        try:
            held = await until_answered(lambda: self.session.runs.change(run.name, ask))
        except IllegalState:
            return
        self.done[run.run_id] += 1
        await until_answered(lambda: self.session.runs.change(run.name, self.result(held)))
        self.left.discard(run.run_id)

    def result(self, held: Run) -> MarkProcessed | MarkLoaded:
        if self.stage is LOAD:
            return MarkLoaded(fence=held.fence, loaded_by=self.name)
        return MarkProcessed(
            fence=held.fence, shred_types=TYPES, saved_to=f"s3://stage/{held.run_id}"
        )


async def race(store: Store, count: int, worked: Callable[[int], Store]) -> list[Worker]:
    session = await create_groups(store)
    ids = {f"run={n:03}/" for n in range(count)}
    left = {TRANSFORM: set(ids), LOAD: set(ids)}
    workers = [
        Worker(worked(n), f"{stage}-{n}", stage, left[stage])
        for n, stage in enumerate((TRANSFORM, TRANSFORM, LOAD, LOAD))
    ]

    async def find() -> None:
        for id in sorted(ids):
            await discover(session, id)

    await discover(session, "run=000/")
    await run_together([find(), find(), *(worker.work() for worker in workers)])
    return workers


async def assert_each_step_once(store: Store, count: int) -> None:
    rows = await contents(store.table)
    told = Counter(
        (key.pk, str(item["action"]), str(item.get("before")))
        for key, item in rows.items()
        if key.sk.startswith("RH:")
    )
    runs = [item for key, item in rows.items() if key.sk == "R"]
    assert len(runs) == count
    assert {run["State"] for run in runs} == {"LOADED"}
    assert set(told.values()) == {1}
    assert len(told) == 5 * count
    assert await run_faults(store.table) == []
    assert await faults(store.table) == []


async def test_two_transformers_and_two_loaders_do_each_step_of_each_run_once(
    store: Store, implementation: str
) -> None:
    count = RUNS if implementation == "sqlite" else RUNS // 4
    workers = await race(store, count, lambda _: store)
    for stage in Stage:
        done = sum((w.done for w in workers if w.stage is stage), Counter[str]())
        assert len(done) == count
        assert set(done.values()) == {1}
    await assert_each_step_once(store, count)


@pytest.mark.parametrize("seed", range(3))
async def test_lost_answers_make_no_step_happen_twice(
    store: Store, implementation: str, seed: int
) -> None:
    count = RUNS // 2 if implementation == "sqlite" else RUNS // 10
    workers = await race(store, count, lambda n: Store(FlakyTable(store.table, 4 * seed + n)))
    for stage in Stage:
        done = sum((w.done for w in workers if w.stage is stage), Counter[str]())
        assert len(done) == count
        assert set(done.values()) == {1}
    await assert_each_step_once(store, count)


async def test_the_runs_of_workers_who_die_are_taken_over_and_finished_once(
    table: Table, implementation: str
) -> None:
    count = 60 if implementation == "sqlite" else 15
    watch, random = Watch(), Random(1)
    store = Store(table, Clock(now=watch))
    session = await create_groups(store)
    for n in range(count):
        await discover(session, f"run={n:03}/")
    tokens: Counter[str] = Counter()
    refused = 0
    for turn in range(2000):
        n, stage = random.randrange(count), random.choice([*Stage])
        name = run_name(f"run={n:03}/")
        watch.move(timedelta(seconds=1))
        try:
            claim = Claim(stage=stage, owner=f"worker-{turn}", seconds=20)
            held = await session.runs.change(name, claim)
        except IllegalState:
            continue
        tokens[held.idempotency_key] += 1
        if random.random() < 0.3:
            continue
        late = random.random() < 0.3
        if late:
            watch.move(timedelta(seconds=20))
            await session.runs.change(name, Claim(stage=stage, owner="thief", seconds=20))
        refused += await _finish(session, held, stage, late=late)
        if await _all_loaded(session, count):
            break
    assert set(tokens.values()) == {1}
    assert refused > 0
    told = Counter(
        (key.pk, str(item["action"]))
        for key, item in (await contents(table)).items()
        if key.sk.startswith("RH:")
    )
    finished = [n for (_, action), n in told.items() if action in {Action.PROCESSED, Action.LOADED}]
    assert finished == [1] * (2 * count)
    assert await run_faults(table) == []


async def _finish(session: Session, held: Run, stage: Stage, *, late: bool) -> int:
    """Report that the stage is done; 1 if another worker has taken the run over."""
    done: MarkProcessed | MarkLoaded = MarkLoaded(fence=held.fence, loaded_by="l")
    if stage is TRANSFORM:
        done = MarkProcessed(fence=held.fence, shred_types=(), saved_to="s3://stage/x/")
    try:
        await session.runs.change(held.name, done)
    except LeaseLost:
        assert late
        return 1
    assert not late
    return 0


async def _all_loaded(session: Session, count: int) -> bool:
    listed = RunListFilter(state=RunState.LOADED)
    page = await session.run_lists.page(SNOW, listed, Window(size=count))
    return len(page.entries) == count
