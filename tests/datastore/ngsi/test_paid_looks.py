"""A follower of a series pays for each look at it, and is told of everything in the end."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from msgspec import structs

from penstock.datastore.access.work import INCLUDED_CALLS, sample_units
from penstock.datastore.change_log.opening_deadline import opening_until
from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.errors import LimitExceeded, RateLimited
from penstock.datastore.ngsi.options import ItemLayout, Persistence
from penstock.datastore.ngsi.reading import followers
from penstock.datastore.ngsi.reading.followers import LOOK_UNITS, MAX_STORAGE_DELAY, follow_series
from penstock.datastore.ngsi.reading.series import ALL_TIMES
from penstock.datastore.table.pages import Window
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, car, notification
from tests.datastore.ngsi.test_repository import reader, speed
from tests.support.patience import HUNG_SECONDS, until
from tests.support.sample_resources import SUPER, Watch, on_sqlite
from tests.support.work_account import Account


class NotingAccount(Account):
    """Counts what it refuses as well."""

    refused = 0

    def spend_more(self, units: int) -> None:
        try:
            super().spend_more(units)
        except RateLimited:
            self.refused += 1
            raise


@on_sqlite
async def test_a_follower_in_debt_looks_at_nothing_and_misses_nothing(world: SinkWorld) -> None:
    watch, account = Watch(), NotingAccount()
    async with world.open_sink(clock=Clock(watch)) as sink:

        async def store(value: int) -> None:
            await sink.accept_notification(notification(car("car1", speed=value)), 10)
            await sink.loader.drain()

        await store(0)
        series = reader(world).series
        following = follow_series(series, Clock(watch), await speed(world), 0.01, account)
        assert (await anext(following)).text == "0"
        assert account.taken == 0
        told = asyncio.ensure_future(anext(following))
        await until(lambda: account.taken >= 3 * LOOK_UNITS)
        account.most = account.taken
        await until(lambda: account.refused)
        watch.move(timedelta(seconds=1))
        await store(1)
        watch.move(5 * MAX_STORAGE_DELAY)
        before = account.refused
        await until(lambda: account.refused >= before + 3)
        assert (told.done(), account.taken) == (False, account.most)
        account.most += LOOK_UNITS
        assert (await asyncio.wait_for(told, HUNG_SECONDS)).text == "1"
        assert account.taken == account.most
        await following.aclose()  # type: ignore[attr-defined]


async def store_ahead(world: SinkWorld, watch: Watch, count: int) -> None:
    """Store samples of the next hours, one for each minute, in one notification."""
    begin = Clock(watch).now() + timedelta(hours=1)
    times = (iso_timestamp(begin + timedelta(minutes=number)) for number in range(count))
    cars = [car("car1", speed=1) for _ in range(count)]
    for each, time in zip(cars, times, strict=True):
        each["speed"]["metadata"] = {"TimeInstant": {"type": "DateTime", "value": time}}
    found = notification(*cars)
    async with world.open_sink(clock=Clock(watch)) as sink:
        await sink.accept_notification(found, 10)
        await sink.loader.drain()


@on_sqlite
async def test_a_follower_owes_the_samples_of_times_to_come_with_each_look(
    world: SinkWorld,
) -> None:
    watch, account = Watch(), Account()
    await store_ahead(world, watch, 9)
    series = reader(world).series
    following = follow_series(series, Clock(watch), await speed(world), 0.0, account)
    assert (await anext(following)).text == "1"
    looks = asyncio.ensure_future(anext(following))
    await until(lambda: account.taken >= 3 * LOOK_UNITS)
    looks.cancel()
    await asyncio.wait([looks])
    # A look that is cut off was taken, and may not be owed yet.
    assert account.owed % sample_units(9) == 0
    assert account.owed >= account.taken // LOOK_UNITS * sample_units(9)


@on_sqlite
async def test_a_follower_ends_where_a_look_reads_too_many_samples(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch()
    await store_ahead(world, watch, 9)
    monkeypatch.setattr(followers, "MAX_SAMPLES", 8)
    series = reader(world).series
    following = follow_series(series, Clock(watch), await speed(world), 0.0, Account())
    await anext(following)
    with pytest.raises(LimitExceeded):
        await anext(following)


@on_sqlite
async def test_a_follower_is_open_when_it_waits_for_a_sample(world: SinkWorld) -> None:
    watch, opened = Watch(), list[str]()
    await store_ahead(world, watch, 1)
    series, of = reader(world).series, await speed(world)
    following = follow_series(series, Clock(watch), of, HUNG_SECONDS, Account())
    await anext(following)
    with opening_until(lambda: opened.append("open")):
        told = asyncio.ensure_future(anext(following))
    await until(lambda: opened)
    told.cancel()
    await asyncio.wait([told])


COLUMN = replace(QUICK, layout=ItemLayout(attr_persistence=Persistence.COLUMN))


@on_sqlite
async def test_a_series_of_columns_that_is_read_far_for_a_short_page_is_paid(
    world: SinkWorld,
) -> None:
    async with world.open_sink(COLUMN) as sink:
        large = [car("car1", speed="x" * 30_000) for _ in range(20)]
        await sink.accept_notification(notification(*large), 10)
        await sink.loader.drain()
        account = Account()
        notified = world.store_beside(sink).open_session(SUPER, account).notifications
        absent = structs.replace(await speed(world), name="absent")
        page = await notified.series.page(absent, ALL_TIMES, Window(size=1))
        assert page.entries == ()
        due = notified.units.rcu - INCLUDED_CALLS
        assert due > 50
        assert due - 20 < account.owed <= due
