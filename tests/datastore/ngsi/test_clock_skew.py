"""Servers whose clocks differ take over each other's runs: how far their runs still add up."""

from datetime import timedelta
from typing import NamedTuple

from penstock.datastore.clock import Clock
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.sink import NotificationSink
from tests.datastore.ngsi.run_totals import RunTotals
from tests.datastore.ngsi.sample_sinks import SinkWorld, wait_until_released
from tests.datastore.ngsi.stopping_stores import LateCommitTable
from tests.datastore.ngsi.test_late_segments import LEASE, Servers, store_all
from tests.datastore.ngsi.test_sink import runs, runs_in_hand
from tests.support.consistency_check import faults
from tests.support.sample_resources import Watch, on_sqlite, without_moto

HALF = LEASE // 2


class Outcome(NamedTuple):
    """The counts of the service path, those that all runs together tell, and the number of runs."""

    counts: IngestCounts
    told: IngestCounts
    runs: int


async def commit_late_by_a_clock_behind(world: SinkWorld, skew: int) -> Outcome:
    """Let a server commit while another one, whose clock is ahead by `skew`, takes its run over.

    By its own clock the lease of the former is not over then.
    """
    servers, behind = Servers(world), Watch()
    servers.watch.move(timedelta(seconds=skew))
    table = LateCommitTable(world.context.table)
    async with servers.open(table=table, clock=Clock(behind)) as sink:

        async def lose_lease() -> None:
            for watch in (behind, servers.watch):
                watch.move(timedelta(seconds=LEASE - skew))
            async with servers.open() as other:
                await store_all(other)

        late = await servers.commit_late(sink, table)
        table.meanwhile = lose_lease
        await late
        await world.recount()
        await wait_until_released(sink)
        return await tell(world, sink)


async def tell(world: SinkWorld, sink: NotificationSink) -> Outcome:
    await sink.loader.drain()
    assert await runs_in_hand(sink) == []
    assert await faults(world.context.table) == []
    found = await runs(sink)
    return Outcome(await world.recount(), RunTotals.of(found).ingested, len(found))


@without_moto
async def test_runs_add_up_if_clocks_differ_by_less_than_half_of_the_lease(
    world: SinkWorld,
) -> None:
    outcome = await commit_late_by_a_clock_behind(world, HALF - 1)
    assert outcome == (IngestCounts(received=3, persisted=3, items=6), outcome.counts, 3)


@on_sqlite
async def test_clocks_that_differ_by_more_lose_no_sample_but_the_counts_of_a_run(
    world: SinkWorld,
) -> None:
    outcome = await commit_late_by_a_clock_behind(world, HALF + 1)
    assert outcome.counts == IngestCounts(received=3, persisted=3, items=6)
    assert outcome.told == IngestCounts(received=2, persisted=2, items=4)
