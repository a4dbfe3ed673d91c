"""A sink over a DynamoDB that throttles, leaves batches unprocessed, and loses answers."""

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.errors import Unavailable
from tests.datastore.ngsi.latest_checks import check_latest
from tests.datastore.ngsi.sample_destinations import PrefixedDestinations, open_dynamodb
from tests.datastore.ngsi.sample_sinks import SinkWorld, car, notification, open_world
from tests.faults.dynamodb_proxy import Fault, FaultProxy
from tests.support.sample_resources import SUPER
from tests.support.stores import open_dynamodb as open_table
from tests.support.stores import quick_endpoint

SPEEDY = set(Fault) - {Fault.SILENT_AFTER, Fault.SHORT_PAGE, Fault.SLOW}
NOTIFICATIONS = 12
DEADLINE = 60.0


async def send(world: SinkWorld, left: list[int], sink: Any) -> list[int]:
    """Send each number, two cars at a time; return those that were not acknowledged."""

    async def one(number: int) -> int | None:
        cars = [car(f"car{number % 3}", speed=number), car(f"bus{number % 2}", speed=number)]
        try:
            await sink.accept_notification(notification(*cars, correlator=f"c{number}"), 100)
        except Unavailable:
            return number
        return None

    answers = await asyncio.gather(*(one(number) for number in left))
    return [number for number in answers if number is not None]


@pytest.mark.parametrize("seed", [1])
async def test_whatever_dynamodb_does_each_sample_is_stored_once(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    made = await open_table(quick_endpoint())
    await made.create()
    async with FaultProxy(quick_endpoint()) as proxy:
        # Its silence lasts longer than any call, and passes at once.
        proxy.silence = DEADLINE + 1
        table = await open_table(proxy.url, name=made._name, deadline=DEADLINE)
        inner = await open_dynamodb(proxy.url, deadline=DEADLINE)
        destinations = PrefixedDestinations(inner, f"f{made._name[-8:]}.")
        async with open_world(table, destinations, tmp_path) as world:
            async with world.open_sink():
                pass
            proxy.chance(0.15, SPEEDY, seed=seed)
            proxy.script("BatchWriteItem", Fault.UNPROCESSED, Fault.SILENT_AFTER, Fault.THROTTLED)
            left = list(range(NOTIFICATIONS))
            while left:
                async with world.open_sink(drain=dice.choice([0.0, 0.3]), lease_seconds=1) as sink:
                    some, rest = left[:8], left[8:]
                    left = [*await send(world, some, sink), *rest]
            proxy.chance(0.0, (), seed=seed)
            async with world.open_sink(lease_seconds=1) as sink:
                await world.wait_until_settled()
                for letter in await world.letters():
                    await sink.replayer.replay(letter)
                counts = await world.recount()
                notified = world.store_beside(sink).open_session(SUPER).notifications
                for _ in range(3):
                    proxy.script("BatchGetItem", Fault.UNPROCESSED)
                assert await check_latest(table, notified) == 5
            samples = await world.read_samples()
        faults = Counter(seen.fault for seen in proxy.seen)
        await inner.close()
        await table.close()
    await made.close()
    assert Counter(item["attrValue"] for item in samples) == Counter(
        {str(number): 2 for number in range(NOTIFICATIONS)}
    )
    assert counts.persisted == counts.items == 2 * NOTIFICATIONS
    assert counts.received == counts.persisted + counts.duplicates
    assert len(faults) > 6
