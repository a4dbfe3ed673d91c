"""The write units of a notification beside its samples; docs/ngsi.md has the same table."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.manifest.lists import RunLists
from penstock.datastore.ngsi.counts import IngestCounts, count_key, read_open_segments
from penstock.datastore.ngsi.segment_notes import OpenSegment, add_bits
from penstock.datastore.ngsi.segments.writer import MAX_OPEN, MOST_WITH_DEAD, RUN_SEGMENTS
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Update, Value
from tests.datastore.ngsi.sample_sinks import (
    AT,
    QUICK,
    SinkWorld,
    notification,
    wait_until_released,
)
from tests.datastore.ngsi.test_points_of_death import JOINING, is_stored
from tests.datastore.ngsi.test_sink import SLOW, accept, runs
from tests.support.consistency_check import contents
from tests.support.patience import until
from tests.support.sample_resources import Watch, on_sqlite, without_moto

ONE_SHARD: Any = {"shards": 1}


async def settle(
    world: SinkWorld, sink: NotificationSink, metered: MeteredTable, *cars: str, **headers: str
) -> float:
    """The write units of accepting one notification and of storing it."""
    metered.units.wcu = 0
    await accept(sink, *cars, **headers)
    await world.wait_until_settled()
    await wait_until_released(sink)
    return metered.units.wcu


@without_moto
async def test_a_notification_that_comes_soon_after_another_costs_so_many_units(
    world: SinkWorld,
) -> None:
    metered = MeteredTable(world.context.table)
    async with world.open_sink(QUICK, table=metered, **ONE_SHARD) as sink:
        await settle(world, sink, metered, "car1", "car2", correlator="alone")
        # Beside its own units those of a run: its row, two lists and a count.
        assert await settle(world, sink, metered, "car1") == 6 + 8
        rows = len(await contents(world.context.table))
        # A receipt, the row of the entity's latest samples, and the counts of the service path
        # twice: 2 units each.
        assert await settle(world, sink, metered, "car1", correlator="c") == 8
        assert await settle(world, sink, metered, "car2") == 6
        # The receipt, which expires.
        assert len(await contents(world.context.table)) == rows + 1
        assert len(await runs(sink)) == 2
        metered.units.wcu = 0
        await sink.loader.drain()
        # The run's row, and the list of its state, left and entered.
        assert metered.units.wcu == 6


@without_moto
@pytest.mark.parametrize(("headers", "units"), [({}, 4), ({"correlator": "c"}, 6)])
async def test_each_notification_of_a_steady_flow_costs_so_many_units(
    world: SinkWorld, headers: dict[str, str], units: int
) -> None:
    metered = MeteredTable(world.context.table)
    async with world.open_sink(JOINING, table=metered, **ONE_SHARD) as sink:
        for name in ("car1", "car2", "car3"):
            await accept(sink, name)
            await until(partial(is_stored, sink))
        for name in ("car1", "car2", "car3"):
            metered.units.wcu = 0
            await accept(sink, name, **headers and {"correlator": name})
            await until(partial(is_stored, sink))
            # The counts of this one and of the one before, once; the row of its latest samples; a
            # receipt. Its samples cost 2.
            assert metered.units.wcu == units
        await sink.loader.drain()
    assert await world.recount() == IngestCounts(received=6, persisted=6, items=12)


@without_moto
async def test_a_notification_that_comes_alone_costs_so_many_units(world: SinkWorld) -> None:
    metered, watch = MeteredTable(world.context.table), Watch()
    async with world.open_sink(SLOW, table=metered, clock=Clock(watch), **ONE_SHARD) as sink:
        await settle_at_once(sink, metered, "car1", "car2", correlator="first")
        watch.move(timedelta(hours=2))
        rows = len(await contents(world.context.table))
        assert await settle_at_once(sink, metered, "car1", correlator="c") == [12, 10]
        # A run in two lists, and the receipt, which expires.
        assert len(await contents(world.context.table)) == rows + 4
        history = await RunLists(sink.committer.run_log.runs).history(
            (await runs(sink))[-1], Window(size=10)
        )
        assert history.entries == ()


async def settle_at_once(
    sink: NotificationSink, metered: MeteredTable, *cars: str, **headers: str
) -> list[float]:
    """The write units of accepting one notification, and those of storing it."""
    metered.units.wcu = 0
    await accept(sink, *cars, **headers)
    accepted = metered.units.wcu
    await sink.loader.drain()
    return [accepted, metered.units.wcu - accepted]


@without_moto
async def test_ten_notifications_of_an_entity_that_wait_together_share_all_but_receipts(
    world: SinkWorld,
) -> None:
    metered = MeteredTable(world.context.table)
    async with world.open_sink(JOINING, table=metered, **ONE_SHARD) as sink:
        for _ in range(2):
            await accept(sink, "car1")
            await until(partial(is_stored, sink))
        metered.units.wcu = 0
        for n in range(10):
            sink.inbox.enqueue(notification("car1", correlator=f"c{n}"), 100)
        await sink.inbox.wait_until_empty()
        await until(partial(is_stored, sink))
        # The receipts, the row of the entity's latest samples, and the counts.
        assert metered.units.wcu == 10 * 2 + 2 + 2
        await sink.loader.drain()
        # The counts once more, and the run.
        assert metered.units.wcu == 10 * 2 + 2 + 2 + 2 + 6
        assert len(await runs(sink)) == 2


@on_sqlite
@pytest.mark.parametrize(("unsettled", "units"), [(14, 2), (15, 4), (29, 4), (30, 6), (32, 6)])
async def test_the_counts_cost_more_while_they_name_many_segments(
    world: SinkWorld, unsettled: int, units: int
) -> None:
    metered = MeteredTable(world.context.table)
    async with world.open_sink(SLOW, table=metered, **ONE_SHARD) as sink:
        # The first one has a run of its own.
        for _ in range(1 + unsettled):
            metered.units.wcu = 0
            await accept(sink, "car1")
        assert metered.units.wcu == units


@on_sqlite
@pytest.mark.parametrize(
    ("settled", "with_dead", "dearer"),
    [
        (0, 0, {4: 15}),
        (120, 0, {4: 14}),
        (RUN_SEGMENTS, 0, {4: 9}),
        (RUN_SEGMENTS, MOST_WITH_DEAD, {4: 2, 6: 11}),
    ],
)
async def test_the_counts_cost_more_earlier_the_more_they_note_of_a_run(
    world: SinkWorld, settled: int, with_dead: int, dearer: dict[float, int]
) -> None:
    metered = MeteredTable(world.context.table)
    async with world.open_sink(SLOW, table=metered, **ONE_SHARD) as sink:
        for _ in range(2):
            await accept(sink, "car1")
        (segment,) = await read_open_segments(world.context.table, AT)
        await note(world, segment, settled, with_dead)
        found: dict[float, int] = {}
        for unsettled in range(2, 16):
            metered.units.wcu = 0
            await accept(sink, "car1")
            found.setdefault(metered.units.wcu, unsettled)
    found.pop(2, None)
    assert found == dearer


async def note(world: SinkWorld, of: OpenSegment, settled: int, with_dead: int) -> None:
    """Note so many segments of a run as settled, and some with a dead event in the row of one."""
    each = [of._replace(id=f"{number:03}{of.id[3:]}") for number in range(settled)]
    dead: dict[str, Value] = {}
    for segment in each[:with_dead]:
        dead |= segment.dead_note(1)
    noted = Update(key=count_key(AT, of.shard), add=dict(add_bits(*each)), set=dead)
    if settled:
        await world.context.table.transact([noted])


@on_sqlite
async def test_more_segments_than_that_have_runs_of_their_own(world: SinkWorld) -> None:
    metered = MeteredTable(world.context.table)
    async with world.open_sink(SLOW, table=metered, **ONE_SHARD) as sink:
        for _ in range(1 + MAX_OPEN):
            await accept(sink, "car1")
        assert len(await runs(sink)) == 2
        for _ in range(2):
            await accept(sink, "car1")
        assert len(await runs(sink)) == 4
        await sink.loader.drain()
        assert await world.recount() == IngestCounts(
            received=MAX_OPEN + 3, persisted=MAX_OPEN + 3, items=2 * (MAX_OPEN + 3)
        )
