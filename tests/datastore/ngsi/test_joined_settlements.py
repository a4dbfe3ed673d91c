"""Settlements that join the commit of the next segment are made once, whatever becomes of it."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import Unavailable
from penstock.datastore.ngsi.counts import IngestCounts, Settlement, Tally
from penstock.datastore.ngsi.segment_notes import OpenSegment
from penstock.datastore.ngsi.segments.settlements import MAX_JOINING, SettlementQueue
from penstock.datastore.ngsi.segments.writer import MAX_OPEN
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.table.instrumentation import MeteredTable
from tests.datastore.ngsi.run_totals import RunTotals
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, notification, wait_until_released
from tests.datastore.ngsi.test_points_of_death import JOINING, LEASE, is_stored
from tests.datastore.ngsi.test_sink import accept, runs
from tests.datastore.ngsi.test_uncertain_commits import ForgetfulTable, LossyTable
from tests.support.consistency_check import faults
from tests.support.patience import until
from tests.support.sample_resources import Watch, on_sqlite, without_moto


def shared_with(watch: Watch) -> dict[str, Any]:
    return {"clock": Clock(watch), "lease_seconds": LEASE, "shards": 1}


async def accept_and_store(sink: NotificationSink, *cars: str, **headers: Any) -> None:
    """Accept notifications one by one; each is stored before the next comes."""
    for name in cars:
        await accept(sink, name, **headers)
        await until(partial(is_stored, sink))


def settled_of(persisted: int) -> IngestCounts:
    return IngestCounts(received=persisted, persisted=persisted, items=2 * persisted)


async def test_stored_events_are_pending_until_the_next_notification_of_their_path(
    world: SinkWorld,
) -> None:
    async with world.open_sink(JOINING) as sink:
        await accept_and_store(sink, "car1", "car2", "car3", "car4")
        assert await world.counts() == replace_pending(settled_of(4), 1)
        await accept_and_store(sink, "car5", fiware_servicepath="/other")
        assert await world.counts() == replace_pending(settled_of(4), 1)
    assert await world.recount() == settled_of(4)
    assert await world.recount(("vehicles", "/other")) == settled_of(1)
    assert await faults(world.context.table) == []


def replace_pending(counts: IngestCounts, pending: int) -> IngestCounts:
    """The counts as they are while so many of the persisted events wait for their settlement."""
    return counts + IngestCounts(persisted=-pending, pending=pending, items=-2 * pending)


async def test_a_settlement_that_no_commit_takes_is_made_alone(world: SinkWorld) -> None:
    async with world.open_sink(replace(QUICK, settlement_seconds=0.01)) as sink:
        await accept(sink, "car1")
        await accept(sink, "car2")
        assert await world.wait_until_settled() == settled_of(2)
        await until(lambda: not sink.loader.open_runs)
        await wait_until_released(sink)


@on_sqlite
@pytest.mark.parametrize("lost", ["a request", "an answer"])
async def test_a_settlement_joins_a_commit_whose_fate_is_not_known(
    world: SinkWorld, lost: str
) -> None:
    watch, table = Watch(), LossyTable(world.context.table)
    async with world.open_sink(JOINING, table=table, **shared_with(watch)) as sink:
        await accept_and_store(sink, "car1", "car2")
        table.loses = lost
        with suppress(Unavailable):
            await accept(sink, "car3", correlator="c")
        assert not table.loses
        await accept_and_store(sink, "car4")
        await accept(sink, "car3", correlator="c")
    watch.move(timedelta(seconds=LEASE + 1))
    async with world.open_sink(QUICK, **shared_with(watch)) as sink:
        await sink.take_over_runs()
        counts = await world.recount()
    repeated = IngestCounts(received=1, duplicates=1) if lost == "an answer" else IngestCounts()
    assert counts == settled_of(4) + repeated
    assert await faults(world.context.table) == []


@on_sqlite
async def test_a_commit_that_is_repeated_makes_settlements_once(world: SinkWorld) -> None:
    table = ForgetfulTable(world.context.table)
    async with world.open_sink(JOINING, table=table) as sink:
        await accept_and_store(sink, "car1", "car2")
        table.commits_twice = True
        await accept_and_store(sink, "car3", "car4")
        assert not table.commits_twice
    assert await world.recount() == settled_of(4)


@without_moto
async def test_a_settlement_that_another_server_made_is_left_out_of_the_commit(
    world: SinkWorld,
) -> None:
    watch = Watch()
    shared = shared_with(watch)
    async with world.open_sink(JOINING, **shared) as sink:
        await accept_and_store(sink, "car1", "car2")
        watch.move(timedelta(seconds=LEASE + 1))
        async with world.open_sink(QUICK, **shared) as other:
            await other.take_over_runs()
            assert await world.wait_until_settled() == settled_of(2)
        await accept_and_store(sink, "car3", "car4")
        assert len(sink.loader.open_runs) == 1
    assert await world.recount() == settled_of(4)
    assert await faults(world.context.table) == []


@on_sqlite
async def test_a_server_that_took_over_its_own_run_settles_each_segment_once(
    world: SinkWorld,
) -> None:
    """It holds the segment twice, and the run may end before the second settlement joins."""
    watch = Watch()
    async with world.open_sink(JOINING, **shared_with(watch)) as sink:
        segments = sink.committer.segments
        await accept_and_store(sink, "car1", "car2")
        watch.move(timedelta(seconds=LEASE + 1))
        assert await sink.take_over_runs() == 1
        await until(partial(is_stored, sink))
        assert len(segments.settlements) == 2
        await accept_and_store(sink, "car3", "car4")
        await until(lambda: bool(segments.ended))
        await accept_and_store(sink, "car5")
        assert not segments.ended
        await accept_and_store(sink, "car6")
        assert len(segments.settlements) == 1
    assert await world.recount() == settled_of(6)
    totals = RunTotals.of(await runs(sink))
    assert totals.adds_up
    assert totals.ingested == settled_of(6)
    assert await faults(world.context.table) == []


@without_moto
async def test_a_repeated_notification_keeps_settlements_waiting(world: SinkWorld) -> None:
    async with world.open_sink(JOINING) as sink, world.open_sink(QUICK) as other:
        await accept_and_store(sink, "car1", "car2")
        await accept(other, "car3", correlator="c")
        await accept_and_store(sink, "car3", correlator="c")
        assert len(sink.committer.segments.settlements) == 1
        await accept_and_store(sink, "car4")
    counts = await world.recount()
    assert counts == settled_of(4) + IngestCounts(received=1, duplicates=1)


@on_sqlite
async def test_a_settlement_of_two_paths_joins_a_commit_to_both(world: SinkWorld) -> None:
    paths = {"fiware_servicepath": "/a, /b"}
    places = [("vehicles", "/a"), ("vehicles", "/b")]
    metered = MeteredTable(world.context.table)
    async with world.open_sink(JOINING, table=metered) as sink:
        for _ in range(2):
            sink.inbox.enqueue(notification("car1", "car2", **paths), 100)
            await sink.inbox.wait_until_empty()
            await until(partial(is_stored, sink))
        await accept_and_store(sink, "car3", fiware_servicepath="/a")
        assert await world.counts(*places) == replace_pending(settled_of(5), 3)
        metered.units.wcu = 0
        sink.inbox.enqueue(notification("car1", "car2", **paths), 100)
        await sink.inbox.wait_until_empty()
        await until(partial(is_stored, sink))
        # The counts of two paths, and the rows of two entities.
        assert metered.units.wcu == 8
        assert await world.counts(*places) == replace_pending(settled_of(7), 2)
    assert await world.recount(*places) == settled_of(7)


@on_sqlite
async def test_what_waits_for_a_commit_takes_no_place_of_segments_to_store(
    world: SinkWorld,
) -> None:
    paths = [f"/p{n}" for n in range(MAX_OPEN + 2)]
    async with world.open_sink(JOINING, shards=1) as sink:
        for path in paths:
            await accept_and_store(sink, "car1", fiware_servicepath=path)
        assert len(sink.committer.segments.settlements) == MAX_OPEN + 1
        assert len(await runs(sink)) == 2
    assert await world.recount(*(("vehicles", path) for path in paths)) == settled_of(len(paths))


def settlements(places: int = 1) -> Iterator[Settlement]:
    """Settlements of one event each, of the first service paths."""
    for number in range(1000):
        tally = Tally()
        for place in range(places):
            tally.add(("s", f"/{place}"), IngestCounts(pending=-1, persisted=1))
        yield Settlement(OpenSegment(0, f"{number}", "run"), tally)


async def test_so_many_settlements_wait_for_one_path() -> None:
    queue, made = SettlementQueue(1000.0), settlements()
    waiting = [asyncio.create_task(queue.join_commit(next(made))) for _ in range(MAX_JOINING)]
    await until(lambda: len(queue) == MAX_JOINING)
    assert await queue.join_commit(next(made)) is False
    with queue.joining({("s", "/1")}) as joining:
        assert joining == []
    with queue.joining({("s", "/0")}) as joining:
        assert len(joining) == MAX_JOINING
        # A commit under way keeps its settlements, even if the queue is released.
        queue.release_all()
        with queue.joining({("s", "/0")}) as others:
            assert others == []
    assert await asyncio.gather(*waiting) == [True] * MAX_JOINING
    assert await queue.join_commit(next(made)) is False
    assert len(queue) == 0


async def test_a_commit_that_fails_gives_late_settlements_back() -> None:
    queue = SettlementQueue(1000.0)
    waiting = asyncio.create_task(queue.join_commit(next(settlements())))
    await until(lambda: len(queue) == 1)
    with suppress(Unavailable), queue.joining({("s", "/0")}):
        raise Unavailable("no")
    assert len(queue) == 1
    with suppress(Unavailable), queue.joining({("s", "/0")}):
        queue.release_all()
        await asyncio.sleep(0)
        assert not waiting.done()
        raise Unavailable("no")
    assert await waiting is False
