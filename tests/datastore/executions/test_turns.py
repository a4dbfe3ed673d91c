"""Callers take turns at the workers: one caller keeps nobody else waiting."""

from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.executions.claims.claims import Claims
from penstock.datastore.executions.claims.queue import due_executions
from penstock.datastore.executions.claims.turns import KeptPlace, claimable_in_turn
from penstock.datastore.executions.records import Execution
from penstock.datastore.executions.rows import DueStage
from penstock.datastore.records import Pipeline
from penstock.datastore.roles import Caller, Role
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import ANN, current_execution, ready_execution
from tests.support.sample_resources import USA, on_sqlite

BOB, CAT = (Caller(name, {USA: Role.CONTRIBUTOR}) for name in ("bob", "cat"))
POOL = "@pool"


async def ready_ones(store: Store, pipeline: Pipeline, who: Caller, count: int) -> list[Execution]:
    return [await ready_execution(store, pipeline, who=who) for _ in range(count)]


async def claim(store: Store, execution: Execution, worker: str = "other") -> Execution:
    claims = Claims(store.table, store.clock, store.execution_rules)
    claimed = await claims.claim(execution, worker)
    assert claimed is not None
    return claimed


async def order(store: Store, kept: KeptPlace | None = None) -> list[str]:
    """Return the callers of the executions in the order in which a worker claims them."""
    rules = store.execution_rules
    found = await claimable_in_turn(store.table, store.clock.now(), rules, kept)
    return [one.created_by for one in found]


async def test_callers_come_in_rounds_and_the_idle_ones_first(
    store: Store, pipeline: Pipeline
) -> None:
    many = await ready_ones(store, pipeline, ANN, 7)
    await ready_ones(store, pipeline, BOB, 2)
    found = await order(store)
    assert [set(found[:2]), set(found[2:4]), found[4:]] == [{"ann", "bob"}] * 2 + [["ann"] * 5]
    for one in many[:2]:
        await claim(store, one)
    assert await order(store) == ["bob", "ann", "bob", "ann", "ann", "ann", "ann"]
    await ready_ones(store, pipeline, CAT, 1)
    assert set((await order(store))[:2]) == {"bob", "cat"}


async def test_what_runs_elsewhere_takes_no_turn_of_its_creator(
    store: Store, pipeline: Pipeline
) -> None:
    kept = KeptPlace(POOL, 1)
    external = store.open_session(ANN).executions.external
    for one in await ready_ones(store, pipeline, BOB, 2):
        await external.claim(one.id, f"mine{POOL}")
    await ready_ones(store, pipeline, BOB, 1)
    # A name that ends as those of the pool leaves none of its workers busy.
    assert await order(store, kept) == []
    (busy,) = await ready_ones(store, pipeline, CAT, 1)
    await claim(store, busy, f"a{POOL}")
    await ready_ones(store, pipeline, CAT, 2)
    assert await order(store) == ["bob", "cat", "cat"]
    assert await order(store, kept) == ["bob"]


async def test_a_worker_runs_the_execution_of_the_caller_who_has_none_running(
    store: Store, pipeline: Pipeline
) -> None:
    many = await ready_ones(store, pipeline, ANN, 20)
    await claim(store, many[0])
    (late,) = await ready_ones(store, pipeline, BOB, 1)
    assert await store.execution_worker("w").run_one()
    assert (await current_execution(store, late)).state == "success"
    states = [(await current_execution(store, one)).state for one in many]
    assert states == ["in_progress"] + ["waiting"] * 19


async def test_a_kept_place_is_for_callers_without_a_running_execution(
    store: Store, pipeline: Pipeline
) -> None:
    kept = KeptPlace(POOL, 2)
    many = await ready_ones(store, pipeline, ANN, 5)
    await claim(store, many[0], f"a{POOL}")
    assert await order(store, kept) == []
    await ready_ones(store, pipeline, BOB, 1)
    # Another worker of the pool is free for it.
    assert await order(store, kept) == []
    await claim(store, many[1], "b@another pool")
    assert await order(store, kept) == []
    await claim(store, many[2], f"c{POOL}")
    assert await order(store, kept) == ["bob"]
    worker = replace(store.execution_worker("w"), kept=kept)
    assert await worker.run_all() == 1
    assert await order(store, kept) == []
    assert await order(store) == ["ann", "ann"]


@on_sqlite
async def test_an_execution_whose_worker_died_counts_as_ready(
    store: Store, pipeline: Pipeline
) -> None:
    store = replace(
        store, execution_rules=replace(store.execution_rules, lease=timedelta(seconds=-120))
    )
    (dead,) = await ready_ones(store, pipeline, ANN, 1)
    await claim(store, dead)
    assert await order(store) == ["ann"]
    assert await order(store, KeptPlace(POOL, 0)) == ["ann"]


@on_sqlite
@pytest.mark.parametrize("pages", [1, 3, None])
async def test_a_claim_looks_at_a_bounded_part_of_the_queue(
    store: Store, pipeline: Pipeline, pages: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.datastore.table.pages.PAGE", 2)
    made = await ready_ones(store, pipeline, ANN, 60)
    found = [one async for one in due_executions(store.table, DueStage.READY, pages=pages)]
    parts: dict[int, int] = {}
    for one in made:
        part = int(one.id[-4:], 16) % 8
        parts[part] = parts.get(part, 0) + 1
    most = 60 if pages is None else 2 * pages
    assert len(found) == sum(min(count, most) for count in parts.values())


@on_sqlite
@pytest.mark.parametrize("kept", [None, KeptPlace(POOL, 1)])
async def test_a_caller_behind_a_long_queue_of_others_has_a_turn(
    store: Store, pipeline: Pipeline, kept: KeptPlace | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.datastore.table.pages.PAGE", 2)
    monkeypatch.setattr("penstock.datastore.executions.claims.turns.PAGE", 2)
    many = await ready_ones(store, pipeline, ANN, 100)
    await claim(store, many[0], f"w{POOL}")
    await ready_ones(store, pipeline, BOB, 1)
    found = await order(store, kept)
    assert found[0] == "bob"
    assert set(found[1:]) == (set() if kept else {"ann"})
