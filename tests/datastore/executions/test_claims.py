"""Claims: exactly one worker holds an execution, whatever the clocks and however many tries."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.executions.claims.claims import ClaimLost, Claims, with_end_state
from penstock.datastore.executions.records import ExecutionRules, ExecutionState
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.records import Pipeline
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.transform.outcome import RowCounts
from tests.datastore.executions.sample_executions import (
    ANN,
    begin_execution,
    current_execution,
    event_history,
    plant_pipeline,
    ready_execution,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import Watch, on_sqlite, without_moto

RULES = ExecutionRules()
COUNTS = RowCounts(10, 9, 1, 100, 200)


def claims(store: Store, skew: timedelta = timedelta(0)) -> Claims:
    """The claims of a worker whose clock is off by `skew`."""
    return Claims(store.table, Clock(lambda: store.clock.now() + skew), RULES)


@without_moto
async def test_of_two_who_claim_at_once_exactly_one_wins_200_times(
    store: Store, pipeline: Pipeline
) -> None:
    execution = await ready_execution(store, pipeline)
    for fence in range(1, 201):
        found = await current_execution(store, execution)
        won = [
            one
            for one in await asyncio.gather(*(claims(store).claim(found, w) for w in "ab"))
            if one
        ]
        assert [one.fence for one in won] == [fence]
        standing = await current_execution(store, execution)
        assert (standing.worker, standing.fence) == (won[0].worker, fence)
        await claims(store).release_claim(won[0], count_attempt=False)
    assert (await current_execution(store, execution)).attempts == 0


async def test_of_two_connections_to_one_file_exactly_one_wins_200_times(
    tmp_path: Path, files: LocalFiles, watch: Watch
) -> None:
    async with AsyncExitStack() as opened:
        stores = []
        for _ in "ab":
            table = SqliteTable.open(tmp_path / "penstock.db")
            opened.push_async_callback(table.close)
            await table.create()
            stores.append(Store(table, clock=Clock(watch), files=files))
        execution = await ready_execution(stores[0], await plant_pipeline(stores[0]))
        winners = set()
        for fence in range(1, 201):
            found = await current_execution(stores[0], execution)
            takers = [claims(store).claim(found, w) for store, w in zip(stores, "ab", strict=True)]
            (won,) = [one for one in await asyncio.gather(*takers[:: (-1) ** fence]) if one]
            standing = await current_execution(stores[1], execution)
            assert (standing.worker, standing.fence) == (won.worker, fence)
            await claims(stores[0]).release_claim(won, count_attempt=False)
            winners.add(won.worker)
        assert winners == {"a", "b"}


async def test_a_claim_is_noted_and_its_progress_told(store: Store, pipeline: Pipeline) -> None:
    held = await claims(store).claim(await ready_execution(store, pipeline), "w")
    assert held is not None
    await claims(store).send_heartbeat(held, COUNTS)
    standing = await current_execution(store, held)
    assert (standing.state, standing.worker, standing.fence) == ("in_progress", "w", 1)
    assert standing.counts == COUNTS
    assert standing.started_at == "2022-08-10T23:55:20.322Z"
    assert standing.held_until == "2022-08-10T23:55:50.322Z"
    assert standing.revision == 4
    assert (await event_history(store.open_session(ANN), held))[-1] == (
        "claimed",
        "in_progress",
        "w",
    )
    assert await faults(store.table) == []


@on_sqlite
async def test_what_waits_for_its_input_is_not_claimed(store: Store, pipeline: Pipeline) -> None:
    waiting = await begin_execution(store, pipeline)
    before = await contents(store.table)
    assert await claims(store).claim(waiting, "w") is None
    assert await contents(store.table) == before


@on_sqlite
@pytest.mark.parametrize("skew", [-60, 0, 60], ids="{:+}s".format)
async def test_who_gives_signs_of_life_keeps_it_though_clocks_differ_by_a_minute(
    store: Store, pipeline: Pipeline, watch: Watch, skew: int
) -> None:
    other = claims(store, timedelta(seconds=skew))
    held = await claims(store).claim(await ready_execution(store, pipeline), "w")
    assert held is not None
    for _ in range(20):
        watch.move(timedelta(seconds=29))
        assert await other.claim(await current_execution(store, held), "thief") is None
        await claims(store).send_heartbeat(held, COUNTS)
    assert (await current_execution(store, held)).fence == 1


@on_sqlite
@pytest.mark.parametrize("skew", [-60, 0, 60], ids="{:+}s".format)
async def test_who_gives_no_sign_of_life_is_replaced_in_bounded_time(
    store: Store, pipeline: Pipeline, watch: Watch, skew: int
) -> None:
    held = await claims(store).claim(await ready_execution(store, pipeline), "w")
    assert held is not None
    watch.move(RULES.lease + RULES.clock_skew + timedelta(seconds=61))
    other = claims(store, timedelta(seconds=skew))
    taken = await other.claim(await current_execution(store, held), "heir")
    assert taken is not None
    assert (taken.fence, taken.attempts, taken.counts) == (2, 2, RowCounts())
    assert (await event_history(store.open_session(ANN), held))[-1] == (
        "taken_over",
        "in_progress",
        "heir",
    )


@on_sqlite
async def test_nothing_that_a_zombie_says_counts(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    zombie = await claims(store).claim(await ready_execution(store, pipeline), "zombie")
    assert zombie is not None
    watch.move(timedelta(minutes=3))
    heir = await claims(store).claim(await current_execution(store, zombie), "heir")
    assert heir is not None
    before = await contents(store.table)
    over = with_end_state(zombie, ExecutionState.SUCCESS, watch(), RULES)
    with pytest.raises(ClaimLost):
        await claims(store).send_heartbeat(zombie, COUNTS)
    with pytest.raises(ClaimLost):
        await claims(store).end(zombie, over)
    await claims(store).release_claim(zombie)
    assert await contents(store.table) == before
    await claims(store).end(heir, with_end_state(heir, ExecutionState.SUCCESS, watch(), RULES))
    with pytest.raises(ClaimLost) as lost:
        await claims(store).end(zombie, over)
    assert lost.value.state is ExecutionState.SUCCESS
    assert await faults(store.table) == []


@on_sqlite
async def test_a_sign_of_life_in_the_last_moment_keeps_it(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    held = await claims(store).claim(await ready_execution(store, pipeline), "slow")
    assert held is not None
    watch.move(timedelta(minutes=3))
    seen = await current_execution(store, held)
    await claims(store).send_heartbeat(held, COUNTS)
    assert await claims(store).claim(seen, "thief") is None
    assert (await current_execution(store, held)).worker == "slow"


@on_sqlite
async def test_what_a_dead_worker_held_is_released_at_once(
    store: Store, pipeline: Pipeline
) -> None:
    held = await claims(store).claim(await ready_execution(store, pipeline), "dead")
    other = await claims(store).claim(await ready_execution(store, pipeline), "alive")
    assert held is not None
    assert other is not None
    assert await store.release_executions("dead") == 1
    assert await claims(store).claim(await current_execution(store, held), "heir") is not None
    assert await claims(store).claim(await current_execution(store, other), "heir") is None


@on_sqlite
async def test_the_end_says_the_last_word_on_the_progress(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    held = await claims(store).claim(await ready_execution(store, pipeline), "w")
    assert held is not None
    await claims(store).send_heartbeat(held, COUNTS)
    await claims(store).end(held, with_end_state(held, ExecutionState.SUCCESS, watch(), RULES))
    after = await current_execution(store, held)
    assert after.counts == RowCounts()
    assert (after.worker, after.held_until) == (None, None)


@on_sqlite
async def test_a_worker_learns_of_a_cancellation(store: Store, pipeline: Pipeline) -> None:
    held = await claims(store).claim(await ready_execution(store, pipeline), "w")
    assert held is not None
    await store.open_session(ANN).executions.changing.cancel(held.id)
    with pytest.raises(ClaimLost) as lost:
        await claims(store).send_heartbeat(held, COUNTS)
    assert lost.value.state is ExecutionState.CANCELLED
