"""Segments that are committed after their run was closed enter a run again, once."""

import asyncio
import logging
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.clock import Clock
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.manifest.delete import delete_runs
from penstock.datastore.manifest.records import Run, RunState
from penstock.datastore.manifest.transitions import Reload
from penstock.datastore.ngsi.counts import IngestCounts, read_open_segments
from penstock.datastore.ngsi.inbox import IntakeResult
from penstock.datastore.ngsi.options import RetentionTimes
from penstock.datastore.ngsi.retention.sweep import RetentionSweep
from penstock.datastore.ngsi.run_log import SINK_CALLER, RunLog, marked_run
from penstock.datastore.ngsi.segment_notes import OpenSegment
from penstock.datastore.ngsi.segments.segment_sweep import sweep_segments
from penstock.datastore.ngsi.segments.settlements import SettlementQueue
from penstock.datastore.ngsi.segments.shared_runs import segment_stem
from penstock.datastore.ngsi.segments.writer import IDLE_ROUNDS, SegmentWriter
from penstock.datastore.ngsi.sink import NotificationSink
from tests.datastore.ngsi.failing_destinations import FailingDestinations, fail_table
from tests.datastore.ngsi.sample_sinks import (
    AT,
    QUICK,
    SinkWorld,
    event_counts,
    wait_until_released,
)
from tests.datastore.ngsi.stopping_stores import LateCommitTable
from tests.datastore.ngsi.test_replay import BUSY, ONCE
from tests.datastore.ngsi.test_sink import SLOW, accept, runs, runs_in_hand
from tests.support.consistency_check import faults
from tests.support.patience import until
from tests.support.sample_resources import Watch, on_sqlite, without_moto
from tests.support.table_interceptors import CutOffTable, ProcessDied

LEASE = 60
DAY = timedelta(days=1)


class Servers:
    """Servers that run sinks over one world; `log` is that of one that ended."""

    log: RunLog

    def __init__(self, world: SinkWorld) -> None:
        self.world = world
        self.watch = Watch()
        self.shared: dict[str, Any] = {
            "clock": Clock(self.watch),
            "lease_seconds": LEASE,
            "shards": 1,
        }

    def open(self, options: Any = QUICK, **changes: Any) -> Any:
        return self.world.open_sink(options, drain=0.0, **{**self.shared, **changes})

    def sweeper(self, table: Any = None) -> SegmentWriter:
        """The writer of another server, which sweeps only when it is told to."""
        access = Access(
            table or self.world.context.table, SINK_CALLER, self.log.access.clock, Budget()
        )
        return SegmentWriter(replace(self.log, access=access), 7, SettlementQueue(0.0))

    def end_leases(self) -> None:
        self.watch.move(timedelta(seconds=LEASE + 1))

    async def take_over_all(self) -> None:
        """Let another server take over every run, a lease later, and end."""
        self.end_leases()
        async with self.open() as sink:
            await store_all(sink)

    async def open_segments(self) -> list[OpenSegment]:
        return await read_open_segments(self.world.context.table, AT, consistent=True)

    async def make_late(self) -> OpenSegment:
        """Let a server commit a segment when its run is closed, and die."""
        table = LateCommitTable(self.world.context.table)
        table.dies = True
        async with self.open(table=table) as sink:
            await self.commit_late(sink, table)
            await table.died.wait()
        (late,) = await self.open_segments()
        return late

    async def commit_late(
        self, sink: NotificationSink, table: LateCommitTable
    ) -> "asyncio.Task[IntakeResult | None]":
        """Begin a third notification, whose segment is committed when its run is closed."""
        self.log = sink.committer.run_log
        for name in ("car1", "car2"):
            await accept(sink, name)
            await self.world.wait_until_settled()
        table.meanwhile = self.take_over_all
        return asyncio.create_task(accept(sink, "car3", correlator="late"))


async def store_all(sink: NotificationSink) -> None:
    """Take over all runs that nobody holds, until every run is loaded."""

    async def nothing_is_left() -> bool:
        await sink.take_over_runs()
        return not await runs_in_hand(sink)

    await until(nothing_is_left)


@without_moto
async def test_a_segment_that_was_committed_late_is_stored_by_any_server(world: SinkWorld) -> None:
    servers = Servers(world)
    late = await servers.make_late()
    assert (await servers.log.runs.one(marked_run(late.run))).state is RunState.LOADED
    assert (await world.counts()).pending == 1
    assert await sweep_segments(servers.sweeper()) == 1
    (entered,) = await servers.open_segments()
    assert (entered.id, entered.shard) == (late.id, late.shard)
    run = await servers.log.runs.one(marked_run(entered.run))
    assert run.state is RunState.LOADING
    assert await sweep_segments(servers.sweeper()) == 0
    async with servers.open() as sink:
        await store_all(sink)
        assert await accept(sink, "car3", correlator="late") == IntakeResult(1, repeated=True)
        counts = await world.recount()
    assert counts == IngestCounts(received=4, persisted=3, duplicates=1, items=6)
    assert await servers.open_segments() == []
    assert await faults(world.context.table) == []


@without_moto
async def test_servers_that_sweep_at_once_enter_a_late_segment_once(world: SinkWorld) -> None:
    servers = Servers(world)
    await servers.make_late()
    found = await asyncio.gather(*(sweep_segments(servers.sweeper()) for _ in range(3)))
    assert sum(found) == 1
    async with servers.open() as sink:
        assert len(await runs_in_hand(sink)) == 1
        await store_all(sink)
        assert await world.recount() == IngestCounts(received=3, persisted=3, items=6)


@on_sqlite
async def test_a_server_that_starts_sweeps_at_once(world: SinkWorld) -> None:
    servers = Servers(world)
    await servers.make_late()
    async with servers.open() as sink:

        async def is_stored() -> bool:
            await sink.take_over_runs()
            return (await world.counts()).pending == 0

        await until(is_stored)
        assert await world.recount() == IngestCounts(received=3, persisted=3, items=6)


@on_sqlite
async def test_a_sweep_that_dies_at_any_write_is_done_by_the_next(world: SinkWorld) -> None:
    servers = Servers(world)
    await servers.make_late()
    kept = await servers.open_segments()
    for writes in range(10):
        dying = servers.sweeper(CutOffTable(world.context.table, writes))
        try:
            assert await sweep_segments(dying) == 1
        except ProcessDied:
            # The run and its name in the counts are written by one transaction.
            assert await servers.open_segments() == kept
        else:
            break
    assert await servers.open_segments() != kept
    async with servers.open() as sink:
        await store_all(sink)
        assert await world.recount() == IngestCounts(received=3, persisted=3, items=6)


@without_moto
async def test_a_process_that_stood_still_enters_its_segment_again_before_it_answers(
    world: SinkWorld,
) -> None:
    servers = Servers(world)
    table = LateCommitTable(world.context.table)
    async with servers.open(SLOW, table=table) as sink:
        await accept(sink, "car1")
        await accept(sink, "car2")
        servers.log, table.meanwhile = sink.committer.run_log, servers.take_over_all
        assert await accept(sink, "car3") == IntakeResult(1)
        (held,) = await runs_in_hand(sink)
        (segment,) = await servers.open_segments()
        assert (held.name, held.lease_owner) == (marked_run(segment.run), servers.log.worker)
    assert await sweep_segments(servers.sweeper()) == 0
    await servers.take_over_all()
    assert await world.recount() == IngestCounts(received=3, persisted=3, items=6)


@on_sqlite
async def test_a_process_that_stood_still_and_goes_on_stores_its_segment(world: SinkWorld) -> None:
    servers = Servers(world)
    table = LateCommitTable(world.context.table)
    async with servers.open(table=table) as sink:
        going = await servers.commit_late(sink, table)
        assert await going == IntakeResult(1)
        assert await world.recount() == IngestCounts(received=3, persisted=3, items=6)
        assert await runs_in_hand(sink) == []
        await wait_until_released(sink)


@on_sqlite
async def test_a_process_that_stood_still_keeps_a_run_that_nobody_took(world: SinkWorld) -> None:
    servers = Servers(world)
    table = LateCommitTable(world.context.table)

    async def end_leases() -> None:
        servers.end_leases()

    async with servers.open(SLOW, table=table) as sink:
        await accept(sink, "car1")
        await accept(sink, "car2")
        table.meanwhile = end_leases
        await accept(sink, "car3")
        assert len(await runs(sink)) == 2
        await sink.loader.drain()
        assert await world.recount() == IngestCounts(received=3, persisted=3, items=6)
        assert await runs_in_hand(sink) == []


@on_sqlite
async def test_two_processes_that_store_one_run_count_it_once(world: SinkWorld) -> None:
    servers = Servers(world)
    async with servers.open(SLOW) as one, servers.open(SLOW) as other:
        await accept(one, "car1")
        await accept(one, "car2")
        await accept(one, "car3")
        servers.end_leases()
        assert await other.take_over_runs() == 2
        await one.loader.drain()
        # Behind the end of its leases, a process leaves all to the one that has taken the runs.
        assert (await world.counts()).pending == 3
        await other.loader.drain()
        assert await world.recount() == IngestCounts(received=3, persisted=3, items=6)
        assert await runs_in_hand(one) == []
        await wait_until_released(one, other)


@on_sqlite
async def test_a_commit_whose_answer_was_lost_is_stored_by_the_same_process(
    world: SinkWorld,
) -> None:
    servers = Servers(world)
    table = LateCommitTable(world.context.table)
    table.loses_answer = True

    async def nothing() -> None:
        return None

    async with servers.open(table=table) as sink:
        await accept(sink, "car1")
        await world.wait_until_settled()
        table.meanwhile = nothing
        with pytest.raises(Unavailable):
            await accept(sink, "car2", correlator="c")
        assert (await world.counts()).pending == 1
        assert await accept(sink, "car2", correlator="c") == IntakeResult(1, repeated=True)
        await accept(sink, "car3")
        servers.end_leases()
        await sink.loader.drain()
        for _ in range(IDLE_ROUNDS + 2):
            await sink.renew_leases()
        await store_all(sink)
        counts = await world.recount()
        assert counts == IngestCounts(received=4, persisted=3, duplicates=1, items=6)
        await wait_until_released(sink)


@on_sqlite
async def test_a_late_segment_outlives_the_retention_of_its_run(world: SinkWorld) -> None:
    servers = Servers(world)
    late = await servers.make_late()
    servers.watch.move(40 * DAY)
    async with servers.open(SLOW) as sink:
        times = RetentionTimes(segments=30 * DAY, runs=30 * DAY)
        await RetentionSweep(sink.committer, times).remove_old()
        with pytest.raises(NotFound):
            await servers.log.runs.one(marked_run(late.run))
        await store_all_slowly(sink)
        assert await world.recount() == IngestCounts(received=3, persisted=3, items=6)


async def store_all_slowly(sink: NotificationSink) -> None:
    """Take over all runs, and store at once what waits for a batch."""

    async def nothing_is_left() -> bool:
        await sink.take_over_runs()
        await sink.loader.drain()
        return not await runs_in_hand(sink)

    await until(nothing_is_left)


@on_sqlite
async def test_a_late_segment_of_a_run_that_is_gone_is_found(world: SinkWorld) -> None:
    servers = Servers(world)
    late = await servers.make_late()
    run = await servers.log.runs.one(marked_run(late.run))
    await delete_runs(servers.sweeper().log.access, [run])
    assert await sweep_segments(servers.sweeper()) == 1
    await servers.take_over_all()
    assert await world.recount() == IngestCounts(received=3, persisted=3, items=6)


@on_sqlite
async def test_a_late_segment_whose_file_is_gone_is_told_of_and_stays_pending(
    world: SinkWorld, caplog: pytest.LogCaptureFixture
) -> None:
    servers = Servers(world)
    late = await servers.make_late()
    file = segment_stem(marked_run(late.run).run_id, late.id, late.shard) + ".ndjson.gz"
    await world.context.files.delete(file)
    with caplog.at_level(logging.ERROR, "penstock.ngsi"):
        assert await sweep_segments(servers.sweeper()) == 0
    assert "a segment is lost, and its events stay pending" in caplog.text
    assert await servers.open_segments() == [late]
    assert (await world.counts()).pending == 1


@on_sqlite
async def test_segments_of_a_failed_run_are_left_to_people(world: SinkWorld) -> None:
    servers = Servers(world)
    async with servers.open(SLOW) as sink:
        await accept(sink, "car1")
        await accept(sink, "car2")
        servers.log = sink.committer.run_log
        _, run = await runs_in_hand(sink)
        await servers.log.mark_failed(run, "A person must decide.")
        kept = await servers.open_segments()
        assert len(kept) == 1
        assert await sweep_segments(servers.sweeper()) == 0
        assert await servers.open_segments() == kept


@on_sqlite
async def test_a_shared_run_that_is_loaded_once_more_counts_once(world: SinkWorld) -> None:
    servers = Servers(world)
    async with servers.open(SLOW) as sink:
        for name in ("car1", "car2", "car3"):
            await accept(sink, name)
        await sink.loader.drain()
        _, run = await runs(sink)
        wanted = {"events": 2, "persisted": 2, "deadLettered": 0}
        assert event_counts(run) == wanted
        await reload_run(sink, run)
        _, again = await runs(sink)
        assert (again.state, again.fence, again.counts) == (RunState.LOADED, 2, run.counts)
        assert again.shred_types == run.shred_types
        assert await world.recount() == IngestCounts(received=3, persisted=3, items=6)


@on_sqlite
async def test_a_shared_run_that_cannot_be_loaded_once_more_fails(world: SinkWorld) -> None:
    servers = Servers(world)
    destinations = FailingDestinations(world.context.destinations)
    async with servers.open(ONCE, destinations=destinations) as sink:
        for name in ("car1", "car2", "car3"):
            await accept(sink, name)
        await world.wait_until_settled()
        await sink.loader.drain()
        _, run = await runs(sink)
        destinations.fails = fail_table("car3", BUSY)
        await reload_run(sink, run)
        _, again = await runs(sink)
        assert (again.state, again.last_error) == (RunState.FAILED, "busy")
        counts = await world.recount()
        assert counts == IngestCounts(received=3, persisted=3, items=6)
        assert await world.letters() == []


async def reload_run(sink: NotificationSink, run: Run) -> None:
    log = sink.committer.run_log
    await log.runs.change(run.name, Reload(force=True, reason="to be sure"))
    assert await sink.take_over_runs() == 1
    await sink.loader.drain()
