"""Measures aggregates of a month of one sensor, as hours are kept by readers or by the sink.

The first read is repeated until it is answered, as long as it keeps hours. The last two lines are
of a copy of the store, in which the sink keeps the hours before anything is read.
"""

import argparse
import asyncio
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from penstock.datastore.access.access import Access
from penstock.datastore.clock import Clock
from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.catalog import Catalog, EntityName
from penstock.datastore.ngsi.destinations import EmbeddedDestinations, TableItem
from penstock.datastore.ngsi.directory import Attribute, Directory, Entity
from penstock.datastore.ngsi.events import EntityUpdate, NotifiedAttribute
from penstock.datastore.ngsi.hours.busy_hours import BusyHours
from penstock.datastore.ngsi.hours.generations import HourOfEvents
from penstock.datastore.ngsi.hours.hour_keeper import HourKeeper
from penstock.datastore.ngsi.loading.sample_writer import write_items
from penstock.datastore.ngsi.options import ItemLayout, Persistence
from penstock.datastore.ngsi.reading.aggregates import Aggregation
from penstock.datastore.ngsi.reading.downsampling import Downsampling
from penstock.datastore.ngsi.reading.periods import Period, Width
from penstock.datastore.ngsi.reading.series import TimeSpan
from penstock.datastore.ngsi.reading.summaries import Method
from penstock.datastore.ngsi.repository import SinkAccess
from penstock.datastore.ngsi.rows import Event, items_of
from penstock.datastore.ngsi.run_log import SINK_CALLER
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.datastore.session import Session
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store

MARK: Final = "sensor month"
BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
MONTH: Final = 31
DAY_SECONDS: Final = 86_400
TARGET: Final = 0.1
METHODS: Final = (Method.MIN, Method.MAX, Method.AVG, Method.COUNT, Method.FIRST, Method.LAST)
AGGREGATIONS: Final = (
    *(Aggregation(method, period) for method in METHODS for period in (Period.DAY, Period.HOUR)),
    *(Aggregation(Method.AVG, Width(seconds)) for seconds in (300, 333, 900, 5_400, 28_801)),
    *(
        Aggregation(Method.PERCENTILE, period)
        for period in (Period.DAY, Period.HOUR, Width(14_400), Width(16_200))
    ),
)
FIRST: Final = Aggregation(METHODS[0], Period.DAY)
POINTS: Final = (100, 500, 2_000)
SENSOR: Final = Entity("plant", "/", "sensor1", "Sensor")
READER: Final = Caller("reader", {ROOT: Role.READER})
_BATCH = 5_000


def event_at(second: int) -> Event:
    """The event of one second; its value goes up and down within an hour."""
    at = int(BEGIN.timestamp()) + second
    value = NotifiedAttribute("temperature", "Number", f"{20 + second % 3600 / 100:.2f}")
    update = EntityUpdate(SENSOR.entity_id, SENSOR.entity_type, (value,))
    mark, persistence = str(second), Persistence.ROW
    return Event(SENSOR.service, SENSOR.path, at * 1000, mark, "sensors", persistence, update, None)


@asynccontextmanager
async def open_store(folder: Path) -> AsyncIterator[Store]:
    samples, table = (SqliteTable.open(folder / name) for name in ("samples.db", "penstock.db"))
    try:
        await samples.create()
        await table.create()
        yield replace(Store(table), ngsi_access=SinkAccess(EmbeddedDestinations(samples)))
    finally:
        await table.close()
        await samples.close()


async def fill(store: Store, days: int) -> None:
    """Store a sample for each second."""
    catalog, layout = Catalog(store.table), ItemLayout()
    await catalog.record_paths([(SENSOR.service, SENSOR.path)])
    await catalog.record_entities([event_at(0)])
    for start in range(0, days * DAY_SECONDS, _BATCH):
        seconds = range(start, min(start + _BATCH, days * DAY_SECONDS))
        items = [item for second in seconds for item in items_of(event_at(second), layout)]
        await write_items(
            store.ngsi_access.destinations, [TableItem("sensors", item) for item in items]
        )


async def keep_as_sink(store: Store, days: int) -> int:
    """Keep each hour a quarter of an hour after its end, as a sink does; return the turns."""
    moment = BEGIN
    clock = Clock(lambda: moment)
    access = Access(store.table, SINK_CALLER, clock, store.list_budget)
    hours = replace(store.open_session(READER).notifications.hours, access=access)
    keeper = HourKeeper(BusyHours(), Directory(access), hours)
    name = EntityName(SENSOR.service, SENSOR.path, SENSOR.entity_id, SENSOR.entity_type)
    first = int(BEGIN.timestamp()) // 3600
    turns = range(days * DAY_SECONDS // 3600)
    for number in turns:
        keeper.busy.note({(name, first + number): HourOfEvents(3600, 0)}, 0)
        moment = BEGIN + timedelta(hours=number + 1, minutes=15)
        await keeper.keep_due()
    return len(turns)


def name_of(period: Period | Width) -> str:
    return f"{period.seconds} seconds" if isinstance(period, Width) else period.value


async def read_until_answered(read: Callable[[], Awaitable[object]]) -> int:
    """Read again and again while it is refused; return the number of calls."""
    calls = 0
    while True:
        calls += 1
        try:
            await read()
        except LimitExceeded:
            continue
        return calls


@dataclass(frozen=True, slots=True)
class MonthReader:
    """The reads of the series of the month."""

    session: Session
    of: Attribute
    days: int

    @property
    def span(self) -> TimeSpan:
        return TimeSpan(BEGIN, BEGIN + timedelta(days=self.days))

    async def aggregate(self, how: Aggregation) -> int:
        hours = self.session.notifications.hours
        return await read_until_answered(lambda: hours.aggregate(self.of, self.span, how))

    async def downsample(self, points: int, method: Downsampling) -> int:
        reader, user = self.session.notifications.chart_points, READER.user_id
        return await read_until_answered(
            lambda: reader.read(self.of, self.span, points, method, user)
        )


class ReadTime(NamedTuple):
    """The number of calls of a read, and its seconds by the clock and of the processor.

    It `is_of_kept` if all hours were kept before.
    """

    name: str
    period: str
    calls: int
    seconds: float
    processor: float
    is_of_kept: bool

    @property
    def row(self) -> str:
        times = f"{self.seconds * 1000:,.0f} | {self.processor * 1000:,.0f}"
        return f"{self.name} | {self.period} | {self.calls} | {times}"


async def time_read(
    name: str, period: str, work: Awaitable[int], *, is_of_kept: bool = True
) -> ReadTime:
    clock, own = time.perf_counter(), time.process_time()
    calls = await work
    seconds, used = time.perf_counter() - clock, time.process_time() - own
    return ReadTime(name, period, calls, seconds, used, is_of_kept)


async def measure(
    days: int,
    aggregations: Sequence[Aggregation] = AGGREGATIONS,
    points: Sequence[int] = POINTS,
) -> list[ReadTime]:
    """Measure the reads of a new store with so many days, and the sink in a copy of it."""
    with TemporaryDirectory() as folder, TemporaryDirectory() as other:
        async with open_store(Path(folder)) as store:
            await fill(store, days)
        shutil.copytree(folder, other, dirs_exist_ok=True)
        async with open_store(Path(folder)) as store:
            month = await _open_month(store, days)
            found = await measure_reads(month, aggregations, points)
        async with open_store(Path(other)) as store:
            return found + await measure_sink(store, days)


async def _open_month(store: Store, days: int) -> MonthReader:
    session = store.open_session(READER)
    of = await session.notifications.directory.attribute(SENSOR, "temperature")
    assert of is not None
    return MonthReader(session, of, days)


async def measure_reads(
    month: MonthReader, aggregations: Sequence[Aggregation], points: Sequence[int]
) -> list[ReadTime]:
    first = month.aggregate(FIRST)
    found = [await time_read("the first one", Period.DAY, first, is_of_kept=False)]
    for how in aggregations:
        read = month.aggregate(how)
        found.append(await time_read(how.method.value, name_of(how.period), read))
    for count in points:
        for chosen in Downsampling:
            read = month.downsample(count, chosen)
            found.append(await time_read(f"chart: {chosen}", f"{count} points", read))
    return found


async def measure_sink(store: Store, days: int) -> list[ReadTime]:
    """Measure the sink that keeps the hours of a filled store, and the first read then."""
    kept = keep_as_sink(store, days)
    found = [await time_read("the sink keeps the hours", "", kept, is_of_kept=False)]
    read = (await _open_month(store, days)).aggregate(FIRST)
    return [*found, await time_read("the first one then", Period.DAY, read, is_of_kept=False)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.sensor_month", description=__doc__)
    parser.add_argument("--days", type=int, default=MONTH, help="of samples, one a second")
    parser.add_argument("--check", action="store_true", help="end with 1 beyond the target")
    add_write_option(parser)
    options = parser.parse_args(arguments)
    found = asyncio.run(measure(options.days))
    head = "read | period | calls | ms | ms of processor"
    table = format_table(head, [one.row for one in found], texts=2)
    show_tables({MARK: below_machine(table)}, options.write)
    slowest = max(one.seconds for one in found if one.is_of_kept)
    print(f"\nThe slowest read of kept hours took {slowest * 1000:.0f} ms.")
    return int(options.check and slowest > TARGET)


if __name__ == "__main__":
    sys.exit(main())
