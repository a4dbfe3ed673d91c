"""One reading of the hours of a series: those that are kept, and the rest from its samples."""

from asyncio import sleep
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Final

from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.directory import Attribute
from penstock.datastore.ngsi.event_times import HOUR_MS
from penstock.datastore.ngsi.hours.abandoned_deletions import end_abandoned
from penstock.datastore.ngsi.hours.day_keeper import DayKeeper, ReadSpan
from penstock.datastore.ngsi.hours.generations import (
    DAY_HOURS,
    HourStates,
    kept_query,
    read_states,
)
from penstock.datastore.ngsi.hours.kept_hours import (
    BuiltHour,
    Detail,
    KeptParts,
    Part_co,
    day_of,
)
from penstock.datastore.ngsi.hours.paid_samples import PaidSamples
from penstock.datastore.ngsi.reading import charts
from penstock.datastore.ngsi.reading.aggregates import Aggregation, Parts
from penstock.datastore.ngsi.reading.periods import HOUR_SECONDS, MINUTE_SECONDS
from penstock.datastore.ngsi.reading.series import SampledNumber, TimeSpan, moment_of
from penstock.datastore.table.pages import Slice, query_items

READ_EDGES: Final = {MINUTE_SECONDS: 100, HOUR_SECONDS: 25}
"""The minutes, or the hours, of a span whose samples are read because periods end in them."""

ROUNDED_PARTS: Final = 4
"""The parts that a period must be long to begin and end at whole parts instead."""


@dataclass(slots=True)
class HourReading:
    """One reading of the hours of a span; `count` is the number of samples that it read."""

    samples: PaidSamples
    of: Attribute
    span: ReadSpan
    count: int = 0

    @property
    def hours(self) -> int:
        """The hours that the reading has a part of."""
        return self.span.last_hour - self.span.first_hour + 1

    async def read(self, detail: Detail[Part_co]) -> AsyncGenerator[tuple[int, Part_co]]:
        """Yield the parts of hours that have samples, each with its first second, in order."""
        # What is kept is read behind the generations, so that a newer one never hides behind it.
        states = await self._read_states()
        keeper = DayKeeper(self.samples.access, self.of, self.span, states)
        hour, end = self.span.first_hour, self.span.last_hour + 1
        async with aclosing(self._read_kept(detail, keeper)) as kept:
            async for at, found in kept:
                if hour < at:
                    async with aclosing(self._build(detail, hour, at, keeper)) as built:
                        async for part in built:
                            yield part
                for part in found.parts(at):
                    yield part
                hour = at + 1
        if hour < end:
            async with aclosing(self._build(detail, hour, end, keeper)) as built:
                async for part in built:
                    yield part

    async def _read_states(self) -> HourStates:
        access, entity = self.samples.access, self.of.entity
        first, last = self.span.first_hour // DAY_HOURS, self.span.last_hour // DAY_HOURS
        days = first * DAY_HOURS, (last + 1) * DAY_HOURS - 1
        states = await read_states(access.table, entity, *days)
        if states.deletions and await end_abandoned(access, entity, states.deletions):
            states = await read_states(access.table, entity, *days)
        return states

    def parts_of(self, how: Aggregation) -> Parts | None:
        """Choose how to read the parts in which periods end; None if what is kept does not tell.

        The samples of a few are read. Where there are more, long periods begin and end with parts.
        """
        seconds = how.part_seconds
        edges = (self.span.high - self.span.low) // (how.shortest * 1000) + 1
        if edges <= READ_EDGES[seconds]:
            return Parts(seconds, partial(self.read_part, seconds=seconds))
        return Parts(seconds) if how.shortest >= ROUNDED_PARTS * seconds else None

    async def read_part(self, second: int, seconds: int) -> AsyncIterator[SampledNumber]:
        """Read the samples of a minute or an hour, as far as it is in the span."""
        async with aclosing(self._walk(second * 1000, (second + seconds) * 1000)) as pages:
            async for page in pages:
                for _, sample in page.entries:
                    yield sample

    async def _read_kept(
        self, detail: Detail[Part_co], keeper: DayKeeper
    ) -> AsyncGenerator[tuple[int, KeptParts[Part_co]]]:
        """Yield what is kept of whole hours and valid, in order; it is paid by its size.

        A page of days is in memory at once.
        """
        access, span = self.samples.access, self.span
        days = span.first_hour // DAY_HOURS, span.last_hour // DAY_HOURS
        query = kept_query(detail.row, self.of.key_values, *days)
        async with aclosing(query_items(access.table, query)) as items:
            async for item in items:
                day = day_of(detail.row, item)
                access.work.owe(detail.units(item))
                for number, kept in sorted(detail.unpack(item).items()):
                    hour = day * DAY_HOURS + number
                    if span.has_whole(hour) and keeper.is_valid(kept, hour):
                        yield hour, kept
                # The days of years are many: other tasks run in between.
                await sleep(0)

    async def _build(
        self, detail: Detail[Part_co], first: int, end: int, keeper: DayKeeper
    ) -> AsyncGenerator[tuple[int, Part_co]]:
        """Yield the parts of hours that are not kept, up to `end`, and keep what is to be kept."""
        await keeper.note_unsettled(first)
        built: dict[int, BuiltHour] = {}
        try:
            async with aclosing(self._read_samples(first, end, keeper.states)) as hours:
                async for hour, entry in hours:
                    if built and hour // DAY_HOURS != min(built) // DAY_HOURS:
                        await keeper.keep(built, first, hour)
                        built = {}
                    built[hour] = entry
                    for part in detail.build(entry).parts(hour):
                        yield part
        except LimitExceeded:
            await keeper.keep(built, first, max(built, default=first) + 1)
            raise
        await keeper.keep(built, first, end)

    async def _read_samples(
        self, first: int, end: int, states: HourStates
    ) -> AsyncGenerator[tuple[int, BuiltHour]]:
        """Yield each hour that has samples once all of them are read."""
        hour, entry = first, None
        async with aclosing(self._walk(first * HOUR_MS, end * HOUR_MS)) as pages:
            async for page in pages:
                for _, sample in page.entries:
                    at = sample.at // HOUR_MS
                    if entry is None or at != hour:
                        if entry is not None:
                            yield hour, entry
                        hour, entry = at, BuiltHour(states.generation(at))
                    entry.add(sample)
        if entry is not None:
            yield hour, entry

    async def _walk(self, low: int, end: int) -> AsyncGenerator[Slice[SampledNumber]]:
        """Yield pages of the samples from `low` to before `end`, as far as they are in the span."""
        low, end = max(self.span.low, low), min(self.span.high + 1, end)
        span = TimeSpan(moment_of(low), moment_of(end))
        async with aclosing(self.samples.walk(self.of, span)) as pages:
            async for page in pages:
                self._count(len(page.entries))
                yield page

    def _count(self, samples: int) -> None:
        self.count += samples
        if self.count > charts.MAX_SAMPLES:
            raise LimitExceeded("samples of a span", charts.MAX_SAMPLES, self.count)
