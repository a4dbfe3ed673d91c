"""Any history of two servers: latest samples by rows are those of queries, and no row is behind."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastore.clock import Clock
from penstock.datastore.ngsi.catalog import Catalog
from penstock.datastore.ngsi.destinations import EmbeddedDestinations
from penstock.datastore.ngsi.directory import Entity, ServicePath
from penstock.datastore.ngsi.large_values import LargeValues
from penstock.datastore.ngsi.loading.sample_writer import SampleWriter
from penstock.datastore.ngsi.options import (
    BatchingOptions,
    ItemLayout,
    Persistence,
    SampleLifetimes,
    SinkOptions,
    parse_lifetimes,
)
from penstock.datastore.ngsi.reading.series import TimeSpan
from penstock.datastore.ngsi.sink import NotificationSink
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from tests.datastore.ngsi.hours.hour_worlds import HeldDestinations
from tests.datastore.ngsi.latest_checks import check_latest
from tests.datastore.ngsi.sample_sinks import QUICK, SinkWorld, notification, open_world
from tests.datastore.ngsi.test_sink import accept
from tests.support.sample_resources import SUPER, Watch
from tests.support.stores import open_table

WHEELS = ServicePath("vehicles", "/4wheels")
GIVING_UP = replace(QUICK, batching=BatchingOptions(ttl=0))
DAILY = parse_lifetimes("1")
AGE = 0.001
"""The seconds after which a batch is stored that is not full."""

BATCHED = replace(GIVING_UP, batching=BatchingOptions(ttl=0, size=2, timeout=AGE))

Step: TypeAlias = tuple[str, int, int, int]

CARS = st.integers(1, 2)
MINUTES = st.integers(-30, 60)
"""The minutes by which an event is before the present; it may be later."""

SETS = st.integers(1, 3)
"""The attributes of a notification: speed, oil, or both."""

SAMPLES = st.lists(st.tuples(CARS, MINUTES, SETS), max_size=4)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("one", "other", "both", "fail")), CARS, MINUTES, SETS),
        st.tuples(st.just("replay"), st.just(0), st.just(0), st.just(0)),
        # The minutes before the present, and how many; more than all of them is everything.
        st.tuples(st.just("delete"), CARS, st.integers(-60, 60), st.integers(1, 150)),
        st.tuples(st.just("delete all"), CARS, st.just(0), st.just(0)),
        st.tuples(st.just("forget"), st.integers(0, 1), st.just(0), st.just(0)),
        st.tuples(st.just("pass"), st.integers(1, 1800), st.just(0), st.just(0)),
    ),
    min_size=3,
    max_size=14,
)


@dataclass(frozen=True, slots=True)
class Place:
    """Two servers over one store, whose clock tests move."""

    world: SinkWorld
    sinks: Sequence[NotificationSink]
    store: Store
    watch: Watch
    held: HeldDestinations

    def entity(self, car: int, minutes: int, attributes: int) -> dict[str, Any]:
        at = self.watch.time - timedelta(minutes=minutes)
        when = {"type": "DateTime", "value": at.isoformat()}
        names = ["speed"] * (attributes & 1) + ["oil"] * (attributes >> 1)
        values = {name: {"type": "Number", "value": minutes} for name in names}
        return {"id": f"car{car}", "type": "car", **values, "TimeInstant": when}

    async def store_before(self, car: int, minutes: int, attributes: int) -> None:
        """Store samples as a release does that knows no rows of latest samples."""
        sink = self.sinks[0]
        at = int(self.watch.time.timestamp() * 1000)
        made = notification(self.entity(car, minutes, attributes))
        routed = await sink.router.route_notification(made, at)
        catalog = Catalog(self.world.context.table)
        await catalog.record_paths([("vehicles", "/4wheels")])
        await catalog.record_entities(routed.events)
        writer = SampleWriter(self.held, sink.options.layout, LargeValues(self.world.context.files))
        await writer.store_events(routed.events)

    async def run(self, step: Step) -> None:
        kind, one, two, three = step
        # No two notifications are of the same millisecond.
        self.watch.move(timedelta(milliseconds=7))
        match kind:
            case "one" | "other" | "fail" | "both":
                await self.store_one(kind, self.entity(one, two, three))
            case "replay":
                for letter in await self.world.letters():
                    await self.sinks[1].replayer.replay(letter)
                await self.world.wait_until_settled()
            case "delete":
                start = self.watch.time - timedelta(minutes=two)
                await self.delete(one, TimeSpan(start, start + timedelta(minutes=three)))
            case "delete all":
                await self.delete(one, TimeSpan())
            case "forget":
                self.sinks[one].committer.latest.forget_rows()
            case "pass":
                self.watch.move(timedelta(minutes=one))

    async def store_one(self, kind: str, entity: dict[str, Any]) -> None:
        """Store a sample by one of the servers, or the same by both at once."""
        self.held.fail = kind == "fail"
        servers = self.sinks if kind == "both" else self.sinks[kind == "other" :][:1]
        await asyncio.gather(*(accept(sink, entity) for sink in servers))
        await self.world.wait_until_settled()
        self.held.fail = False

    async def delete(self, car: int, span: TimeSpan) -> None:
        self.watch.move(timedelta(seconds=1))
        of = Entity(WHEELS.service, WHEELS.path, f"car{car}", "car")
        await self.store.open_session(SUPER).sample_deletions.begin(of, span)
        assert await self.store.run_jobs("w") == 1


@asynccontextmanager
async def open_place(options: SinkOptions) -> AsyncIterator[Place]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        samples = SqliteTable.open(folder / "samples.db")
        await samples.create()
        watch, held = Watch(), HeldDestinations(EmbeddedDestinations(samples))
        clock: dict[str, Any] = {"clock": Clock(watch), "destinations": held}
        try:
            async with (
                open_table("sqlite", folder) as table,
                open_world(table, EmbeddedDestinations(samples), folder) as world,
                world.open_sink(options, **clock) as one,
                world.open_sink(options, **clock) as other,
            ):
                beside = world.store_beside(one)
                store = replace(beside, clock=Clock(watch))
                yield Place(world, (one, other), store, watch, held)
        finally:
            await samples.close()


def layout(options: SinkOptions, persistence: Persistence, days: SampleLifetimes) -> SinkOptions:
    return replace(options, layout=ItemLayout(attr_persistence=persistence, lifetimes=days))


@pytest.mark.parametrize(
    "options",
    [
        layout(GIVING_UP, Persistence.ROW, DAILY),
        layout(GIVING_UP, Persistence.COLUMN, DAILY),
        layout(BATCHED, Persistence.ROW, SampleLifetimes()),
    ],
    ids=["rows", "columns", "batches"],
)
@settings(max_examples=8)
@given(before=SAMPLES, steps=STEPS)
def test_latest_samples_by_rows_are_those_of_queries(
    options: SinkOptions, before: Sequence[tuple[int, int, int]], steps: Sequence[Step]
) -> None:
    asyncio.run(run_history(options, before, steps))


async def run_history(
    options: SinkOptions, before: Sequence[tuple[int, int, int]], steps: Sequence[Step]
) -> None:
    async with open_place(options) as place:
        for sample in before:
            await place.store_before(*sample)
        for step in steps:
            await place.run(step)
            await check_latest(
                place.world.context.table, place.store.open_session(SUPER).notifications
            )
