"""A sink and readers of its samples, whose destinations tests hold at any read or write."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from penstock.datastore.clock import Clock
from penstock.datastore.errors import Unavailable
from penstock.datastore.ngsi.destinations import (
    Destinations,
    FailureKind,
    SampleTable,
    TableBatch,
    TableItem,
    TableKey,
)
from penstock.datastore.ngsi.directory import Attribute, Entity
from penstock.datastore.ngsi.hours.chart_points import ChartPoints
from penstock.datastore.ngsi.options import SinkOptions
from penstock.datastore.ngsi.reading.aggregates import (
    AggregateBucket,
    Aggregation,
    aggregate_samples,
)
from penstock.datastore.ngsi.reading.downsampling import Downsampling
from penstock.datastore.ngsi.reading.periods import Period
from penstock.datastore.ngsi.reading.series import ALL_TIMES, TimeSpan
from penstock.datastore.ngsi.reading.summaries import Method
from penstock.datastore.ngsi.repository import IngestRepository
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.store import Store
from penstock.datastore.table.layout import KEPT_HOURS, KEPT_MINUTES, KEPT_NUMBERS
from penstock.datastore.table.port import Key, Page, Query, Scan
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld
from tests.datastore.ngsi.test_sink import accept
from tests.support.consistency_check import contents
from tests.support.patience import until
from tests.support.sample_resources import SUPER, Watch

CAR = Entity("vehicles", "/4wheels", "car1", "car")
BEGIN = datetime(2022, 8, 10, tzinfo=UTC)
DAILY = Aggregation(Method.SUM, Period.DAY)


@dataclass(slots=True)
class Hold:
    """A call that stands still once it is reached, until it may go on."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)
    may_go: asyncio.Event = field(default_factory=asyncio.Event)

    async def stand(self) -> None:
        self.reached.set()
        await self.may_go.wait()


@dataclass(slots=True)
class HeldDestinations:
    """Destinations whose next write, or the answer of whose next query, is held.

    While they `fail`, no write takes effect. If they `lose_deletes`, the answer of the second
    deletion and of all later ones is lost.
    """

    inner: Destinations
    write_hold: Hold | None = None
    query_hold: Hold | None = None
    fail: bool = False
    lose_deletes: bool = False
    deletes: int = 0

    @property
    def has_tables(self) -> bool:
        return self.inner.has_tables

    async def create(self, name: str) -> None:
        await self.inner.create(name)

    async def write(self, items: Sequence[TableItem], *, patient: bool = True) -> None:
        if self.fail:
            raise Unavailable("busy")
        hold, self.write_hold = self.write_hold, None
        if hold is not None:
            await hold.stand()
        await self.inner.write(items, patient=patient)

    async def get(self, keys: Sequence[TableKey]) -> TableBatch:
        return await self.inner.get(keys)

    async def delete(self, table: str, keys: Sequence[Key]) -> None:
        await self.inner.delete(table, keys)
        self.deletes += 1
        if self.lose_deletes and self.deletes > 1:
            raise Unavailable("busy")

    def table(self, name: str) -> SampleTable:
        return HeldTable(self.inner.table(name), self)

    def failure_kind(self, error: Exception) -> FailureKind:
        return self.inner.failure_kind(error)

    async def close(self) -> None:
        await self.inner.close()


@dataclass(slots=True)
class HeldTable:
    """One of the destinations."""

    inner: SampleTable
    of: HeldDestinations

    async def query(self, query: Query) -> Page:
        page = await self.inner.query(query)
        # The first page of an aggregate is read before anything else.
        if self.of.query_hold is not None and query.range.low != "000000000000000:":
            hold, self.of.query_hold = self.of.query_hold, None
            await hold.stand()
        return page

    async def scan(self, scan: Scan) -> Page:
        return await self.inner.scan(scan)


@dataclass(frozen=True, slots=True)
class HourWorld:
    """A sink and the store of its server, with one clock that tests move."""

    world: SinkWorld
    sink: NotificationSink
    store: Store
    watch: Watch
    held: HeldDestinations

    @property
    def notified(self) -> IngestRepository:
        return self.store.open_session(SUPER).notifications

    async def send(self, at: datetime, value: float, **headers: str) -> None:
        """Send a sample of an event at a time; it is accepted, and stored later."""
        when = {"TimeInstant": {"type": "DateTime", "value": at.isoformat()}}
        speed = {"speed": {"type": "Number", "value": value}}
        await accept(self.sink, {"id": "car1", "type": "car", **speed, **when}, **headers)

    async def store_at(self, at: datetime, value: float) -> None:
        await self.send(at, value)
        await self.world.wait_until_settled()

    async def find(self) -> Attribute | None:
        return await self.notified.directory.attribute(CAR, "speed")

    async def aggregate(
        self, how: Aggregation = DAILY, span: TimeSpan = ALL_TIMES, **more: Any
    ) -> list[AggregateBucket]:
        """Aggregate by what is kept."""
        of = await self.find()
        return [] if of is None else await self.notified.hours.aggregate(of, span, how, **more)

    async def recompute(
        self, how: Aggregation = DAILY, span: TimeSpan = ALL_TIMES, **more: Any
    ) -> list[AggregateBucket]:
        """Aggregate the samples alone."""
        of = await self.find()
        if of is None:
            return []
        return await aggregate_samples(self.notified.charts.walk(of, span), how, **more)

    async def chart(self, points: int, method: Downsampling) -> ChartPoints:
        """The points of a chart of all samples."""
        of = await self.find()
        assert of is not None
        reader = self.notified.chart_points
        return await reader.read(of, ALL_TIMES, points, method, SUPER.user_id)

    async def sums(self) -> list[Decimal | None]:
        """The sums of all days by what is kept, which are those of the samples."""
        found = await self.aggregate()
        assert found == await self.recompute()
        return [bucket.value for bucket in found]

    async def kept_days(self) -> int:
        """The days that are kept; each of them has a row of each kind."""
        rows = await contents(self.world.context.table)
        counts = [sum(map(row.holds, rows)) for row in (KEPT_HOURS, KEPT_MINUTES, KEPT_NUMBERS)]
        assert len(set(counts)) == 1
        return counts[0]

    async def delete(self, span: TimeSpan = ALL_TIMES) -> None:
        """Delete samples; the clock moves on, so that they arrived before."""
        self.watch.move(timedelta(seconds=1))
        await self.store.open_session(SUPER).sample_deletions.begin(CAR, span)
        assert await self.store.run_jobs("w") == 1


@asynccontextmanager
async def open_hours(
    world: SinkWorld, options: SinkOptions = QUICK, drain: float = 5.0
) -> AsyncIterator[HourWorld]:
    """Open a sink two days behind BEGIN."""
    watch = Watch()
    watch.time = BEGIN + timedelta(days=2)
    held, clock = HeldDestinations(world.context.destinations), Clock(watch)
    async with world.open_sink(options, drain=drain, destinations=held, clock=clock) as sink:
        beside = world.store_beside(sink)
        ingest = replace(beside.ngsi_access, destinations=held)
        store = replace(beside, clock=clock, ngsi_access=ingest)
        yield HourWorld(world, sink, store, watch, held)


async def while_held(
    hold: Hold, work: Awaitable[Any], meanwhile: Callable[[], Awaitable[Any]]
) -> Any:
    """Do some work up to a call that is held, something else meanwhile, and then the rest."""
    running = asyncio.ensure_future(work)
    await until(hold.reached.is_set)
    try:
        await meanwhile()
    finally:
        hold.may_go.set()
    return await running


def hour(number: float) -> datetime:
    return BEGIN + timedelta(hours=number)


def span_of_hours(first: int, end: int) -> TimeSpan:
    return TimeSpan(hour(first), hour(end))
