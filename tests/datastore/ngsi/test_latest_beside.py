"""Latest samples are those of a scan of all samples, however two servers work at once.

Samples come late, again, and at equal times; deletions and sweeps go on beside them. Each call of
a store waits for some turns of the loop, by chance.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastore.clock import Clock
from penstock.datastore.ngsi.destinations import EmbeddedDestinations
from penstock.datastore.ngsi.directory import Entity
from penstock.datastore.ngsi.options import (
    Persistence,
    RetentionTimes,
    SampleLifetimes,
    SinkOptions,
)
from penstock.datastore.ngsi.reading.series import Sample, TimeSpan
from penstock.datastore.ngsi.retention.sweep import RetentionSweep
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.port import TTL, Attributes
from tests.datastore.ngsi.latest_checks import check_latest, list_series
from tests.datastore.ngsi.sample_sinks import SinkWorld, notification, open_world
from tests.datastore.ngsi.test_latest_histories import BATCHED, DAILY, GIVING_UP, WHEELS, layout
from tests.support.consistency_check import contents
from tests.support.sample_resources import SUPER, Watch
from tests.support.stores import open_table
from tests.support.table_interceptors import InterceptedTable

T = TypeVar("T")

MOST_TURNS = 6
DAY = timedelta(days=1)
MONTH = RetentionTimes(segments=DAY, runs=DAY, letters=DAY)


class Step(NamedTuple):
    """A task for one of the servers, such as to accept samples of a car at a minute of the hour.

    The first two bits of `names` are the attributes. A deletion with both deletes all samples, or
    else those up to the minute; a notification that is sent again is one of the same burst.
    """

    kind: str
    server: int
    car: int
    minute: int
    names: int


STEPS = st.builds(
    Step,
    st.sampled_from(("send", "send", "send", "send", "again", "delete", "sweep", "forget")),
    st.integers(0, 1),
    st.integers(1, 2),
    st.integers(0, 3),
    st.integers(1, 3),
)
BURSTS = st.lists(st.lists(STEPS, min_size=1, max_size=6), min_size=1, max_size=5)


class WaitingTable(InterceptedTable):
    """A table each of whose calls waits before and after for some turns of the loop."""

    def __init__(self, table: Any, chance: Random) -> None:
        super().__init__(table)
        self.chance = chance

    async def request(self, call: Coroutine[Any, Any, T], *, writes: bool) -> T:
        await self._wait()
        try:
            return await call
        finally:
            await self._wait()

    async def _wait(self) -> None:
        for _ in range(self.chance.randrange(MOST_TURNS)):
            await asyncio.sleep(0)


@dataclass
class Bursts:
    """Two servers over one store; the steps of a burst happen at once.

    `total` is the number of distinct notifications, `sent` are those of the present burst.
    """

    world: SinkWorld
    sinks: Sequence[NotificationSink]
    store: Store
    samples: SqliteTable
    watch: Watch
    total: int = 0
    sent: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    workers: Iterator[int] = field(default_factory=count)

    async def run(self, burst: Sequence[Step]) -> None:
        # Also a deletion is behind what was accepted before, and expired samples are gone.
        self.watch.move(timedelta(hours=7))
        self.sent.clear()
        await asyncio.gather(*map(self._do, burst))
        while await self.store.run_jobs("w"):
            pass
        await self.world.wait_until_settled()

    async def _do(self, step: Step) -> None:
        sink = self.sinks[step.server]
        match step.kind:
            case "send":
                self.total += 1
                self.sent.append((f"c{self.total}", self._entity(step)))
                await self._accept(sink, *self.sent[-1])
            case "again" if self.sent:
                await self._accept(sink, *self.sent[-1 - step.minute % len(self.sent)])
            case "delete":
                await self._delete(step)
            case "sweep":
                await RetentionSweep(sink.committer, MONTH).remove_old()
            case "forget":
                sink.committer.latest.forget_rows()

    async def _accept(
        self, sink: NotificationSink, correlator: str, entity: dict[str, Any]
    ) -> None:
        await sink.accept_notification(notification(entity, correlator=correlator), 100)

    def _entity(self, step: Step) -> dict[str, Any]:
        at = self.watch.time.replace(minute=step.minute, second=0, microsecond=0)
        when = {"type": "DateTime", "value": at.isoformat()}
        names = ["speed"] * (step.names & 1) + ["oil"] * (step.names >> 1)
        values = {name: {"type": "Number", "value": self.total} for name in names}
        return {"id": f"car{step.car}", "type": "car", **values, "TimeInstant": when}

    async def _delete(self, step: Step) -> None:
        of = Entity(WHEELS.service, WHEELS.path, f"car{step.car}", "car")
        end = self.watch.time.replace(minute=step.minute, second=30)
        span = TimeSpan(end=end) if step.names < 3 else TimeSpan()
        await self.store.open_session(SUPER).sample_deletions.begin(of, span)
        # Workers of one name would both hold the lease of a job.
        await self.store.run_jobs(f"w{next(self.workers)}")

    async def check(self) -> None:
        """Compare latest samples of all cars with a scan, and each sample that was accepted."""
        notified = self.store.open_session(SUPER).notifications
        await check_latest(self.world.context.table, notified)
        newest = await self._scan_newest()
        series = await list_series(notified)
        found = await notified.latest.many(series)
        told = {
            (of.entity.entity_id, of.name): each.text
            for of, each in zip(series, found, strict=True)
            if isinstance(each, Sample)
        }
        assert told == {place: text for place, (_, text) in newest.items()}
        counts = await self.world.counts()
        assert counts.persisted == self.total
        assert counts.dead_lettered == 0

    async def _scan_newest(self) -> dict[tuple[str, str], tuple[str, str]]:
        """The sort key and value of the newest sample of each attribute of each car."""
        now = int(self.watch.time.timestamp())
        newest: dict[tuple[str, str], tuple[str, str]] = {}
        for key, item in (await contents(self.samples)).items():
            if int(str(item.get(TTL, now + 1))) > now:
                for name, value in values_in(item).items():
                    place = (str(item["entityId"]), name)
                    newest[place] = max(newest.get(place, ("", "")), (key.sk, value))
        return newest


def values_in(item: Attributes) -> dict[str, str]:
    if "attrName" in item:
        return {str(item["attrName"]): str(item["attrValue"])}
    return {name: str(item[name]) for name in ("speed", "oil", "TimeInstant") if name in item}


@asynccontextmanager
async def open_bursts(options: SinkOptions, seed: int) -> AsyncIterator[Bursts]:
    chance = Random(seed)
    with TemporaryDirectory() as name:
        folder = Path(name)
        samples = SqliteTable.open(folder / "samples.db")
        await samples.create()
        waiting = WaitingTable(samples, chance)
        watch, destinations = Watch(), EmbeddedDestinations(waiting)
        clock: dict[str, Any] = {"clock": Clock(watch), "shards": 1}
        try:
            async with open_table("sqlite", folder) as inner:
                table = WaitingTable(inner, chance)
                async with (
                    open_world(table, destinations, folder) as world,
                    world.open_sink(options, **clock) as one,
                    world.open_sink(options, **clock) as other,
                ):
                    store = replace(world.store_beside(one), clock=Clock(watch))
                    yield Bursts(world, (one, other), store, samples, watch)
        finally:
            await samples.close()


@pytest.mark.parametrize(
    "options",
    [
        layout(GIVING_UP, Persistence.ROW, DAILY),
        layout(GIVING_UP, Persistence.COLUMN, SampleLifetimes()),
        layout(BATCHED, Persistence.ROW, SampleLifetimes()),
    ],
    ids=["rows", "columns", "batches"],
)
@settings(max_examples=8)
@given(bursts=BURSTS, seed=st.integers(0, 1_000_000))
def test_latest_samples_are_those_of_a_scan_whatever_happens_at_once(
    options: SinkOptions, bursts: Sequence[Sequence[Step]], seed: int
) -> None:
    asyncio.run(run_bursts(options, bursts, seed))


async def run_bursts(options: SinkOptions, bursts: Sequence[Sequence[Step]], seed: int) -> None:
    async with open_bursts(options, seed) as place:
        for burst in bursts:
            await place.run(burst)
            await place.check()
