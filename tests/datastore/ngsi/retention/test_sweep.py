"""Old runs and dead letters go, with every row and count; what is not old or not settled stays."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.clock import Clock
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.manifest.manifests import Manifests
from penstock.datastore.manifest.records import RunState
from penstock.datastore.manifest.rows import key_of_run
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.dead_letters import FOLDER as LETTERS
from penstock.datastore.ngsi.options import RetentionTimes
from penstock.datastore.ngsi.retention.sweep import RetentionSweep
from penstock.datastore.ngsi.run_log import MANIFEST, SINK_CALLER
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.table.layout import RUN
from penstock.datastore.table.port import Table, Update
from tests.datastore.manifest.sample_runs import run_faults
from tests.datastore.ngsi.failing_destinations import FailingDestinations, fail_first, fail_table
from tests.datastore.ngsi.sample_sinks import SinkWorld
from tests.datastore.ngsi.test_replay import BUSY, ONCE, make_letters, notifications
from tests.datastore.ngsi.test_sink import SLOW, accept, read_events, runs
from tests.support.consistency_check import contents
from tests.support.sample_resources import Watch, on_sqlite, without_moto
from tests.support.table_interceptors import CutOffTable, InterruptedTable, ProcessDied

DAY = timedelta(days=1)
MONTH = RetentionTimes(segments=30 * DAY, runs=30 * DAY, letters=30 * DAY)


def sweep_of(sink: NotificationSink, times: RetentionTimes = MONTH) -> RetentionSweep:
    return RetentionSweep(sink.committer, times)


def sweep_over(sink: NotificationSink, table: Table) -> RetentionSweep:
    """The sweep of another server, over the same table."""
    log = sink.committer.run_log
    access = Access(table, SINK_CALLER, log.access.clock, Budget())
    return RetentionSweep(replace(sink.committer, run_log=replace(log, access=access)), MONTH)


async def load_runs(sink: NotificationSink, count: int) -> None:
    for number in range(count):
        await accept(sink, f"car{number}")
        await sink.loader.drain()


async def counted_runs(sink: NotificationSink) -> int:
    return (await Manifests(sink.committer.run_log.access).one(MANIFEST)).runs


async def rows_of_runs(table: Table) -> int:
    """The number of rows of runs: their own, their events, and their lines in lists."""
    return len([key for key in await contents(table) if key.pk.startswith(("R:", "RL:"))])


@without_moto
async def test_loaded_runs_go_after_some_days_with_all_their_rows(world: SinkWorld) -> None:
    watch, table = Watch(), world.context.table
    async with world.open_sink(SLOW, clock=Clock(watch), lease_seconds=60) as sink:
        await load_runs(sink, 3)
        rows = await rows_of_runs(table)
        watch.move(30 * DAY)
        await load_runs(sink, 1)
        before = await world.counts()
        long = RetentionTimes(segments=40 * DAY, runs=DAY)
        assert await sweep_of(sink, long).remove_old() == 0
        watch.move(DAY)
        one, other = sweep_of(sink), sweep_of(sink)
        await asyncio.gather(one.remove_old(), other.remove_old())
        assert len(await runs(sink)) == await counted_runs(sink) == 1
        assert await rows_of_runs(table) == rows / 3
        assert await sweep_of(sink).remove_old() == 0
        assert await world.counts() == before == IngestCounts(received=4, persisted=4, items=8)
    assert await run_faults(table) == []


@on_sqlite
async def test_runs_for_which_no_time_is_set_stay(world: SinkWorld) -> None:
    watch = Watch()
    async with world.open_sink(SLOW, clock=Clock(watch), lease_seconds=60) as sink:
        await load_runs(sink, 1)
        watch.move(5000 * DAY)
        assert await sweep_of(sink, RetentionTimes()).remove_old() == 1
        (run,) = await runs(sink)
        assert run.state is RunState.LOADED
        with pytest.raises(NotFound):
            await read_events(sink.committer.run_log, run)


@on_sqlite
async def test_a_run_that_is_not_loaded_stays(world: SinkWorld) -> None:
    watch = Watch()
    async with world.open_sink(SLOW, clock=Clock(watch), lease_seconds=60) as sink:
        await accept(sink)
        log = sink.committer.run_log
        (run,) = await runs(sink)
        await log.mark_failed(run, "A person must decide.")
        watch.move(100 * DAY)
        assert await sweep_of(sink).remove_old() == 0
        assert [each.state for each in await runs(sink)] == [RunState.FAILED]
        assert len(await read_events(log, run)) == 1
        assert await counted_runs(sink) == 1


@on_sqlite
@pytest.mark.parametrize("writes", range(3))
async def test_two_sweeps_that_meet_anywhere_leave_exact_counts(
    world: SinkWorld, writes: int
) -> None:
    watch, table = Watch(), world.context.table
    async with world.open_sink(SLOW, clock=Clock(watch), lease_seconds=60) as sink:
        await load_runs(sink, 40)
        watch.move(31 * DAY)
        await load_runs(sink, 1)
        interrupted = InterruptedTable(table, sweep_of(sink).remove_old, writes=writes)
        await sweep_over(sink, interrupted).remove_old()
        assert len(await runs(sink)) == await counted_runs(sink) == 1
    assert await run_faults(table) == []


@on_sqlite
async def test_a_sweep_that_dies_between_two_transactions_is_continued(world: SinkWorld) -> None:
    watch, table = Watch(), world.context.table
    async with world.open_sink(SLOW, clock=Clock(watch), lease_seconds=60) as sink:
        await load_runs(sink, 40)
        watch.move(31 * DAY)
        dying = sweep_over(sink, CutOffTable(table, 1))
        with pytest.raises(ProcessDied):
            await dying.remove_old()
        left = len([key for key in await contents(table) if key.sk == RUN.sk.fill({})])
        assert 0 < left < 40
        assert await run_faults(table) == []
        assert await sweep_of(sink).remove_old() == left
        assert await runs(sink) == []
        assert await counted_runs(sink) == 0


@without_moto
async def test_dead_letters_go_after_some_days_and_their_counts_stay(world: SinkWorld) -> None:
    watch = Watch()
    failing = FailingDestinations(world.context.destinations, fail_table("", BUSY))
    async with world.open_sink(
        ONCE, destinations=failing, clock=Clock(watch), lease_seconds=60
    ) as sink:
        old = await make_letters(world, sink, 2)
        watch.move(31 * DAY)
        await accept(sink, "car9")
        await world.wait_until_settled()
        before = await world.counts()
        long = RetentionTimes(segments=100 * DAY, letters=32 * DAY)
        assert await sweep_of(sink, long).remove_old() == 0
        await asyncio.gather(*(sweep_of(sink).remove_old() for _ in range(2)))
        (kept,) = await world.letters()
        assert kept.id not in {letter.id for letter in old}
        assert await world.counts() == before == IngestCounts(received=5, dead_lettered=5)
        files = sink.committer.letter_files.lines.files
        # The files of letters that have just gone stay for another day.
        assert old[0].file in await files.list(f"{LETTERS}/")
        watch.move(DAY)
        await sweep_of(sink).remove_old()
        assert await files.list(f"{LETTERS}/") == (kept.file,)
        failing.fails = fail_first(0, BUSY)
        found = await notifications(world, sink).replay([kept.id])
        assert [each.letter.id for each in found.replayed] == [kept.id]
        with pytest.raises(NotFound):
            await notifications(world, sink).replay([old[0].id])
        counts = await world.wait_until_settled()
        assert counts == IngestCounts(received=5, persisted=1, dead_lettered=4, items=2)


@on_sqlite
async def test_the_result_of_a_replay_is_no_letter_that_goes(world: SinkWorld) -> None:
    watch = Watch()
    failing = FailingDestinations(world.context.destinations, fail_table("", Unavailable("busy")))
    async with world.open_sink(
        ONCE, destinations=failing, clock=Clock(watch), lease_seconds=60
    ) as sink:
        (letter,) = await make_letters(world, sink, 1)
        failing.fails = fail_first(0, BUSY)
        replay = notifications(world, sink).replay
        first = await replay([letter.id])
        watch.move(31 * DAY)
        await sweep_of(sink, replace(MONTH, runs=None)).remove_old()
        assert await replay([letter.id]) == first


@on_sqlite
async def test_a_run_that_cannot_be_read_keeps_its_row_and_its_segment(world: SinkWorld) -> None:
    watch, table = Watch(), world.context.table
    async with world.open_sink(SLOW, clock=Clock(watch), lease_seconds=60) as sink:
        await load_runs(sink, 1)
        (run,) = await runs(sink)
        key = key_of_run(run.name)
        await table.transact([Update(key=key, set={"State": "OF_A_NEWER_RELEASE"})])
        watch.move(100 * DAY)
        assert await sweep_of(sink).remove_old() == 0
        assert len(await read_events(sink.committer.run_log, run)) == 1
        assert key in await contents(table)
        assert await counted_runs(sink) == 1
