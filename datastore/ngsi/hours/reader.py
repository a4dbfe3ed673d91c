"""Aggregates of many samples, by hours that are kept once they were read.

An hour is kept when it is over, no segment that is not settled can hold a sample of it, and its day
has so many samples that reading it again would cost more. The rest is read from the samples.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

import msgspec

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.access.work import sample_units
from penstock.datastore.errors import LimitExceeded, Unavailable
from penstock.datastore.ngsi.counts import read_open_segments
from penstock.datastore.ngsi.directory import Attribute
from penstock.datastore.ngsi.event_times import HOUR_MS, MAX_AHEAD
from penstock.datastore.ngsi.hours.abandoned_deletions import end_abandoned
from penstock.datastore.ngsi.hours.generations import (
    DAY_HOURS,
    LATE_MS,
    SKEW_MS,
    HourStates,
    kept_query,
    read_states,
)
from penstock.datastore.ngsi.reading import charts
from penstock.datastore.ngsi.reading.aggregates import (
    HOUR_SECONDS,
    AggregateBucket,
    Aggregation,
    NumberSummary,
    aggregate_samples,
    aggregate_summaries,
)
from penstock.datastore.ngsi.reading.series import (
    WHOLE_PAGE,
    Sample,
    SeriesReader,
    TimeSpan,
    milliseconds_of,
    moment_of,
)
from penstock.datastore.ngsi.run_log import MAX_TABLES, SINK_CALLER, read_lone_runs
from penstock.datastore.table.layout import KEPT_HOURS
from penstock.datastore.table.pages import Slice, Window, query_items
from penstock.datastore.table.port import ConditionFailed, Put

FIRST_PAGE: Final = 200
"""The samples up to which a span is read as it is."""

KEPT_SAMPLES: Final = 100
"""The samples of a day from which its hours are kept."""

logger = logging.getLogger("penstock.ngsi")


class KeptHour(msgspec.Struct, array_like=True):
    """The samples of an hour under a generation; the first of them `expires` at a second."""

    summary: NumberSummary
    generation: str = ""
    expires: int | None = None

    def add(self, sample: Sample) -> None:
        self.summary.add(sample.number)
        if sample.expires is not None:
            self.expires = min(sample.expires, self.expires or sample.expires)


KeptDay = list[KeptHour | None]
"""The hours of a day; None for those that are not kept."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[KeptHour | None]).decode


@dataclass(frozen=True, slots=True)
class HourReader:
    """Reads aggregates of series that a caller may see, at the caller's cost."""

    access: Access
    series: SeriesReader

    async def aggregate(
        self, of: Attribute, span: TimeSpan, how: Aggregation, *, fill: bool = False
    ) -> list[AggregateBucket]:
        """Aggregate the samples of a span by whole hours; with `fill`, include empty buckets.

        Up to FIRST_PAGE samples are read as they are. Raises LimitExceeded if more than MAX_SAMPLES
        lie in hours that are not kept; those that were read until then are kept.
        """
        self.access.work.spend_more(1)
        bounds = span.bounds
        if bounds is None:
            return []
        page = await self._read_page(of, span, Window(size=FIRST_PAGE))
        if not page.more:
            return await aggregate_samples(_samples_of(page), how, fill=fill)
        low, high = bounds
        if page.entries:
            low = max(low, page.entries[0][1].at // HOUR_MS * HOUR_MS)
        now = milliseconds_of(self.access.clock.now())
        reading = _HourReading(self, of, low, min(high, now + MAX_AHEAD), now)
        async with aclosing(reading.read()) as hours:
            return await aggregate_summaries(hours, how, fill=fill)

    async def keep(self, of: Attribute, first: int, end: int) -> int:
        """Keep the hours from `first` to before `end` that can be; return the samples read.

        Raises LimitExceeded behind MAX_SAMPLES of them; those that were read until then are kept.
        """
        now = milliseconds_of(self.access.clock.now())
        reading = _HourReading(self, of, first * HOUR_MS, end * HOUR_MS - 1, now)
        async with aclosing(reading.read()) as hours:
            async for _ in hours:
                pass
        return reading.count

    async def _read_page(self, of: Attribute, span: TimeSpan, window: Window) -> Slice[Sample]:
        page = await self.series.page_of_numbers(of, span, window)
        self.access.work.owe(sample_units(len(page.entries)))
        return page

    async def walk(self, of: Attribute, span: TimeSpan) -> AsyncGenerator[Slice[Sample]]:
        """Yield every page of a span."""
        after, more = None, True
        while more:
            page = await self._read_page(of, span, Window(size=WHOLE_PAGE, after=after))
            yield page
            more, after = page.more, page.reached

    async def first_unsettled_hour(self, of: Attribute) -> int:
        """The first hour of which a sample may be accepted and not stored; a far one if none is.

        Segments of the service path say their first hour, and runs of single segments their tables.
        """
        entity = of.entity
        at = (entity.service, entity.path)
        found = await read_open_segments(self.access.table, at, consistent=True)
        access = Access(self.access.table, SINK_CALLER, self.access.clock, Budget())
        tables = {name for _, name in of.places}
        for run in await read_lone_runs(access):
            named = run.shred_types or ()
            if not named or len(named) >= MAX_TABLES or not tables.isdisjoint(named):
                return 0
        return min((segment.first_hour for segment in found), default=_FAR)


_FAR = 1 << 40


@dataclass(slots=True)
class _HourReading:
    """One reading of the hours from one millisecond to another, both inclusive."""

    reader: HourReader
    of: Attribute
    low: int
    high: int
    now: int
    count: int = 0
    days: dict[int, KeptDay] = field(default_factory=dict)
    _unsettled: int | None = None

    async def read(self) -> AsyncGenerator[tuple[int, NumberSummary]]:
        """Yield each hour that has samples, with its first second, from the oldest."""
        first, last = self.low // HOUR_MS, self.high // HOUR_MS
        table = self.reader.access.table
        # What is kept is read behind the generations, so that a newer one never hides behind it.
        days = first // DAY_HOURS * DAY_HOURS, (last // DAY_HOURS + 1) * DAY_HOURS - 1
        access, entity = self.reader.access, self.of.entity
        states = await read_states(table, entity, *days)
        if states.deletions and await end_abandoned(access, entity, states.deletions):
            states = await read_states(table, entity, *days)
        await self._read_kept(first, last, states)
        hour = first
        for kept in [*self._kept_hours(first, last), last + 1]:
            if hour < kept:
                async with aclosing(self._build(hour, kept, states)) as built:
                    async for found in built:
                        yield found
            entry = self._entry(kept) if kept <= last else None
            if entry is not None:
                yield kept * HOUR_SECONDS, entry.summary
            hour = kept + 1

    async def _read_kept(self, first: int, last: int, states: HourStates) -> None:
        """Read the kept hours that are valid."""
        query = kept_query(self.of.key_values, first // DAY_HOURS, last // DAY_HOURS)
        start = KEPT_HOURS.sk.prefix({})
        async for item in query_items(self.reader.access.table, query):
            day = int(str(item["sk"]).removeprefix(start))
            self.days[day] = [
                entry if self._is_valid(entry, day * DAY_HOURS + number, states) else None
                for number, entry in enumerate(_decode(str(item["hours"])))
            ]
        self.reader.access.work.owe(len(self.days))

    def _is_valid(self, entry: KeptHour | None, hour: int, states: HourStates) -> bool:
        if entry is None or states.is_in_deletion(hour):
            return False
        if entry.expires is not None and entry.expires * 1000 <= self.now:
            return False
        return entry.generation == states.generation(hour)

    def _kept_hours(self, first: int, last: int) -> list[int]:
        """The hours of the span that are kept; what the span has a part of is read."""
        found = [
            day * DAY_HOURS + number
            for day in sorted(self.days)
            for number, entry in enumerate(self.days[day])
            if entry is not None
        ]
        return [hour for hour in found if first <= hour <= last and self._is_whole(hour)]

    def _entry(self, hour: int) -> KeptHour | None:
        day = self.days.get(hour // DAY_HOURS)
        return None if day is None else day[hour % DAY_HOURS]

    def _is_whole(self, hour: int) -> bool:
        """Whether the span has the whole hour."""
        return self.low <= hour * HOUR_MS and (hour + 1) * HOUR_MS <= self.high + 1

    async def _build(
        self, first: int, end: int, states: HourStates
    ) -> AsyncGenerator[tuple[int, NumberSummary]]:
        """Read the samples of hours that are not kept, up to `end`, and keep what is to be kept."""
        unsettled = await self._first_unsettled_hour() if self._is_over(first) else 0
        keeping = _Keeping(self, states, unsettled, first)
        built: dict[int, KeptHour] = {}
        try:
            async with aclosing(self._read_samples(first, end, states)) as hours:
                async for hour, entry in hours:
                    if built and hour // DAY_HOURS != min(built) // DAY_HOURS:
                        await keeping.keep(built, hour)
                        built = {}
                    built[hour] = entry
                    yield hour * HOUR_SECONDS, entry.summary
        except LimitExceeded:
            await keeping.keep(built, max(built, default=first) + 1)
            raise
        await keeping.keep(built, end)

    async def _read_samples(
        self, first: int, end: int, states: HourStates
    ) -> AsyncGenerator[tuple[int, KeptHour]]:
        """Yield each hour that has samples once all of them are read."""
        low, high = max(self.low, first * HOUR_MS), min(self.high, end * HOUR_MS - 1)
        span = TimeSpan(moment_of(low), moment_of(high + 1))
        hour, entry = first, None
        async with aclosing(self.reader.walk(self.of, span)) as pages:
            async for page in pages:
                self._count(len(page.entries))
                for _, sample in page.entries:
                    at = sample.at // HOUR_MS
                    if entry is None or at != hour:
                        if entry is not None:
                            yield hour, entry
                        hour, entry = at, KeptHour(NumberSummary(), states.generation(at))
                    entry.add(sample)
        if entry is not None:
            yield hour, entry

    def _count(self, samples: int) -> None:
        self.count += samples
        if self.count > charts.MAX_SAMPLES:
            raise LimitExceeded("samples of a span", charts.MAX_SAMPLES, self.count)

    async def _first_unsettled_hour(self) -> int:
        if self._unsettled is None:
            self._unsettled = await self.reader.first_unsettled_hour(self.of)
        return self._unsettled

    def _is_over(self, hour: int) -> bool:
        return (hour + 1) * HOUR_MS <= self.now - LATE_MS - SKEW_MS

    def may_keep(self, hour: int, states: HourStates, unsettled: int) -> bool:
        """Whether an hour is over, and nothing can be stored in it without a new generation."""
        over = self._is_over(hour)
        return (
            over and hour < unsettled and self._is_whole(hour) and not states.is_in_deletion(hour)
        )


@dataclass(slots=True)
class _Keeping:
    """The hours of one stretch that are kept day by day; those before `first` are done."""

    reading: _HourReading
    states: HourStates
    unsettled: int
    first: int

    async def keep(self, built: Mapping[int, KeptHour], end: int) -> None:
        """Keep the day of the hours that were built; the hours up to `end` are complete."""
        if not built:
            return
        day = min(built) // DAY_HOURS
        kept = self.reading.days.setdefault(day, [None] * DAY_HOURS)
        fresh = 0
        for number in range(DAY_HOURS):
            hour = day * DAY_HOURS + number
            if not self.first <= hour < end:
                continue
            if self.reading.may_keep(hour, self.states, self.unsettled):
                empty = KeptHour(NumberSummary(), self.states.generation(hour))
                kept[number] = built.get(hour, empty)
                fresh += 1
        if fresh and _samples_in(kept) >= KEPT_SAMPLES:
            await self._write_day(day, kept)

    async def _write_day(self, day: int, kept: KeptDay) -> None:
        """Write the hours of a day, unless a deletion begins meanwhile; the reading goes on."""
        item = KEPT_HOURS.item(**self.reading.of.key_values, day=day)
        row = Put({**item, "hours": _encode(kept).decode()})
        try:
            await self.reading.reader.access.table.transact([self.states.unchanged, row])
        except ConditionFailed:
            logger.info("hours were not kept: samples of their entity are being deleted")
        except Unavailable as error:
            logger.warning("hours could not be kept: %s", error.message)


def _samples_in(day: KeptDay) -> int:
    return sum(entry.summary.samples for entry in day if entry is not None)


async def _samples_of(page: Slice[Sample]) -> AsyncIterator[Sample]:
    for _, sample in page.entries:
        yield sample
