"""Busy hours are kept by the sink that stored them, and first reads find them."""

from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.errors import Unavailable
from penstock.datastore.ngsi.catalog import EntityName
from penstock.datastore.ngsi.hours import busy_hours, hour_keeper
from penstock.datastore.ngsi.hours.busy_hours import BusyHours
from penstock.datastore.ngsi.hours.generations import HourOfEvents
from penstock.datastore.ngsi.hours.hour_keeper import SERIES_SAMPLES
from penstock.datastore.ngsi.hours.reader import HourReader
from penstock.datastore.ngsi.reading import charts
from penstock.datastore.ngsi.reading.series import TimeSpan
from penstock.datastore.roles import ROOT
from penstock.datastore.table.instrumentation import MeteredTable
from tests.datastore.ngsi.hours.hour_worlds import (
    DAILY,
    Hold,
    HourWorld,
    hour,
    open_hours,
    span_of_hours,
    while_held,
)
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld
from tests.support.sample_resources import SUPER, on_sqlite, without_moto

QUIET_TIME = timedelta(minutes=15)


@pytest.fixture(autouse=True)
def take_few_for_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(busy_hours, "BUSY", 2)


async def fill(place: HourWorld, *hours: float) -> None:
    """Store a sample at each hour; two of the same hour make it busy."""
    for number in hours:
        await place.store_at(hour(number), number)


async def keep(place: HourWorld, wait: timedelta = QUIET_TIME) -> int:
    """Keep what is due after a while."""
    place.watch.move(wait)
    return await place.sink.hour_keeper.keep_due()


async def read_calls(place: HourWorld, span: TimeSpan) -> tuple[int, int]:
    """Read a span by days; return the calls of the table, and those for samples."""
    metered, notified, of = MeteredTable(place.store.table), place.notified, await place.find()
    assert of is not None
    access = Access(metered, SUPER, place.store.clock, Budget())
    found = await replace(notified.hours, access=access).aggregate(of, span, DAILY)
    assert found == await place.recompute(DAILY, span)
    return metered.units.calls, notified.units.calls


@without_moto
async def test_the_first_read_of_a_busy_hour_finds_it_kept(world: SinkWorld) -> None:
    async with open_hours(world) as place:
        await fill(place, 0, 0.5, 1, 1.5)
        assert await keep(place) == SERIES_SAMPLES + 4
        assert await place.kept_days() == 1
        # The generations, the deletions and the kept days; and a page of samples at the start.
        assert await read_calls(place, span_of_hours(0, 2)) == (3, 1)
        assert len(place.sink.hour_keeper.busy) == 0
        assert await keep(place) == 0


@on_sqlite
async def test_a_quiet_hour_is_kept_by_its_reader_only(world: SinkWorld) -> None:
    async with open_hours(world) as place:
        await fill(place, 0, 1)
        assert await keep(place) == 0
        assert (await place.kept_days(), len(place.sink.hour_keeper.busy)) == (0, 0)


@on_sqlite
async def test_an_hour_is_kept_when_it_is_over_and_nothing_comes_any_more(world: SinkWorld) -> None:
    async with open_hours(world) as place:
        for minutes in (1, 2):
            await place.store_at(place.watch.time + timedelta(minutes=minutes), minutes)
        assert await keep(place, timedelta(minutes=74)) == 0
        assert await place.kept_days() == 0
        late = place.watch.time - timedelta(minutes=30)
        await place.store_at(late, 100)
        assert await keep(place, timedelta(minutes=9)) == 0
        assert await keep(place, timedelta(minutes=1)) == SERIES_SAMPLES + 3
        assert await place.kept_days() == 1
        assert await place.sums() == [103]


@on_sqlite
async def test_hours_of_the_day_and_of_the_day_before_are_made_up_for(world: SinkWorld) -> None:
    async with open_hours(world) as place:
        await fill(place, 1, 22, 25, 30, 30.5)
        assert await keep(place) == SERIES_SAMPLES + 5
        assert await place.kept_days() == 2
        assert await read_calls(place, span_of_hours(1, 31)) == (3, 1)


@without_moto
async def test_a_late_sample_that_is_stored_while_an_hour_is_kept_counts(world: SinkWorld) -> None:
    async with open_hours(world) as place:
        await fill(place, 0, 0.5, 1)
        place.watch.move(QUIET_TIME)
        hold = place.held.query_hold = Hold()
        await while_held(
            hold, place.sink.hour_keeper.keep_due(), lambda: place.store_at(hour(0.75), 100)
        )
        assert await place.sums() == [101.5]


@on_sqlite
async def test_an_hour_with_a_segment_that_is_not_stored_is_not_kept(world: SinkWorld) -> None:
    async with open_hours(world) as place:
        await fill(place, 0, 0.5)
        place.watch.move(QUIET_TIME)
        hold = place.held.write_hold = Hold()
        await place.send(hour(0.25), 100)

        async def keep_meanwhile() -> None:
            await place.sink.hour_keeper.keep_due()
            assert await place.kept_days() == 0

        await while_held(hold, place.world.wait_until_settled(), keep_meanwhile)
        assert await place.sums() == [100.5]


@on_sqlite
async def test_more_than_a_reader_may_read_is_kept_in_several_turns(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_hours(world) as place:
        await fill(place, 0, 0.5, 1, 1.5, 2, 2.5)
        monkeypatch.setattr(charts, "MAX_SAMPLES", 4)
        assert await keep(place) == 4
        assert len(place.sink.hour_keeper.busy) == 3
        # The second hour was not read to its end.
        assert await keep(place) == SERIES_SAMPLES + 4
        assert len(place.sink.hour_keeper.busy) == 0


@on_sqlite
async def test_an_hour_that_nobody_can_read_is_given_up(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_hours(world) as place:
        await fill(place, 0, 0.25, 0.5)
        monkeypatch.setattr(charts, "MAX_SAMPLES", 2)
        assert [await keep(place) for _ in range(4)] == [2, 2, 2, 0]
        assert len(place.sink.hour_keeper.busy) == 0


@on_sqlite
async def test_a_turn_ends_behind_so_many_samples(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_hours(world) as place:
        await fill(place, 0, 0.5, 30, 30.5)
        monkeypatch.setattr(hour_keeper, "TURN_SAMPLES", 1)
        assert await keep(place) == SERIES_SAMPLES + 2
        assert await keep(place) == SERIES_SAMPLES + 2
        assert await keep(place) == 0


@on_sqlite
async def test_a_store_that_is_away_is_tried_again(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_hours(world) as place:
        await fill(place, 0, 0.5)
        keeper = place.sink.hour_keeper

        async def fail(*_args: object) -> int:
            raise Unavailable("busy")

        with monkeypatch.context() as patched:
            patched.setattr(HourReader, "keep", fail)
            assert await keep(place) == 0
        assert len(keeper.busy) == 1
        assert await keep(place) == SERIES_SAMPLES + 2


@on_sqlite
async def test_hours_are_not_remembered_where_the_settings_say_so(world: SinkWorld) -> None:
    async with open_hours(world, replace(QUICK, keep_hours=False)) as place:
        await fill(place, 0, 0.5)
        assert len(place.sink.hour_keeper.busy) == 0
        assert await keep(place) == 0
        assert await place.kept_days() == 0


def test_a_process_remembers_so_many_hours_and_no_more() -> None:
    busy, name = BusyHours(most=2), EntityName("s", ROOT, "e", "t")
    for number in range(3):
        busy.note({(name, number): HourOfEvents(1, 0)}, 0)
    busy.note({(name, 1): HourOfEvents(5, 0)}, 0)
    assert len(busy) == 2
    assert busy.due(10**12) == [(name, 1)]
    assert len(busy) == 1
