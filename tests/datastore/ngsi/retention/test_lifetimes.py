"""Samples expire by their group, and nobody reads one that has expired."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import BadArgument
from penstock.datastore.ngsi.options import (
    ItemLayout,
    Persistence,
    SampleLifetimes,
    parse_lifetimes,
)
from penstock.datastore.ngsi.reading.series import ALL_TIMES, SampledNumber
from penstock.datastore.ngsi.rows import items_of
from penstock.datastore.roles import GroupPath
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import TTL
from tests.datastore.ngsi.sample_destinations import AT, event, open_dynamodb, unique_table_name
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, car
from tests.datastore.ngsi.test_repository import reader, speed
from tests.datastore.ngsi.test_sink import accept
from tests.support.sample_resources import SUPER, walk, without_moto
from tests.support.stores import dynoxide_endpoint

DAY = 86_400


@pytest.mark.parametrize(
    ("given", "service", "path", "days"),
    [
        ("0", "vehicles", "/", None),
        ("30", "vehicles", "/", 30),
        ("30", "vehicles", "/4wheels", 30),
        ("30,/vehicles=90", "vehicles", "/4wheels", 90),
        ("30,/vehicles=90", "vehicles2", "/4wheels", 30),
        ("/vehicles=90", "trains", "/", None),
        ("30, /Vehicles/4wheels=0 , /vehicles=7", "vehicles", "/4Wheels", None),
        ("30, /vehicles/4wheels=0 , /vehicles=7", "vehicles", "/2wheels", 7),
        ("/=5,/vehicles=0", "vehicles", "/", None),
    ],
)
def test_the_nearest_group_above_a_service_path_decides(
    given: str, service: str, path: str, days: int | None
) -> None:
    expiry = parse_lifetimes(given).expiry(service, path, 5999)
    assert expiry == (None if days is None else 5 + days * DAY)


@pytest.mark.parametrize(
    "given",
    ["", "x", "-1", "1.5", "36501", "1,2", "1,/=2", "vehicles=1", "/a=", "/a/=1", "/a=1,/A=2"],
)
def test_other_lifetimes_are_refused(given: str) -> None:
    with pytest.raises(BadArgument):
        parse_lifetimes(given)


@pytest.mark.parametrize("persistence", Persistence)
def test_each_item_carries_its_expiry_and_is_else_the_same(persistence: Persistence) -> None:
    given = event("t", persistence=persistence)
    plain = items_of(given, ItemLayout())
    kept = items_of(given, ItemLayout(lifetimes=parse_lifetimes("/vehicles=2")))
    assert kept == [{**item, TTL: AT // 1000 + 2 * DAY} for item in plain]
    assert items_of(given, ItemLayout(lifetimes=parse_lifetimes("/trains=2"))) == plain


async def read(world: SinkWorld, later: timedelta) -> list[str | None]:
    """The speeds of car1 as a reader sees them so much later, page by page."""
    clock = Clock(lambda: datetime.now(UTC) + later)
    access = reader(world).ingest
    store = Store(world.context.table, clock, files=world.context.files, ngsi_access=access)
    notified, of = store.open_session(SUPER).notifications, await speed(world)
    series = notified.series
    found: list[Any] = await walk(lambda window: series.page(of, ALL_TIMES, window))
    numbers = [SampledNumber(each.at, each.number, each.expires) for each in found]
    assert [each async for each in notified.charts.walk(of, ALL_TIMES)] == numbers
    newest = await series.page(of, ALL_TIMES, Window(size=10), newest_first=True)
    assert [sample for _, sample in newest.entries] == found[::-1]
    assert await series.latest(of) == (found[-1] if found else None)
    return [sample.text for sample in found]


@without_moto
@pytest.mark.parametrize("persistence", Persistence)
async def test_nobody_reads_a_sample_that_has_expired(
    world: SinkWorld, persistence: Persistence
) -> None:
    for days, value in ((2, "1"), (4, "2"), (0, "3")):
        lifetimes = SampleLifetimes(((GroupPath("/vehicles"), days),))
        layout = ItemLayout(attr_persistence=persistence, lifetimes=lifetimes)
        async with world.open_sink(replace(QUICK, layout=layout)) as sink:
            await accept(sink, car("car1", speed=value))
            await world.wait_until_settled()
    assert await read(world, timedelta(days=1)) == ["1", "2", "3"]
    assert await read(world, timedelta(days=3)) == ["2", "3"]
    assert await read(world, timedelta(days=1000)) == ["3"]


async def ttl_of(destinations: Any, name: str) -> dict[str, Any]:
    answer = await destinations._client.call("DescribeTimeToLive", {"TableName": name})
    found: dict[str, Any] = answer["TimeToLiveDescription"]
    return found


async def test_a_new_table_of_samples_has_a_time_to_live() -> None:
    destinations = await open_dynamodb(dynoxide_endpoint())
    name = unique_table_name()
    await destinations.create(name)
    assert await ttl_of(destinations, name) == {"TimeToLiveStatus": "ENABLED", "AttributeName": TTL}
    await destinations.close()


async def test_the_time_to_live_of_a_table_that_exists_stays_as_it_is() -> None:
    destinations = await open_dynamodb(dynoxide_endpoint())
    name = unique_table_name()
    strings = [{"AttributeName": each, "AttributeType": "S"} for each in ("pk", "sk")]
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    request = {"TableName": name, "AttributeDefinitions": strings, "KeySchema": keys}
    await destinations._client.call("CreateTable", {**request, "BillingMode": "PAY_PER_REQUEST"})
    await destinations.create(name)
    assert (await ttl_of(destinations, name))["TimeToLiveStatus"] == "DISABLED"
    await destinations.close()
