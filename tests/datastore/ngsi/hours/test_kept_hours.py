"""Aggregates by kept hours are those of the samples, whoever stores or deletes some meanwhile."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.errors import LimitExceeded, Unavailable
from penstock.datastore.jobs.leases import LEASE_TIME
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.hours import chart_points, reader
from penstock.datastore.ngsi.hours.abandoned_deletions import WORKER_TIME
from penstock.datastore.ngsi.hours.chart_points import ChartPoints
from penstock.datastore.ngsi.hours.generations import (
    LATE_MS,
    SKEW_MS,
    HourDeletion,
    read_states,
)
from penstock.datastore.ngsi.options import (
    BatchingOptions,
    ItemLayout,
    Persistence,
    SampleLifetimes,
)
from penstock.datastore.ngsi.reading import charts
from penstock.datastore.ngsi.reading.aggregates import Aggregation
from penstock.datastore.ngsi.reading.downsampling import Downsampling
from penstock.datastore.ngsi.reading.number_counts import NumberCounts
from penstock.datastore.ngsi.reading.periods import Period, Width
from penstock.datastore.ngsi.reading.series import TimeSpan, milliseconds_of
from penstock.datastore.ngsi.reading.summaries import Method
from penstock.datastore.ngsi.replay import LetterReplayer
from penstock.datastore.roles import ROOT
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.layout import KEPT_MINUTES, KEPT_NUMBERS
from penstock.datastore.table.port import Delete, Put
from tests.datastore.ngsi.hours.hour_worlds import (
    BEGIN,
    CAR,
    DAILY,
    Hold,
    HourWorld,
    hour,
    open_hours,
    span_of_hours,
    while_held,
)
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld
from tests.support.consistency_check import contents
from tests.support.sample_resources import SUPER, on_sqlite, without_moto

COLUMN = replace(QUICK, layout=ItemLayout(attr_persistence=Persistence.COLUMN))
HOURLY = Aggregation(Method.COUNT, Period.HOUR)


async def names_of(*names: str) -> AsyncIterator[str]:
    for name in names:
        yield name


async def fill(place: HourWorld) -> None:
    """Store samples of two days: in hours 0, 1, 5 and 30."""
    for at, value in ((0, 1), (0.5, 2), (1, -4.25), (5.1, 8), (30, 16)):
        await place.store_at(hour(at), value)


@without_moto
@pytest.mark.parametrize("options", [QUICK, COLUMN], ids=["rows", "columns"])
async def test_every_method_gives_the_same_by_kept_hours(world: SinkWorld, options: object) -> None:
    async with open_hours(world, options) as place:  # type: ignore[arg-type]
        await fill(place)
        assert [bucket.value for bucket in await place.aggregate()] == [Decimal("6.75"), 16]
        assert await place.kept_days() == 2
        spans = (TimeSpan(), span_of_hours(0, 24), TimeSpan(hour(0.25), hour(30.5)))
        periods = (Period.MINUTE, Period.HOUR, Period.DAY, Period.YEAR, Width(7200), Width(5400))
        for method in Method:
            for period in periods:
                how = Aggregation(method, period)
                for span in spans:
                    expected = await place.recompute(how, span, fill=True)
                    assert await place.aggregate(how, span, fill=True) == expected


@pytest.mark.parametrize("options", [QUICK, COLUMN], ids=["rows", "columns"])
async def test_all_stores_keep_hours(world: SinkWorld, options: object) -> None:
    async with open_hours(world, options) as place:  # type: ignore[arg-type]
        await fill(place)
        for _ in range(2):
            assert await place.sums() == [Decimal("6.75"), 16]
        assert await place.kept_days() == 2


@on_sqlite
async def test_a_kept_hour_is_read_without_its_samples(world: SinkWorld) -> None:
    async with open_hours(world) as place:
        await fill(place)
        of = await place.find()
        assert of is not None
        for span, kept_calls, sample_calls in (
            (span_of_hours(0, 47), (3 + 4 + 2 + 1, 3), (1 + 5, 1)),
            (TimeSpan(), (3, 3), (2, 2)),
        ):
            for calls, samples in zip(kept_calls, sample_calls, strict=True):
                metered, notified = MeteredTable(place.store.table), place.notified
                access = Access(metered, SUPER, place.store.clock, Budget())
                hours = replace(notified.hours, access=access)
                found = await hours.aggregate(of, span, DAILY)
                assert [bucket.samples for bucket in found] == [4, 1]
                # The generations, the deletions and the kept days; the first time also four for
                # what is not settled, one for each day, and one to read a day that is kept in
                # part. A page of samples, then the others.
                assert (metered.units.calls, notified.units.calls) == (calls, samples)


@without_moto
async def test_a_late_sample_counts_at_once(world: SinkWorld) -> None:
    async with open_hours(world) as place:
        await fill(place)
        assert await place.sums() == [Decimal("6.75"), 16]
        await place.store_at(hour(0.75), 100)
        assert await place.sums() == [Decimal("106.75"), 16]
        await place.store_at(hour(2), 1000)
        assert await place.sums() == [Decimal("1106.75"), 16]
        assert await place.sums() == [Decimal("1106.75"), 16]
        assert await place.kept_days() == 2


@on_sqlite
async def test_hours_that_are_not_over_are_not_kept(world: SinkWorld) -> None:
    async with open_hours(world) as place:
        for minutes in (1, 2):
            await place.store_at(place.watch.time + timedelta(minutes=minutes), minutes)
        assert await place.sums() == [3]
        assert await place.kept_days() == 0
        margin = timedelta(milliseconds=LATE_MS + SKEW_MS)
        place.watch.move(timedelta(hours=1) + margin - timedelta(milliseconds=1))
        assert await place.sums() == [3]
        assert await place.kept_days() == 0
        place.watch.move(timedelta(milliseconds=1))
        assert await place.sums() == [3]
        assert await place.kept_days() == 1


@on_sqlite
async def test_a_late_sample_that_is_stored_while_its_hour_is_read_counts(world: SinkWorld) -> None:
    async with open_hours(world) as place:
        await fill(place)
        hold = place.held.query_hold = Hold()
        await while_held(hold, place.aggregate(), lambda: place.store_at(hour(0.75), 100))
        assert await place.sums() == [Decimal("106.75"), 16]


@on_sqlite
@pytest.mark.parametrize("alone", [False, True])
async def test_an_hour_is_not_kept_while_a_late_sample_of_it_is_being_stored(
    world: SinkWorld, alone: bool
) -> None:
    async with open_hours(world) as place:
        await fill(place)
        await place.aggregate()
        # The first segment after a while is a run of its own.
        place.watch.move(timedelta(hours=1) if alone else timedelta(0))
        hold = place.held.write_hold = Hold()

        async def read_twice() -> None:
            assert await place.sums() == [Decimal("6.75"), 16]
            assert await place.sums() == [Decimal("6.75"), 16]

        await while_held(hold, place.send(hour(0.75), 100), read_twice)
        await world.wait_until_settled()
        assert await place.sums() == [Decimal("106.75"), 16]


@on_sqlite
async def test_an_hour_is_not_kept_while_a_sample_of_it_waits_for_its_destination(
    world: SinkWorld,
) -> None:
    async with open_hours(world) as place:
        await fill(place)
        await place.store_at(place.watch.time, 1)
        hold = place.held.write_hold = Hold()

        async def read_later() -> None:
            # It was in time when its storage began.
            place.watch.move(timedelta(hours=5))
            assert await place.sums() == [Decimal("6.75"), 16, 1]

        await while_held(hold, place.send(place.watch.time, 100), read_later)
        await world.wait_until_settled()
        assert await place.sums() == [Decimal("6.75"), 16, 101]
        assert await place.sums() == [Decimal("6.75"), 16, 101]
        assert await place.kept_days() == 3


@on_sqlite
async def test_what_a_dead_server_had_begun_to_store_counts_once_another_has_stored_it(
    world: SinkWorld,
) -> None:
    async with open_hours(world) as place:
        await fill(place)
        async with open_hours(world, drain=0) as dying:
            hold = dying.held.write_hold = Hold()
            await dying.send(hour(0.75), 100)
            await hold.reached.wait()
        assert await place.sums() == [Decimal("6.75"), 16]
        place.watch.move(timedelta(hours=1))
        await place.sink.take_over_runs()
        await world.wait_until_settled()
        assert await place.sums() == [Decimal("106.75"), 16]


@on_sqlite
async def test_replayed_updates_count(world: SinkWorld) -> None:
    async with open_hours(world, replace(QUICK, batching=BatchingOptions(ttl=0))) as place:
        await fill(place)
        place.held.fail = True
        await place.store_at(hour(1.5), 100)
        place.held.fail = False
        assert await place.sums() == [Decimal("6.75"), 16]
        (letter,) = await world.letters()
        replayer: LetterReplayer = place.sink.replayer
        await replayer.replay(letter)
        await world.wait_until_settled()
        assert await place.sums() == [Decimal("106.75"), 16]


@without_moto
async def test_deleted_samples_do_not_count(world: SinkWorld) -> None:
    async with open_hours(world) as place:
        await fill(place)
        await place.aggregate()
        await place.delete(TimeSpan(hour(0.25), hour(1.5)))
        assert await place.sums() == [9, 16]
        assert await place.kept_days() == 2
        await place.delete()
        assert await place.aggregate() == []
        assert await place.kept_days() == 0
        await place.store_at(hour(0.25), 3)
        await place.store_at(hour(1), 4)
        assert await place.sums() == [7]


@on_sqlite
async def test_samples_that_are_deleted_while_their_hour_is_read_are_not_kept(
    world: SinkWorld,
) -> None:
    async with open_hours(world) as place:
        await fill(place)
        hold = place.held.query_hold = Hold()
        await while_held(
            hold, place.aggregate(), lambda: place.delete(TimeSpan(hour(0), hour(0.25)))
        )
        assert await place.sums() == [Decimal("5.75"), 16]


@on_sqlite
async def test_nothing_is_kept_of_a_span_that_is_being_deleted(world: SinkWorld) -> None:
    async with open_hours(world) as place:
        await fill(place)
        await place.aggregate()
        place.watch.move(timedelta(seconds=1))
        await place.store.open_session(SUPER).sample_deletions.begin(CAR, span_of_hours(1, 3))
        place.held.lose_deletes = True
        assert await place.store.run_jobs("w") == 0
        # One attribute's samples are gone; the job has not ended.
        assert await place.sums() == await place.sums() == [11, 16]
        place.held.lose_deletes = False
        assert await place.store.run_jobs("w") == 1
        assert await place.sums() == [11, 16]
        assert await place.sums() == [11, 16]


@on_sqlite
async def test_a_worker_that_was_paused_leaves_samples_and_mark_to_the_one_that_goes_on(
    world: SinkWorld,
) -> None:
    async with open_hours(world) as place:
        await fill(place)
        place.watch.move(timedelta(seconds=1))
        session = place.store.open_session(SUPER)
        job = await session.sample_deletions.begin(CAR, span_of_hours(1, 3))

        async def begin_as_well() -> None:
            place.watch.move(LEASE_TIME + timedelta(seconds=1))
            place.held.lose_deletes = True
            assert await place.store.run_jobs("second") == 0

        hold = place.held.query_hold = Hold()
        assert await while_held(hold, place.store.run_jobs("first"), begin_as_well) == 0
        assert place.held.deletes == 2
        states = await read_states(place.store.table, CAR, 0, 1_000_000)
        assert list(states.deletions) == [job.id]


@on_sqlite
async def test_the_mark_of_a_deletion_that_was_cancelled_between_two_workers_is_taken_off(
    world: SinkWorld,
) -> None:
    async with open_hours(world) as place:
        await fill(place)
        await place.aggregate()
        place.watch.move(timedelta(seconds=1))
        session = place.store.open_session(SUPER)
        job = await session.sample_deletions.begin(CAR, span_of_hours(1, 3))
        place.held.lose_deletes = True
        assert await place.store.run_jobs("w") == 0
        place.held.lose_deletes = False
        await session.jobs.cancel(job.id)
        for waited, marked in ((timedelta(0), [job.id]), (WORKER_TIME, [])):
            place.watch.move(waited)
            # One attribute's samples are gone, and what was kept of them does not count again.
            assert await place.sums() == await place.sums() == [11, 16]
            states = await read_states(place.store.table, CAR, 0, 1_000_000)
            assert list(states.deletions) == marked
        assert await place.kept_days() == 2


@on_sqlite
async def test_what_has_expired_does_not_count(world: SinkWorld) -> None:
    layout = ItemLayout(lifetimes=SampleLifetimes(((ROOT, 1),)))
    async with open_hours(world, replace(QUICK, layout=layout)) as place:
        await place.store_at(hour(0), 1)
        place.watch.move(timedelta(hours=1))
        await place.store_at(hour(0.5), 2)
        await place.store_at(hour(1), 3)
        assert await place.sums() == [6]
        place.watch.move(timedelta(hours=23))
        assert await place.sums() == [5]
        assert await place.sums() == [5]
        place.watch.move(timedelta(hours=1))
        assert await place.sums() == []


@on_sqlite
async def test_a_read_that_is_refused_keeps_what_it_has_read(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "MAX_SAMPLES", 3)
    async with open_hours(world) as place:
        await fill(place)
        with pytest.raises(LimitExceeded, match="samples of a span"):
            await place.aggregate()
        assert [bucket.value for bucket in await place.aggregate()] == [Decimal("6.75"), 16]


@without_moto
async def test_a_day_that_an_earlier_release_kept_gets_its_minutes_and_numbers(
    world: SinkWorld,
) -> None:
    async with open_hours(world) as place:
        await fill(place)
        await place.aggregate()
        rows = await contents(world.context.table)
        table = place.store.table
        for row in (KEPT_MINUTES, KEPT_NUMBERS):
            await table.write([Delete(key) for key in rows if row.holds(key)])
        assert [bucket.value for bucket in await place.aggregate()] == [Decimal("6.75"), 16]
        for how in (
            Aggregation(Method.MAX, Width(900)),
            Aggregation(Method.PERCENTILE, Period.DAY),
        ):
            for _ in range(2):
                assert await place.aggregate(how) == await place.recompute(how)
        assert await place.kept_days() == 2


@without_moto
async def test_hours_whose_numbers_are_too_many_are_kept_without_them(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NumberCounts, "is_small", False)
    async with open_hours(world) as place:
        await fill(place)
        daily = Aggregation(Method.PERCENTILE, Period.DAY)
        for _ in range(2):
            assert [bucket.value for bucket in await place.aggregate()] == [Decimal("6.75"), 16]
            assert await place.aggregate(daily) == await place.recompute(daily)
        rows = await contents(world.context.table)
        assert [sum(map(row.holds, rows)) for row in (KEPT_MINUTES, KEPT_NUMBERS)] == [2, 0]


@on_sqlite
async def test_a_deletion_that_breaks_off_forgets_the_minutes_of_each_day_in_the_end(
    world: SinkWorld,
) -> None:
    async with open_hours(world) as place:
        await fill(place)
        await place.aggregate()
        batches = list[int]()

        class BreakingTable(MeteredTable):
            async def write(self, operations: Sequence[Put | Delete]) -> float:
                batches.append(len(operations))
                if len(batches) == 2:
                    raise Unavailable("busy")
                return await super().write(operations)

        first = int(BEGIN.timestamp()) // 3600
        broken = BreakingTable(place.store.table)
        deletion = HourDeletion(broken, CAR, "job", first, first + 47)
        with pytest.raises(Unavailable):
            await deletion.forget(names_of("speed"))
        await deletion.forget(names_of("speed"))
        assert batches == [4, 2, 4, 2]
        assert await place.kept_days() == 0


@without_moto
@pytest.mark.parametrize("method", Downsampling)
async def test_a_chart_of_more_samples_than_are_read_is_made_of_kept_minutes(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch, method: Downsampling
) -> None:
    monkeypatch.setattr(reader, "FIRST_PAGE", 2)
    monkeypatch.setattr(chart_points, "HOURS_OF_POINT", 100)
    async with open_hours(world) as place:
        await fill(place)
        exact = await place.chart(3, method)
        assert exact.resolution == 0
        monkeypatch.setattr(charts, "MAX_SAMPLES", 4)
        with pytest.raises(LimitExceeded, match="samples of a span"):
            await place.chart(3, method)
        for _ in range(2):
            assert await place.chart(3, method) == ChartPoints(exact.points, 60)
        await place.store_at(hour(30.5), 99)
        late = (milliseconds_of(hour(30.5)), Decimal(99))
        assert (await place.chart(3, Downsampling.MAX)).points[-1] == late
        monkeypatch.setattr(chart_points, "MOST_HOURS", 1)
        assert (await place.chart(3, method)).resolution == 3600


@on_sqlite
async def test_a_table_that_refuses_a_kept_day_does_not_stop_the_reading(world: SinkWorld) -> None:
    async with open_hours(world) as place:
        await fill(place)

        class BusyTable(MeteredTable):
            async def transact(self, operations: object) -> float:
                raise Unavailable("busy")

        store = replace(place.store, table=BusyTable(place.store.table))
        assert await replace(place, store=store).sums() == [Decimal("6.75"), 16]
        assert await place.kept_days() == 0


@on_sqlite
async def test_late_samples_cost_a_unit_for_each_hour_of_an_entity(world: SinkWorld) -> None:
    metered = MeteredTable(world.context.table)
    metered_world = SinkWorld(replace(world.context, table=metered, lease_seconds=3600, shards=1))
    async with open_hours(metered_world) as place:
        for _ in range(3):
            await place.store_at(place.watch.time, 1)
        metered.units.wcu = 0
        place.watch.move(timedelta(milliseconds=1))
        await place.store_at(place.watch.time, 1)
        # The counts twice, and the row of the latest samples, which a late one leaves alone.
        assert metered.units.wcu == 6
        metered.units.wcu = 0
        await place.store_at(hour(0), 1)
        assert metered.units.wcu == 5
        assert await world.recount() == IngestCounts(received=5, persisted=5, items=10)
