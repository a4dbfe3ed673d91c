"""Samples have the time of their events: late and buffered ones land where they belong."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.access.work import FREE_WORK
from penstock.datastore.clock import Clock
from penstock.datastore.errors import Unavailable
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.event_times import attribute_times, read_time, update_time
from penstock.datastore.ngsi.events import EntityUpdate, Metadata, NotifiedAttribute
from penstock.datastore.ngsi.options import ItemLayout, Persistence
from penstock.datastore.ngsi.reading.aggregates import Aggregation, aggregate_samples
from penstock.datastore.ngsi.reading.followers import follow_series
from penstock.datastore.ngsi.reading.periods import Period
from penstock.datastore.ngsi.reading.series import ALL_TIMES, Sample, TimeSpan
from penstock.datastore.ngsi.reading.summaries import Method
from penstock.datastore.ngsi.rows import items_of
from tests.datastore.ngsi.failing_destinations import FailingDestinations, fail_first, fail_table
from tests.datastore.ngsi.linked_data.broker_notifications import envelope
from tests.datastore.ngsi.sample_notifications import read
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld
from tests.datastore.ngsi.test_replay import ONCE, notifications
from tests.datastore.ngsi.test_repository import reader, speed, texts
from tests.datastore.ngsi.test_rows import event
from tests.support.patience import HUNG_SECONDS
from tests.support.sample_resources import Watch, on_sqlite, walk, without_moto

ARRIVAL = 1_660_000_000_000
"""2022-08-08T23:06:40Z, the time at which updates of these tests arrive."""

START = datetime(2022, 8, 10, 12, 0, 0, 0, UTC)


def at(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def car(value: Any, time: datetime | None = None, **attributes: Any) -> dict[str, Any]:
    """A car with a speed, whose metadata has a time."""
    metadata = {} if time is None else {"TimeInstant": {"type": "DateTime", "value": at(time)}}
    number = {"type": "Number", "value": value, "metadata": metadata}
    return {"id": "car1", "type": "car", "speed": number, **attributes}


def at_wheels(*cars: dict[str, Any], **headers: str) -> Any:
    where = {"fiware_service": "vehicles", "fiware_servicepath": "/4wheels"}
    return read({"data": list(cars)}, **where, **headers)


def update(*attributes: tuple[str, Any, dict[str, Any]]) -> EntityUpdate:
    listed = (
        NotifiedAttribute(name, "", value, tuple(Metadata(k, "", v) for k, v in metadata.items()))
        for name, value, metadata in attributes
    )
    return EntityUpdate("e", "", tuple(listed))


def seconds(times: Sequence[int]) -> list[int]:
    """The seconds between 2022-08-08T00:00:00Z and times."""
    return [(time - read_time_of("2022-08-08T00:00:00Z")) // 1000 for time in times]


def read_time_of(text: str) -> int:
    found = read_time(text)
    assert found is not None
    return found


def clock(second: int) -> str:
    return f"2022-08-08T00:00:{second:02d}Z"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2022-08-08T23:06:40Z", ARRIVAL),
        ("2022-08-08T23:06:40.000Z", ARRIVAL),
        ("2022-08-08T23:06:40.123456Z", ARRIVAL + 123),
        ("2022-08-08T23:06:40,5Z", ARRIVAL + 500),
        ("2022-08-09T01:06:40+02:00", ARRIVAL),
        ("2022-08-08T23:06:40", ARRIVAL),
        ("2022-08-08T23:06Z", ARRIVAL - 40_000),
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59Z", None),
        ("2022-08-08", None),
        ("2022-13-08T00:00:00Z", None),
        ("2022-08-08T25:00:00Z", None),
        ("now", None),
        ("", None),
        (" ", None),
        (1_660_000_000, None),
        (None, None),
        (["2022-08-08T23:06:40Z"], None),
    ],
)
def test_a_time_is_one_of_iso_8601_since_1970(text: Any, expected: int | None) -> None:
    assert read_time(text) == expected


@given(st.text(max_size=30))
def test_no_text_breaks_the_reading_of_times(text: str) -> None:
    assert read_time(text) is None or read_time(text) is not None


def test_the_time_of_an_attribute_comes_before_that_of_its_entity() -> None:
    found = update(
        ("a", 1, {"TimeInstant": clock(1)}),
        ("b", 2, {"observedAt": clock(2)}),
        ("c", 3, {"timestamp": clock(3), "observedAt": clock(4)}),
        ("d", 4, {"TimeInstant": "never"}),
        ("TimeInstant", clock(9), {}),
    )
    assert seconds(attribute_times(found, ARRIVAL, "")) == [1, 2, 4, 9, 9]
    assert attribute_times(found, ARRIVAL, None) == [ARRIVAL] * 5


def test_the_named_attribute_comes_before_all_others() -> None:
    found = update(
        ("a", 1, {"TimeInstant": clock(1)}),
        ("b", 2, {"measured": clock(2), "TimeInstant": clock(3)}),
        ("measured", clock(5), {}),
        ("TimeInstant", clock(9), {}),
    )
    assert seconds(attribute_times(found, ARRIVAL, "measured")) == [5, 2, 5, 5]
    assert seconds([update_time(found, ARRIVAL, "measured")]) == [5]
    assert seconds(attribute_times(found, ARRIVAL, "absent")) == [1, 3, 9, 9]


def test_an_update_has_the_time_of_the_entity_or_the_latest_of_its_attributes() -> None:
    parts = [("a", 1, {"TimeInstant": clock(1)}), ("b", 2, {"TimeInstant": clock(2)})]
    assert seconds([update_time(update(*parts), ARRIVAL, "")]) == [2]
    whole = update(*parts, ("TimeInstant", clock(9), {}))
    assert seconds([update_time(whole, ARRIVAL, "")]) == [9]
    assert update_time(whole, ARRIVAL, None) == ARRIVAL
    assert update_time(update(("a", 1, {})), ARRIVAL, "") == ARRIVAL


@pytest.mark.parametrize(
    ("ahead", "is_believed"), [(timedelta(days=1), True), (timedelta(days=1, seconds=1), False)]
)
def test_a_time_far_ahead_of_the_arrival_is_not_believed(
    ahead: timedelta, is_believed: bool
) -> None:
    moment = datetime.fromtimestamp(ARRIVAL // 1000, UTC) + ahead
    found = attribute_times(update(("a", 1, {"TimeInstant": at(moment)})), ARRIVAL, "")
    assert list(found) == [ARRIVAL + (86_400_000 if is_believed else 0)]


@pytest.mark.parametrize("persistence", Persistence)
def test_the_key_has_the_time_of_the_event_and_the_fields_that_of_arrival(
    persistence: Persistence,
) -> None:
    sent = update(("a", 1, {"TimeInstant": clock(1)}))
    timed = event(sent, persistence, at=ARRIVAL, time_index="")
    plain = event(sent, persistence, at=ARRIVAL)
    (one,), (other,) = (items_of(each, ItemLayout()) for each in (timed, plain))
    assert str(one["sk"]).startswith(f"{read_time_of(clock(1)):015d}:")
    assert str(other["sk"]).startswith(f"{ARRIVAL:015d}:")
    assert {k: v for k, v in one.items() if k != "sk"} == {
        k: v for k, v in other.items() if k != "sk"
    }
    assert one["recvTime"] == "2022-08-08T23:06:40.000Z"


def watch_at(moment: datetime) -> Watch:
    watch = Watch()
    watch.time = moment
    return watch


async def send(world: SinkWorld, *sent: Any, options: Any = QUICK, now: datetime = START) -> None:
    async with world.open_sink(options, clock=Clock(watch_at(now))) as sink:
        for each in sent:
            await sink.accept_notification(each, 100)
        await sink.loader.drain()


async def samples(world: SinkWorld, span: TimeSpan = ALL_TIMES) -> list[Sample]:
    of, series = await speed(world), reader(world).series
    return await walk(lambda window: series.page(of, span, window))


@pytest.mark.parametrize("persistence", Persistence)
async def test_buffered_samples_land_where_they_belong(
    world: SinkWorld, persistence: Persistence
) -> None:
    """One notification brings the samples of three hours, the latest first."""
    hours = [START - timedelta(hours=n) for n in (1, 3, 2)]
    buffered = at_wheels(*(car(n, moment) for n, moment in enumerate(hours)))
    layout = ItemLayout(attr_persistence=persistence)
    await send(world, at_wheels(car(9)), buffered, options=replace(QUICK, layout=layout))
    found = await samples(world)
    assert [(each.text, each.time, each.recv_time) for each in found] == [
        ("1", "2022-08-10T09:00:00.000Z", "2022-08-10T12:00:00.000Z"),
        ("2", "2022-08-10T10:00:00.000Z", "2022-08-10T12:00:00.000Z"),
        ("0", "2022-08-10T11:00:00.000Z", "2022-08-10T12:00:00.000Z"),
        ("9", "2022-08-10T12:00:00.000Z", "2022-08-10T12:00:00.000Z"),
    ]
    assert [each.type for each in found] == (
        ["Number"] * 4 if persistence is Persistence.ROW else [None] * 4
    )
    span = TimeSpan(hours[2], START)
    assert [each.text for each in await samples(world, span)] == ["2", "0"]
    series, of = reader(world).series, await speed(world)
    walk_hours = reader(world).charts.walk(of, ALL_TIMES)
    buckets = await aggregate_samples(walk_hours, Aggregation(Method.SUM, Period.HOUR))
    assert [(each.start, int(each.value or 0)) for each in buckets] == [
        ("2022-08-10T09:00:00.000Z", 1),
        ("2022-08-10T10:00:00.000Z", 2),
        ("2022-08-10T11:00:00.000Z", 0),
        ("2022-08-10T12:00:00.000Z", 9),
    ]
    latest = await series.latest(of)
    assert latest is not None
    assert latest.text == "9"


@on_sqlite
async def test_the_time_of_each_broker_is_found(world: SinkWorld) -> None:
    """TimeInstant of IoT agents, observedAt of NGSI-LD, the attribute that a header names.

    The last is from src/reporter/tests/test_notify.py of orchestracities/ngsi-timeseries-api.
    """
    ld = {"type": "Property", "value": 1, "observedAt": "2022-08-10T01:00:00.000Z"}
    observed = {
        "type": "Property",
        "value": {"@type": "DateTime", "@value": "2018-08-07T12:00:00Z"},
    }
    where = {"fiware_service": "vehicles", "fiware_servicepath": "/4wheels"}
    instant = {"type": "DateTime", "value": "2022-08-10T02:00:00.000Z"}
    stamp = {"type": "Text", "value": "2022-08-10T03:00:00.000Z"}
    entity = {"id": "car1", "type": "car"}
    await send(
        world,
        read(envelope({**entity, "speed": ld}), **where),
        at_wheels(car(2, TimeInstant=instant)),
        at_wheels(car(3, timestamp=stamp)),
        read(
            envelope({**entity, "speed": {**ld, "value": 4}, "dateObserved": observed}),
            fiware_timeindex_attribute="dateObserved",
            **where,
        ),
    )
    assert [(each.text, each.time) for each in await samples(world)] == [
        ("4", "2018-08-07T12:00:00.000Z"),
        ("1", "2022-08-10T01:00:00.000Z"),
        ("2", "2022-08-10T02:00:00.000Z"),
        ("3", "2022-08-10T03:00:00.000Z"),
    ]


@without_moto
async def test_a_replayed_letter_keeps_the_time_of_its_event(world: SinkWorld) -> None:
    destinations = FailingDestinations(world.context.destinations, fail_table("", Unavailable("x")))
    async with world.open_sink(ONCE, destinations=destinations) as sink:
        await sink.accept_notification(at_wheels(car(1, START - timedelta(days=2))), 100)
        await world.wait_until_settled()
        destinations.fails = fail_first(0, Unavailable("x"))
        (letter,) = await world.letters()
        assert (await notifications(world, sink).replay([letter.id])).failures == []
        assert (await world.wait_until_settled()) == IngestCounts(received=1, persisted=1, items=1)
    assert [each.time for each in await samples(world)] == ["2022-08-08T12:00:00.000Z"]


@on_sqlite
async def test_a_follower_hears_of_samples_whose_clock_is_hours_behind(world: SinkWorld) -> None:
    behind = START - timedelta(hours=5)
    watch = watch_at(START)
    async with world.open_sink(clock=Clock(watch)) as sink:
        await sink.accept_notification(at_wheels(car(0, behind)), 100)
        await sink.loader.drain()
        of, series = await speed(world), reader(world).series
        following = follow_series(series, Clock(watch), of, 0.01, FREE_WORK)
        async with asyncio.timeout(HUNG_SECONDS):
            assert (await anext(following)).text == "0"
            for n in (1, 2):
                watch.move(timedelta(minutes=10))
                later = behind + timedelta(minutes=10 * n)
                await sink.accept_notification(at_wheels(car(n, later)), 100)
                await sink.loader.drain()
                assert (await anext(following)).text == str(n)
            await sink.accept_notification(at_wheels(car(3, behind)), 100)
            await sink.accept_notification(at_wheels(car(4, later + timedelta(seconds=1))), 100)
            await sink.loader.drain()
            assert (await anext(following)).text == "4"
    # The two of one time have no order but that of their digests.
    assert sorted(await texts(world, of)) == ["0", "1", "2", "3", "4"]
    assert (await texts(world, of))[2:] == ["1", "2", "4"]
