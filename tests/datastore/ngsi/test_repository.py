"""Reads of received data: within one caller's roles, page by page, and by period."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from penstock.datastore.access.work import FREE_WORK
from penstock.datastore.clock import Clock
from penstock.datastore.errors import LimitExceeded, NotFound, NotPermitted, Unavailable
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.directory import Attribute, ServicePath
from penstock.datastore.ngsi.notification import (
    NotificationDefaults,
    read_headers,
    read_notification,
)
from penstock.datastore.ngsi.options import (
    DataModel,
    ItemLayout,
    Persistence,
    SinkOptions,
    ValueFormat,
)
from penstock.datastore.ngsi.reading.followers import follow_series
from penstock.datastore.ngsi.reading.series import ALL_TIMES, TimeSpan, number_of
from penstock.datastore.ngsi.repository import IngestRepository, SinkAccess
from penstock.datastore.roles import Caller, GroupPath, Role
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, car, notification
from tests.support.patience import HUNG_SECONDS
from tests.support.sample_resources import SUPER, Watch, on_sqlite, walk, without_moto

WHEELS = ServicePath("vehicles", "/4wheels")
START = datetime(2022, 8, 10, 23, 55, 20, 322000, UTC)


def reader(world: SinkWorld, caller: Caller = SUPER, **ingest: Any) -> IngestRepository:
    found = SinkAccess(world.context.destinations, **ingest)
    return (
        Store(world.context.table, files=world.context.files, ngsi_access=found)
        .open_session(caller)
        .notifications
    )


async def notify(
    world: SinkWorld, *values: Any, options: SinkOptions = QUICK, step: int = 1, **headers: str
) -> None:
    """Send notifications of a car's speed, one value after the other, `step` seconds apart."""
    watch = Watch()
    async with world.open_sink(options, clock=Clock(watch)) as sink:
        for value in values:
            await sink.accept_notification(notification(car("car1", speed=value), **headers), 100)
            watch.move(timedelta(seconds=step))
        await sink.loader.drain()


async def speed(world: SinkWorld) -> Attribute:
    directory = reader(world).directory
    entity = await directory.entity(WHEELS, "car1", "car")
    assert entity is not None
    found = await directory.attribute(entity, "speed")
    assert found is not None
    return found


async def texts(
    world: SinkWorld, of: Attribute, span: TimeSpan = ALL_TIMES, **how: Any
) -> list[Any]:
    """The values of a series, read with a page size of one."""
    series, newest = reader(world).series, how.pop("newest_first", False)
    found = await walk(lambda window: series.page(of, span, window, newest_first=newest), **how)
    return [sample.text for sample in found]


@without_moto
async def test_a_series_is_read_in_both_orders_and_directions(world: SinkWorld) -> None:
    await notify(world, *range(5))
    of = await speed(world)
    oldest = ["0", "1", "2", "3", "4"]
    assert await texts(world, of) == await texts(world, of, backward=True) == oldest
    assert await texts(world, of, newest_first=True) == oldest[::-1]
    assert await texts(world, of, newest_first=True, backward=True) == oldest[::-1]
    assert await texts(world, of, size=100) == oldest


@without_moto
async def test_a_span_is_from_inclusive_to_exclusive(world: SinkWorld) -> None:
    await notify(world, *range(5))
    of = await speed(world)
    second = timedelta(seconds=1)
    assert await texts(world, of, TimeSpan(START + second, START + 3 * second)) == ["1", "2"]
    assert await texts(world, of, TimeSpan(START + 3 * second)) == ["3", "4"]
    assert await texts(world, of, TimeSpan(end=START + second)) == ["0"]
    assert await texts(world, of, TimeSpan(START + second, START + second)) == []
    late = await reader(world).series.page(of, TimeSpan(START + 3 * second), Window(size=1))
    assert late.entries[0][1].recv_time == "2022-08-10T23:55:23.322Z"


@on_sqlite
async def test_the_last_samples_are_the_last_of_the_page(world: SinkWorld) -> None:
    await notify(world, *range(5))
    page = await reader(world).series.page(
        await speed(world), ALL_TIMES, Window(size=2, backward=True)
    )
    assert [sample.text for _, sample in page.entries] == ["3", "4"]


@on_sqlite
async def test_a_series_goes_on_where_another_layout_stores_it(world: SinkWorld) -> None:
    """Rows, then columns, then typed rows in a different table are one series."""
    column = ItemLayout(attr_persistence=Persistence.COLUMN)
    typed = ItemLayout(value_format=ValueFormat.TYPED)
    lower = replace(QUICK.naming, enable_lowercase=True, data_model=DataModel.BY_SERVICE_PATH)
    watch = Watch()
    for n, options in enumerate(
        [QUICK, replace(QUICK, layout=column), replace(QUICK, layout=typed, naming=lower)] * 2
    ):
        async with world.open_sink(options, clock=Clock(watch)) as sink:
            await sink.accept_notification(notification(car("car1", speed=n)), 100)
            await sink.accept_notification(notification(car("car1", other=n)), 100)
            await sink.loader.drain()
            watch.move(timedelta(seconds=1))
    of = await speed(world)
    assert len(of.places) == 3
    assert await texts(world, of) == ["0", "1", "2", "3", "4", "5"]
    assert await texts(world, of, newest_first=True, size=2) == ["5", "4", "3", "2", "1", "0"]
    latest = await reader(world).series.latest(of)
    assert latest is not None
    assert latest.number == 5


@on_sqlite
async def test_a_sparse_column_is_found_behind_many_others(world: SinkWorld) -> None:
    options = replace(QUICK, layout=ItemLayout(attr_persistence=Persistence.COLUMN))
    watch = Watch()
    async with world.open_sink(options, clock=Clock(watch)) as sink:
        for n in range(150):
            named = {"speed": n} if n in (0, 149) else {"other": n}
            await sink.accept_notification(notification(car("car1", **named)), 100)
            watch.move(timedelta(seconds=1))
        await sink.loader.drain()
    assert await texts(world, await speed(world)) == ["0", "149"]


@without_moto
async def test_each_value_of_an_attribute_named_several_times_is_a_sample_in_columns(
    world: SinkWorld,
) -> None:
    options = replace(QUICK, layout=ItemLayout(attr_persistence=Persistence.COLUMN))
    attributes = [{"name": "speed", "type": "float", "value": value} for value in ("1", "2", "3")]
    element = {"id": "car1", "type": "car", "attributes": attributes}
    body = json.dumps({"contextResponses": [{"contextElement": element}]}).encode()
    heading = {"fiware-service": "vehicles", "fiware-servicepath": "/4wheels"}
    async with world.open_sink(options) as sink:
        made = read_notification(read_headers(heading, NotificationDefaults()), body)
        await sink.accept_notification(made, 100)
        await sink.loader.drain()
    assert sorted(await texts(world, await speed(world))) == ["1", "2", "3"]
    assert await world.counts() == IngestCounts(received=1, persisted=1, items=3)


@on_sqlite
async def test_values_come_back_as_text_and_as_number(world: SinkWorld) -> None:
    await notify(world, 1, 2.5, True, None, "x", {"a": [1]}, "1e3")
    series = reader(world).series
    of = await speed(world)
    found = await walk(lambda window: series.page(of, ALL_TIMES, window))
    assert [(sample.text, sample.number) for sample in found] == [
        ("1", 1),
        ("2.5", Decimal("2.5")),
        ("true", None),
        (None, None),
        ("x", None),
        ('{"a":[1]}', None),
        ("1e3", Decimal(1000)),
    ]
    assert {sample.metadata for sample in found} == {"[]"}


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("1", "1"),
        ('"112.9"', "112.9"),
        ("-0.5", "-0.5"),
        (7, "7"),
        (Decimal("1.5"), "1.5"),
        (True, None),
        ('"1', None),
        ("01", None),
        ("1" * 39, None),
        ("1e999", None),
        ("1." + "0" * 998, "1"),
        ("1." + "0" * 999, None),
        ("١", None),
        ("", None),
        (None, None),
        (["1"], None),
    ],
)
def test_a_number_is_what_says_so_exactly(value: Any, number: str | None) -> None:
    assert number_of(value) == (None if number is None else Decimal(number))


@on_sqlite
async def test_letters_are_replayed_by_contributors_of_all_their_paths(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        for path in ("/a", "/b"):
            await sink.accept_notification(notification({}, fiware_servicepath=path), 10)
        ids = [(await world.letters(("vehicles", path)))[0].id for path in ("/a", "/b")]
        admin = {GroupPath("/vehicles/a"): Role.CONTRIBUTOR}
        part = reader(world, Caller("ann", admin), replay=sink.replayer.replay)
        for id in (ids[1], "x"):
            with pytest.raises(NotFound) as missing:
                await part.replay([ids[0], id])
            assert missing.value.positions == (1,)
        below = reader(
            world,
            Caller("bob", {**admin, GroupPath("/vehicles/b"): Role.READER}),
            replay=sink.replayer.replay,
        )
        with pytest.raises(NotPermitted):
            await below.replay(ids)
        with pytest.raises(LimitExceeded):
            await below.replay(["x"] * 101)
        assert [(await world.letters(("vehicles", path)))[0].id for path in ("/a", "/b")] == ids
        done = await part.replay([ids[0], ids[0]])
        assert [(each.letter.id, each.dead) for each in done.replayed] == [(ids[0], 1)]
        with pytest.raises(NotFound):
            await reader(world, Caller("eve", {GroupPath("/x"): Role.ADMIN})).replay(ids[:1])
    assert await reader(world).replay(ids[:1]) == done
    with pytest.raises(Unavailable):
        await reader(world).replay(ids[1:])


@on_sqlite
async def test_a_follower_is_told_of_each_sample_once(world: SinkWorld) -> None:
    async with world.open_sink() as sink:
        await sink.accept_notification(notification(car("car1", speed=0)), 10)
        await sink.loader.drain()
        following = follow_series(
            reader(world).series, Clock(), await speed(world), 0.01, FREE_WORK
        )
        told = [(await anext(following)).text]
        for n in (1, 2):
            await sink.accept_notification(notification(car("car1", speed=n)), 10)
            await sink.loader.drain()
        told += [(await asyncio.wait_for(anext(following), HUNG_SECONDS)).text for _ in range(2)]
        await following.aclose()  # type: ignore[attr-defined]
    assert told == ["0", "1", "2"]


@on_sqlite
async def test_counts_are_those_of_the_path(world: SinkWorld) -> None:
    await notify(world, 1, 2)
    assert await reader(world).counts(WHEELS) == IngestCounts(received=2, persisted=2, items=2)
