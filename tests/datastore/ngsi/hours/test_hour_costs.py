"""The calls and units of aggregates by kept hours; docs/ngsi.md has the same table."""

import asyncio
import base64
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import astuple

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.access.work import FILLED_PERIODS
from penstock.datastore.clock import Clock
from penstock.datastore.ngsi.catalog import Catalog, EntityName
from penstock.datastore.ngsi.destinations import TableItem
from penstock.datastore.ngsi.directory import Attribute, Directory
from penstock.datastore.ngsi.events import EntityUpdate, NotifiedAttribute
from penstock.datastore.ngsi.hours import day_keeper, kept_hours, paid_samples
from penstock.datastore.ngsi.hours import reader as hour_reader
from penstock.datastore.ngsi.hours.busy_hours import BusyHours
from penstock.datastore.ngsi.hours.generations import HourDeletion, HourOfEvents
from penstock.datastore.ngsi.hours.hour_keeper import SERIES_SAMPLES, HourKeeper
from penstock.datastore.ngsi.hours.kept_hours import HOURS, MINUTES, NUMBERS, Detail, KeptParts
from penstock.datastore.ngsi.loading.sample_writer import write_items
from penstock.datastore.ngsi.options import ItemLayout, Persistence
from penstock.datastore.ngsi.reading import charts
from penstock.datastore.ngsi.reading.aggregates import Aggregation
from penstock.datastore.ngsi.reading.periods import Period, Width
from penstock.datastore.ngsi.reading.series import TimeSpan
from penstock.datastore.ngsi.reading.summaries import Method
from penstock.datastore.ngsi.rows import Event, items_of
from penstock.datastore.ngsi.run_log import SINK_CALLER
from penstock.datastore.table.instrumentation import MeteredTable, Units
from penstock.datastore.table.port import Attributes
from tests.datastore.ngsi.hours.hour_worlds import CAR
from tests.datastore.ngsi.sample_sinks import SinkWorld
from tests.datastore.ngsi.test_repository import reader
from tests.support.sample_resources import SUPER, on_sqlite
from tests.support.work_account import Account

BEGIN = datetime(2022, 7, 1, tzinfo=UTC)
MONTH = TimeSpan(BEGIN, BEGIN + timedelta(days=31))
BY_DAY = Aggregation(Method.AVG, Period.DAY)


@pytest.fixture(autouse=True)
def keep_full_days(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(day_keeper, "KEPT_SAMPLES", 100)
    monkeypatch.setattr(hour_reader, "FIRST_PAGE", 200)
    monkeypatch.setattr(paid_samples, "WHOLE_PAGE", 1000)


async def store_month(world: SinkWorld) -> Attribute:
    """Store 5 samples of each hour of a month, as a sensor at 1 Hz names them."""
    start = int(BEGIN.timestamp() * 1000)
    events = []
    for number in range(31 * 24 * 5):
        value = NotifiedAttribute("speed", "Number", f"{20 + number % 17 / 100:.2f}")
        at, update = start + number * 720_000, EntityUpdate("car1", "car", (value,))
        events.append(
            Event("vehicles", "/4wheels", at, str(number), "cars", Persistence.ROW, update)
        )
    catalog = Catalog(world.context.table)
    await catalog.record_paths([("vehicles", "/4wheels")])
    await catalog.record_entities(events)
    items = [TableItem("cars", item) for each in events for item in items_of(each, ItemLayout())]
    await write_items(world.context.destinations, items)
    found = await reader(world).directory.attribute(CAR, "speed")
    assert found is not None
    return found


async def read_month(
    world: SinkWorld, of: Attribute, how: Aggregation = BY_DAY, *, fill: bool = False
) -> tuple[Units, Units, Account]:
    """Aggregate a month; return what it costs in the table and of samples, and its caller."""
    metered, notified, account = MeteredTable(world.context.table), reader(world), Account()
    access = Access(metered, SUPER, Clock(), Budget(), work=account)
    series = replace(notified.series, work=account)
    hours = replace(notified.hours, access=access, series=series)
    found = await hours.aggregate(of, MONTH, how, fill=fill)
    assert sum(bucket.samples for bucket in found) == 31 * 120
    return metered.units, notified.units, account


@on_sqlite
async def test_periods_that_are_filled_in_are_paid(world: SinkWorld) -> None:
    of = await store_month(world)
    await read_month(world, of)
    by_minute = Aggregation(Method.COUNT, Width(300))
    _, _, bare = await read_month(world, of, by_minute)
    _, _, filled = await read_month(world, of, by_minute, fill=True)
    # The samples lie 12 minutes apart: between the first and the last are 31 days of 5 minutes.
    periods = (31 * 24 * 60 - 12) // 5 + 1
    assert filled.owed - bare.owed == (periods - 31 * 120) // FILLED_PERIODS


@on_sqlite
async def test_a_month_costs_so_much_before_and_after_it_is_kept(world: SinkWorld) -> None:
    of = await store_month(world)
    kept, samples, account = await read_month(world, of)
    # A page of 200 samples, four of 1,000; three reads, three for what is not settled, and a
    # transaction for each day: two units for its check, and two for each KB of its three rows.
    assert (samples.calls, kept.calls, kept.wcu) == (1 + 4, 3 + 3 + 31, 31 * (2 + 4 + 6 + 4))
    assert account.owed == 100 + 3720 // 2
    kept, samples, account = await read_month(world, of)
    assert (samples.calls, kept.calls, kept.wcu) == (1, 3, 0)
    assert (samples.rcu, kept.rcu) == (6.0, 13.0)
    # The samples of the first page, and a unit for each day.
    assert account.owed == 100 + 31


@on_sqlite
@pytest.mark.parametrize(
    ("how", "rcu", "owed"),
    [
        (Aggregation(Method.AVG, Width(900)), 19.0, 31 * 2),
        (Aggregation(Method.PERCENTILE, Period.DAY), 17.0, 31 * 2),
    ],
    ids=["minutes", "numbers"],
)
async def test_minutes_and_numbers_of_a_kept_month_cost_so_much(
    world: SinkWorld, how: Aggregation, rcu: float, owed: int
) -> None:
    of = await store_month(world)
    await read_month(world, of)
    kept, samples, account = await read_month(world, of, how)
    assert (samples.calls, kept.calls, kept.rcu, account.owed - 100) == (1, 3, rcu, owed)


@on_sqlite
@pytest.mark.parametrize("width", [28_801, 86_401, 40_000])
async def test_only_the_hours_that_periods_cut_are_inflated_to_minutes(
    world: SinkWorld, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    of = await store_month(world)
    await read_month(world, of)
    monkeypatch.setattr(charts, "MAX_SAMPLES", 1_000)
    inflated = list[str]()

    def inflate(packed: str) -> bytes:
        inflated.append(packed)
        return zlib.decompress(base64.b64decode(packed))

    monkeypatch.setattr(kept_hours, "_inflate", inflate)
    kept, samples, _ = await read_month(world, of, Aggregation(Method.AVG, Width(width)))
    begin = int(BEGIN.timestamp())
    ends = range(begin - begin % width + width, begin + 31 * 86_400, width)
    assert len(inflated) == len({end // 3600 for end in ends if end % 3600})
    # The first page, and the samples of each minute that has some and in which a period ends.
    cut = {end // 60 * 60 for end in ends if end % 60}
    assert samples.calls == 1 + sum((minute - begin) % 720 == 0 for minute in cut)
    # The kept hours, the generations, the deletions and the rows of minutes, as without hours.
    assert (kept.calls, kept.rcu) == (4, 30.0)


@on_sqlite
@pytest.mark.parametrize("detail", [HOURS, MINUTES, NUMBERS], ids=["hours", "minutes", "numbers"])
async def test_each_day_of_a_kept_month_is_read_in_another_turn_of_the_loop(
    world: SinkWorld, detail: Detail[object]
) -> None:
    of = await store_month(world)
    await read_month(world, of)
    turns, unpacked, read = 0, list[int](), dict[int, int]()

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def unpack(item: Attributes) -> Mapping[int, KeptParts[object]]:
        unpacked.append(turns)
        return detail.unpack(item)

    _, reading = await reader(world).hours.begin(of, MONTH)
    assert reading is not None
    counting = asyncio.create_task(count_turns())
    async with aclosing(reading.read(replace(detail, unpack=unpack))) as parts:
        async for second, _ in parts:
            read.setdefault(second // 86_400, turns)
    counting.cancel()
    assert (len(unpacked), len(read)) == (31, 31)
    assert (len({*unpacked}), len({*read.values()})) == (31, 31)


@on_sqlite
async def test_the_sink_keeps_a_busy_hour_at_the_cost_of_its_samples(world: SinkWorld) -> None:
    of = await store_month(world)
    metered, notified = MeteredTable(world.context.table), reader(world)
    access = Access(metered, SINK_CALLER, Clock(), Budget())
    busy = BusyHours()
    hours = replace(notified.hours, access=access, series=notified.series)
    keeper = HourKeeper(busy, Directory(access), hours)
    hour = int(BEGIN.timestamp()) // 3600 + 10 * 24 + 23
    spent = []
    for number in (hour - 1, hour):
        busy.note({(EntityName(*astuple(of.entity)), number): HourOfEvents(100, 0)}, 0)
        metered.units.calls, metered.units.wcu, notified.units.calls = 0, 0, 0
        samples = await keeper.keep_due() - SERIES_SAMPLES
        spent.append((samples, metered.units.calls, metered.units.wcu, notified.units.calls))
    # The attributes; three reads, three for what is not settled, a transaction for each day, and a
    # read of the day if a part of it is kept.
    # The first time also the day before; then the hour alone: 5 samples on one page.
    day = 2 + 4 + 6 + 4
    assert spent == [(47 * 5, 1 + 3 + 3 + 2 + 1, 2 * day, 1), (5, 1 + 3 + 3 + 1 + 1, day, 1)]


@on_sqlite
async def test_a_deletion_costs_so_much_of_kept_hours(world: SinkWorld) -> None:
    of = await store_month(world)
    await read_month(world, of)
    metered = MeteredTable(world.context.table)
    first = int(BEGIN.timestamp()) // 3600
    deletion = HourDeletion(metered, CAR, "job", first, first + 31 * 24 - 1)
    await deletion.begin()
    await deletion.end()
    assert (metered.units.calls, metered.units.wcu) == (2, 4)
    metered.units.calls = 0
    metered.units.wcu = 0

    async def names() -> AsyncIterator[str]:
        yield of.name

    await deletion.forget(names())
    # The days; 62 rows of minutes and numbers of 3 and 2 units, and 31 of 2.
    assert (metered.units.calls, metered.units.wcu) == (1 + 3 + 2, 31 * (3 + 2 + 2))
