"""How long the segments of a process share a run, and what its renewals cost."""

import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.manifest.records import RunState
from penstock.datastore.ngsi.counts import IngestCounts, read_count_rows
from penstock.datastore.ngsi.run_log import run_mark
from penstock.datastore.ngsi.segment_notes import settled_notes
from penstock.datastore.ngsi.segments import writer
from penstock.datastore.ngsi.segments.writer import IDLE_ROUNDS, RUN_SECONDS
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.work_reports import RunChange, RunReport
from tests.datastore.ngsi.failing_destinations import (
    FailingDestinations,
    FaultInjector,
    fail_table,
)
from tests.datastore.ngsi.sample_sinks import AT, QUICK, SinkWorld, event_counts
from tests.datastore.ngsi.test_replay import BUSY, ONCE
from tests.datastore.ngsi.test_sink import accept, runs, runs_in_hand
from tests.support.patience import until
from tests.support.sample_resources import Watch, on_sqlite, without_moto

LEASE = 60
THIRD = timedelta(seconds=LEASE / 3)


def settings(watch: Watch) -> dict[str, Any]:
    return {"clock": Clock(watch), "lease_seconds": LEASE, "shards": 1}


async def store(world: SinkWorld, sink: NotificationSink, *cars: str) -> None:
    for each in cars:
        await accept(sink, each)
        await world.wait_until_settled()


@without_moto
async def test_a_run_ends_when_nothing_came_for_some_renewals_of_its_lease(
    world: SinkWorld,
) -> None:
    watch, metered = Watch(), MeteredTable(world.context.table)
    async with world.open_sink(QUICK, table=metered, **settings(watch)) as sink:
        await store(world, sink, "car1", "car2")
        costs = []
        for _ in range(IDLE_ROUNDS + 3):
            metered.units.wcu = 0
            watch.move(THIRD)
            await sink.renew_leases()
            costs.append(metered.units.wcu)
        # The first renewal follows a segment; at the end the run's row and list are written.
        assert costs == [2] * (1 + IDLE_ROUNDS) + [6, 0]
        assert await runs_in_hand(sink) == []
        watch.move(timedelta(seconds=1))
        await store(world, sink, "car3")
        assert len(await runs(sink)) == 3


@on_sqlite
async def test_segments_share_a_run_for_some_minutes(world: SinkWorld) -> None:
    watch = Watch()
    async with world.open_sink(QUICK, **settings(watch)) as sink:
        await store(world, sink, "alone")
        for number in range(RUN_SECONDS // 20 + 1):
            await store(world, sink, f"car{number}")
            watch.move(THIRD)
            await sink.renew_leases()
        assert [run.state for run in await runs(sink)] == [RunState.LOADED] * 2 + [RunState.LOADING]
        _, run, _ = await runs(sink)
        assert event_counts(run) == {"events": 15, "persisted": 15, "deadLettered": 0}
        assert run.shred_types is not None
        assert len(run.shred_types) == 15


@on_sqlite
async def test_a_full_run_is_followed_by_another(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "RUN_SEGMENTS", 3)
    async with world.open_sink(QUICK, **settings(Watch())) as sink:
        await store(world, sink, *(f"car{number}" for number in range(1 + 3 + 2)))
        await sink.renew_leases()
        states = [run.state for run in await runs(sink)]
        assert states == [RunState.LOADED, RunState.LOADED, RunState.LOADING]
        await sink.loader.drain()
        assert [(run.counts or {})["events"] for run in await runs(sink)] == [1, 3, 2]
        assert await world.recount() == IngestCounts(received=6, persisted=6, items=12)


@on_sqlite
async def test_a_run_with_as_many_events_as_one_server_should_hold_is_followed_by_another(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "RUN_EVENTS", 4)
    async with world.open_sink(QUICK, **settings(Watch())) as sink:
        await store(world, sink, "car0")
        for number in range(3):
            await accept(sink, f"car{number}a", f"car{number}b")
            await world.wait_until_settled()
        await sink.loader.drain()
        assert [(run.counts or {})["events"] for run in await runs(sink)] == [1, 4, 2]


@on_sqlite
async def test_a_run_with_as_many_dead_letters_as_counts_should_note_is_followed_by_another(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MOST_WITH_DEAD", 2)
    failing = fail_table("vehiclesxffffx002f4wheelsxffffcar9xffffcar", BUSY)
    destinations = FailingDestinations(world.context.destinations, failing)
    async with world.open_sink(ONCE, destinations=destinations, **settings(Watch())) as sink:
        for name in ("car0", "car1", "car9", "car9", "car2"):
            await accept(sink, name)
            await world.wait_until_settled()
            await until(lambda: not sink.loader.open_runs)
        await sink.loader.drain()
        assert [(run.counts or {})["events"] for run in await runs(sink)] == [1, 3, 1]


@on_sqlite
async def test_no_segment_joins_a_run_whose_lease_is_half_over(world: SinkWorld) -> None:
    watch = Watch()
    async with world.open_sink(QUICK, **settings(watch)) as sink:
        await store(world, sink, "car1", "car2")
        watch.move(timedelta(seconds=LEASE / 2))
        await store(world, sink, "car3")
        assert len(await runs(sink)) == 2
        watch.move(timedelta(seconds=1))
        await store(world, sink, "car4")
        assert len(await runs(sink)) == 3


@on_sqlite
async def test_a_segment_that_comes_a_lease_after_another_has_its_own_run(world: SinkWorld) -> None:
    watch = Watch()
    async with world.open_sink(QUICK, **settings(watch)) as sink:
        for number in range(3):
            watch.move(timedelta(seconds=LEASE + 1))
            await store(world, sink, f"car{number}")
        assert [run.state for run in await runs(sink)] == [RunState.LOADED] * 3
        for run in await runs(sink):
            files = await sink.committer.run_log.list_files(run)
            assert files == [f"{run.run_id}events.ndjson.gz"]


@on_sqlite
async def test_a_run_that_cannot_be_closed_is_closed_later(world: SinkWorld) -> None:
    watch = Watch()
    table = FaultInjector(world.context.table, random.Random(1), 0.0, "transact")
    async with world.open_sink(QUICK, table=table, **settings(watch)) as sink:
        await store(world, sink, "car1", "car2")
        table.often = 2.0
        await sink.loader.drain()
        table.often = 0.0
        assert [run.state for run in await runs_in_hand(sink)] == [RunState.LOADING]
        await sink.renew_leases()
        assert await runs_in_hand(sink) == []
        assert await world.recount() == IngestCounts(received=2, persisted=2, items=4)


@on_sqlite
async def test_the_runs_of_the_sink_are_reported_as_claimed_and_loaded(world: SinkWorld) -> None:
    reports: list[RunReport] = []
    watch = Watch()
    async with world.open_sink(QUICK, watch_run=reports.append, **settings(watch)) as sink:
        await store(world, sink, "alone", "shared")
        assert await runs_in_hand(sink)
    told = Counter((each.subject.folder, each.change) for each in reports)
    folders = {each.subject.folder for each in reports}
    assert len(folders) == 2
    assert told == Counter(
        {(each, change): 1 for each in folders for change in (RunChange.CLAIMED, RunChange.LOADED)}
    )
    assert {(each.stage, each.subject.manifest) for each in reports} == {("load", "ngsi")}


@on_sqlite
async def test_what_counts_note_of_a_run_goes_with_the_commit_that_follows_its_end(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "RUN_SEGMENTS", 2)

    async def read_notes() -> list[list[str]]:
        rows = await read_count_rows(world.context.table, AT)
        return [sorted(settled_notes(row)) for row in rows]

    async with world.open_sink(QUICK, **settings(Watch())) as sink:
        await store(world, sink, "car0", "car1", "car2", "car3")
        marks = [run_mark(run) for run in (await runs(sink))[1:]]
        assert await read_notes() == [marks]
        await sink.renew_leases()
        assert (await runs(sink))[1].state is RunState.LOADED
        await store(world, sink, "car4")
        assert await read_notes() == [marks[1:]]
        assert not sink.committer.segments.ended
