"""Any history of late samples, deletions and replays: aggregates are those of a plain model."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.ngsi.destinations import EmbeddedDestinations
from penstock.datastore.ngsi.hours import day_keeper, paid_samples, reader
from penstock.datastore.ngsi.options import BatchingOptions, ItemLayout, Persistence, SinkOptions
from penstock.datastore.ngsi.reading.aggregates import Aggregation
from penstock.datastore.ngsi.reading.periods import Period, Width
from penstock.datastore.ngsi.reading.series import TimeSpan
from penstock.datastore.ngsi.reading.summaries import Method
from penstock.datastore.sqlite.table import SqliteTable
from tests.datastore.ngsi.hours.hour_worlds import HourWorld, hour, open_hours
from tests.datastore.ngsi.sample_sinks import QUICK, open_world
from tests.support.stores import open_table

GIVING_UP = replace(QUICK, batching=BatchingOptions(ttl=0))
LAYOUTS = (GIVING_UP, replace(GIVING_UP, layout=ItemLayout(attr_persistence=Persistence.COLUMN)))

Step: TypeAlias = tuple[str, int, int]

STEPS = st.lists(
    st.one_of(
        # The minutes before the present, and a value.
        st.tuples(st.just("store"), st.integers(0, 400), st.integers(-9, 9)),
        st.tuples(st.just("fail"), st.integers(0, 400), st.integers(-9, 9)),
        st.tuples(st.just("replay"), st.just(0), st.just(0)),
        # The first hour, and how many.
        st.tuples(st.just("delete"), st.integers(40, 50), st.integers(1, 5)),
        st.tuples(st.just("pass"), st.integers(1, 120), st.just(0)),
        st.tuples(st.just("read"), st.integers(40, 50), st.integers(1, 10)),
    ),
    min_size=4,
    max_size=14,
)


@dataclass(slots=True)
class Model:
    """The samples that are stored, and those of dead letters, each with its time and value."""

    stored: list[tuple[datetime, int]] = field(default_factory=list)
    dead: list[tuple[datetime, int]] = field(default_factory=list)

    def delete(self, start: datetime, end: datetime) -> None:
        self.stored = [each for each in self.stored if not start <= each[0] < end]

    def sums(self, period: Period, start: datetime, end: datetime) -> dict[str, Decimal]:
        found: dict[str, Decimal] = defaultdict(Decimal)
        for at, value in self.stored:
            if start <= at < end:
                found[iso_timestamp(period.start(at))] += value
        return dict(sorted(found.items()))


async def run_step(place: HourWorld, model: Model, step: Step) -> None:
    kind, one, other = step
    # No two samples are of the same millisecond.
    place.watch.move(timedelta(milliseconds=7))
    match kind:
        case "store" | "fail":
            at = place.watch.time - timedelta(minutes=one)
            place.held.fail = kind == "fail"
            await place.store_at(at, other)
            place.held.fail = False
            (model.dead if kind == "fail" else model.stored).append((at, other))
        case "replay":
            for letter in await place.world.letters():
                await place.sink.replayer.replay(letter)
            await place.world.wait_until_settled()
            model.stored += model.dead
            model.dead = []
        case "delete" if await place.find() is not None:
            start, end = hour(one), hour(one + other)
            await place.delete(TimeSpan(start, end))
            model.delete(start, end)
        case "pass":
            place.watch.move(timedelta(minutes=one))
        case "read":
            await compare(place, model, hour(one), hour(one + other))
    # Most hours are kept before the next step.
    await compare_sums(place, model, hour(0), hour(96))


async def compare(place: HourWorld, model: Model, start: datetime, end: datetime) -> None:
    """Compare what is read by kept hours with the model, and with the samples alone."""
    await compare_sums(place, model, start, end)
    span = TimeSpan(start, end)
    for method in Method:
        for period in (Period.DAY, Width(900)):
            how = Aggregation(method, period)
            assert await place.aggregate(how, span) == await place.recompute(how, span)


async def compare_sums(place: HourWorld, model: Model, start: datetime, end: datetime) -> None:
    for period in (Period.HOUR, Period.DAY):
        found = await place.aggregate(Aggregation(Method.SUM, period), TimeSpan(start, end))
        assert {each.start: each.value for each in found} == model.sums(period, start, end)


@asynccontextmanager
async def open_place(options: SinkOptions) -> AsyncIterator[HourWorld]:
    with TemporaryDirectory() as name:
        folder = Path(name)
        samples = SqliteTable.open(folder / "samples.db")
        await samples.create()
        try:
            async with (
                open_table("sqlite", folder) as table,
                open_world(table, EmbeddedDestinations(samples), folder) as world,
                open_hours(world, options) as place,
            ):
                yield place
        finally:
            await samples.close()


@pytest.mark.parametrize("options", LAYOUTS, ids=["rows", "columns"])
@settings(max_examples=25)
@given(steps=STEPS)
def test_aggregates_by_kept_hours_are_those_of_a_model(
    options: SinkOptions, steps: Sequence[Step]
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(day_keeper, "KEPT_SAMPLES", 1)
        patched.setattr(paid_samples, "WHOLE_PAGE", 2)
        patched.setattr(reader, "FIRST_PAGE", 2)
        asyncio.run(run_history(options, steps))


async def run_history(options: SinkOptions, steps: Sequence[Step]) -> None:
    async with open_place(options) as place:
        model = Model()
        for step in steps:
            await run_step(place, model, step)
        for _ in range(2):
            await compare(place, model, hour(-12), hour(96))
