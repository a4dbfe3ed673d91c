"""A follower of a series pays for each look at it, and is told of everything in the end."""

import asyncio
from datetime import timedelta

from penstock.datastore.clock import Clock
from penstock.datastore.errors import RateLimited
from penstock.datastore.ngsi.reading.followers import LOOK_UNITS, MAX_STORAGE_DELAY, follow_series
from tests.datastore.ngsi.sample_sinks import SinkWorld, car, notification
from tests.datastore.ngsi.test_repository import reader, speed
from tests.support.patience import HUNG_SECONDS, until
from tests.support.sample_resources import Watch, on_sqlite
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
