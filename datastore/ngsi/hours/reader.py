"""Aggregates of many samples, by hours that are kept once they were read.

An hour is kept when it is over, no segment that is not settled can hold a sample of it, and its day
has so many samples that reading it again would cost more. The rest is read from the samples.
"""

import logging
from asyncio import sleep
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Final

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.access.work import filling_units, sample_units
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
from penstock.datastore.ngsi.hours.kept_hours import (
    HOURS,
    HOURS_FIELD,
    MINUTES,
    NUMBERS,
    BuiltHour,
    Detail,
    KeptDay,
    KeptParts,
    Part_co,
    day_of,
    minutes_where,
    pack_day,
    pack_minutes,
    pack_numbers,
    samples_in,
    unpack_day,
)
from penstock.datastore.ngsi.reading import charts
from penstock.datastore.ngsi.reading.aggregates import (
    WHOLE,
    AggregateBucket,
    Aggregation,
    Parts,
    aggregate_counts,
    aggregate_minutes,
    aggregate_samples,
    aggregate_summaries,
)
from penstock.datastore.ngsi.reading.charts import ChartReader
from penstock.datastore.ngsi.reading.periods import HOUR_SECONDS, MINUTE_SECONDS
from penstock.datastore.ngsi.reading.series import (
    WHOLE_PAGE,
    NumberSample,
    SampledNumber,
    SeriesReader,
    TimeSpan,
    milliseconds_of,
    moment_of,
)
from penstock.datastore.ngsi.reading.summaries import Method
from penstock.datastore.ngsi.run_log import MAX_TABLES, SINK_CALLER, read_lone_runs
from penstock.datastore.table.layout import KEPT_HOURS, KEPT_MINUTES, KEPT_NUMBERS
from penstock.datastore.table.pages import Slice, Window, query_items
from penstock.datastore.table.port import ConditionFailed, Put, Update

FIRST_PAGE: Final = 200
"""The samples up to which a span is read as it is."""

KEPT_SAMPLES: Final = 100
"""The samples of a day from which its hours are kept."""

READ_EDGES: Final = {MINUTE_SECONDS: 100, HOUR_SECONDS: 25}
"""The minutes, or the hours, of a span whose samples are read because periods end in them."""

ROUNDED_PARTS: Final = 4
"""The parts that a period must be long to begin and end at whole parts instead."""

DAY_MS: Final = DAY_HOURS * HOUR_MS

logger = logging.getLogger("penstock.ngsi")


@dataclass(frozen=True, slots=True)
class HourReader:
    """Reads aggregates of series that a caller may see, at the caller's cost."""

    access: Access
    series: SeriesReader

    async def aggregate(
        self, of: Attribute, span: TimeSpan, how: Aggregation, *, fill: bool = False
    ) -> list[AggregateBucket]:
        """Aggregate the samples of a span; with `fill`, include empty buckets, which are paid.

        Up to FIRST_PAGE samples are read as they are, and up to MAX_SAMPLES where periods end
        within minutes, or hours for percentiles. Raises LimitExceeded if more lie in hours that are
        not kept, or in periods that do not follow from what is kept; those that were read until
        then are kept.
        """
        found = await self._aggregate(of, span, how, fill=fill)
        self.access.work.owe(filling_units(sum(not each.samples for each in found)))
        return found

    async def _aggregate(
        self, of: Attribute, span: TimeSpan, how: Aggregation, *, fill: bool
    ) -> list[AggregateBucket]:
        if not how.part_seconds:
            return await aggregate_samples(self.charts.walk(of, span), how, fill=fill)
        first, reading = await self.begin(of, span)
        if reading is None:
            return await aggregate_samples(_samples_of(first), how, fill=fill)
        parts, detail = WHOLE, MINUTES
        if how.has_edges:
            days = await self.read_kept_days(of, span)
            try:
                return await aggregate_samples(self._walk_few(of, span, days), how, fill=fill)
            except LimitExceeded:
                if (found_parts := reading.parts_of(how)) is None:
                    raise
                parts, detail = found_parts, minutes_where(how.cuts, days)
        if how.method is Method.PERCENTILE:
            async with aclosing(reading.read(NUMBERS)) as counts:
                return await aggregate_counts(counts, how, parts, fill=fill)
        if how.is_by_hours:
            async with aclosing(reading.read(HOURS)) as found:
                return await aggregate_summaries(found, how, fill=fill)
        async with aclosing(reading.read(detail)) as minutes:
            return await aggregate_minutes(minutes, how, parts, fill=fill)

    def _walk_few(
        self, of: Attribute, span: TimeSpan, days: Mapping[int, KeptDay]
    ) -> AsyncIterator[NumberSample]:
        """Walk through a span; raises LimitExceeded at once where more is kept than is walked."""
        kept = sum(map(samples_in, days.values()))
        if kept > charts.MAX_SAMPLES:
            raise LimitExceeded("samples of a span", charts.MAX_SAMPLES, kept)
        return self.charts.walk(of, span)

    @property
    def charts(self) -> ChartReader:
        return ChartReader(self.series, self.access.work)

    async def begin(
        self, of: Attribute, span: TimeSpan
    ) -> tuple[Slice[SampledNumber], "HourReading | None"]:
        """Read the first samples of a span; return them, and the reading of its hours.

        It is None if these were all samples.
        """
        self.access.work.spend_more(1)
        first = await self._read_page(of, span, Window(size=FIRST_PAGE))
        if not first.more or span.bounds is None:
            return first, None
        low, high = span.bounds
        if first.entries:
            low = max(low, first.entries[0][1].at // HOUR_MS * HOUR_MS)
        now = milliseconds_of(self.access.clock.now())
        return first, HourReading(self, of, low, min(high, now + MAX_AHEAD), now)

    async def count_kept(self, of: Attribute, span: TimeSpan) -> int:
        """Count the samples in the kept days of a span, also in hours that are no longer valid."""
        return sum(map(samples_in, (await self.read_kept_days(of, span)).values()))

    async def read_kept_days(self, of: Attribute, span: TimeSpan) -> dict[int, KeptDay]:
        """Read the hours of a span that are kept, by their days, also those not valid any more."""
        if span.bounds is None:
            return {}
        query = kept_query(KEPT_HOURS, of.key_values, *(at // DAY_MS for at in span.bounds))
        return {
            day_of(KEPT_HOURS, item): unpack_day(item)
            async for item in query_items(self.access.table, query)
        }

    async def keep(self, of: Attribute, first: int, end: int) -> int:
        """Keep the hours from `first` to before `end` that can be; return the samples read.

        Raises LimitExceeded behind MAX_SAMPLES of them; those that were read until then are kept.
        """
        now = milliseconds_of(self.access.clock.now())
        reading = HourReading(self, of, first * HOUR_MS, end * HOUR_MS - 1, now)
        async with aclosing(reading.read(HOURS)) as hours:
            async for _ in hours:
                pass
        return reading.count

    async def _read_page(
        self, of: Attribute, span: TimeSpan, window: Window
    ) -> Slice[SampledNumber]:
        page = await self.series.page_of_numbers(of, span, window)
        self.access.work.owe(sample_units(len(page.entries)))
        return page

    async def walk(self, of: Attribute, span: TimeSpan) -> AsyncGenerator[Slice[SampledNumber]]:
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
class HourReading:
    """One reading of the hours from one millisecond to another, both inclusive."""

    reader: HourReader
    of: Attribute
    low: int
    high: int
    now: int
    count: int = 0
    _unsettled: int | None = None

    @property
    def hours(self) -> int:
        """The hours that the reading has a part of."""
        return self.high // HOUR_MS - self.low // HOUR_MS + 1

    async def read(self, detail: Detail[Part_co]) -> AsyncGenerator[tuple[int, Part_co]]:
        """Yield the parts of hours that have samples, each with its first second, in order."""
        # What is kept is read behind the generations, so that a newer one never hides behind it.
        states = await self._read_states()
        hour, end = self.low // HOUR_MS, self.high // HOUR_MS + 1
        async with aclosing(self._read_kept(detail, states)) as kept:
            async for at, found in kept:
                if hour < at:
                    async with aclosing(self._build(detail, hour, at, states)) as built:
                        async for part in built:
                            yield part
                for part in found.parts(at):
                    yield part
                hour = at + 1
        if hour < end:
            async with aclosing(self._build(detail, hour, end, states)) as built:
                async for part in built:
                    yield part

    async def _read_states(self) -> HourStates:
        access, entity = self.reader.access, self.of.entity
        first, last = self.low // HOUR_MS, self.high // HOUR_MS
        days = first // DAY_HOURS * DAY_HOURS, (last // DAY_HOURS + 1) * DAY_HOURS - 1
        states = await read_states(access.table, entity, *days)
        if states.deletions and await end_abandoned(access, entity, states.deletions):
            states = await read_states(access.table, entity, *days)
        return states

    def parts_of(self, how: Aggregation) -> Parts | None:
        """Choose how to read the parts in which periods end; None if what is kept does not tell.

        The samples of a few are read. Where there are more, long periods begin and end with parts.
        """
        seconds = how.part_seconds
        edges = (self.high - self.low) // (how.shortest * 1000) + 1
        if edges <= READ_EDGES[seconds]:
            return Parts(seconds, partial(self.read_part, seconds=seconds))
        return Parts(seconds) if how.shortest >= ROUNDED_PARTS * seconds else None

    async def read_part(self, second: int, seconds: int) -> AsyncIterator[SampledNumber]:
        """Read the samples of a minute or an hour, as far as it is in the span."""
        low, high = max(self.low, second * 1000), min(self.high + 1, (second + seconds) * 1000)
        span = TimeSpan(moment_of(low), moment_of(high))
        async with aclosing(self.reader.walk(self.of, span)) as pages:
            async for page in pages:
                self._count(len(page.entries))
                for _, sample in page.entries:
                    yield sample

    async def _read_kept(
        self, detail: Detail[Part_co], states: HourStates
    ) -> AsyncGenerator[tuple[int, KeptParts[Part_co]]]:
        """Yield what is kept of whole hours and valid, in order; it is paid by its size.

        A page of days is in memory at once.
        """
        span = self.low // HOUR_MS, self.high // HOUR_MS
        days = (each // DAY_HOURS for each in span)
        query = kept_query(detail.row, self.of.key_values, *days)
        async with aclosing(query_items(self.reader.access.table, query)) as items:
            async for item in items:
                day = day_of(detail.row, item)
                self.reader.access.work.owe(detail.units(item))
                for number, kept in sorted(detail.unpack(item).items()):
                    hour = day * DAY_HOURS + number
                    is_asked = span[0] <= hour <= span[1] and self._is_whole(hour)
                    if is_asked and self._is_valid(kept, hour, states):
                        yield hour, kept
                # The days of years are many: other tasks run in between.
                await sleep(0)

    def _is_valid(self, kept: KeptParts[object], hour: int, states: HourStates) -> bool:
        if states.is_in_deletion(hour):
            return False
        if kept.expires is not None and kept.expires * 1000 <= self.now:
            return False
        return kept.generation == states.generation(hour)

    async def read_day(self, day: int, states: HourStates) -> KeptDay:
        """The hours of a day that are kept and valid."""
        key = KEPT_HOURS.key(**self.of.key_values, day=day)
        found = await self.reader.access.table.get([key], consistent=True)
        item = found.items.get(key)
        hours = [None] * DAY_HOURS if item is None else unpack_day(item)
        return [
            entry
            if entry is not None and self._is_valid(entry, day * DAY_HOURS + number, states)
            else None
            for number, entry in enumerate(hours)
        ]

    def _is_whole(self, hour: int) -> bool:
        """Whether the span has the whole hour."""
        return self.low <= hour * HOUR_MS and (hour + 1) * HOUR_MS <= self.high + 1

    async def _build(
        self, detail: Detail[Part_co], first: int, end: int, states: HourStates
    ) -> AsyncGenerator[tuple[int, Part_co]]:
        """Yield the parts of hours that are not kept, up to `end`, and keep what is to be kept."""
        unsettled = await self._first_unsettled_hour() if self._is_over(first) else 0
        keeping = _Keeping(self, states, unsettled, first)
        built: dict[int, BuiltHour] = {}
        try:
            async with aclosing(self._read_samples(first, end, states)) as hours:
                async for hour, entry in hours:
                    if built and hour // DAY_HOURS != min(built) // DAY_HOURS:
                        await keeping.keep(built, hour)
                        built = {}
                    built[hour] = entry
                    for part in detail.build(entry).parts(hour):
                        yield part
        except LimitExceeded:
            await keeping.keep(built, max(built, default=first) + 1)
            raise
        await keeping.keep(built, end)

    async def _read_samples(
        self, first: int, end: int, states: HourStates
    ) -> AsyncGenerator[tuple[int, BuiltHour]]:
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
                        hour, entry = at, BuiltHour(states.generation(at))
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

    reading: HourReading
    states: HourStates
    unsettled: int
    first: int

    async def keep(self, built: Mapping[int, BuiltHour], end: int) -> None:
        """Keep the day of the hours that were built; the hours up to `end` are complete."""
        if not built:
            return
        day = min(built) // DAY_HOURS
        hours = range(max(day * DAY_HOURS, self.first), min((day + 1) * DAY_HOURS, end))
        fresh = {
            hour % DAY_HOURS: built.get(hour) or BuiltHour(self.states.generation(hour))
            for hour in hours
            if self.reading.may_keep(hour, self.states, self.unsettled)
        }
        if not fresh:
            return
        kept: KeptDay = [None] * DAY_HOURS
        if len(fresh) < DAY_HOURS:
            kept = await self.reading.read_day(day, self.states)
        for number, entry in fresh.items():
            kept[number] = entry.keep_hour()
        if samples_in(kept) >= KEPT_SAMPLES:
            await self._write_day(day, kept, fresh)

    async def _write_day(self, day: int, kept: KeptDay, fresh: Mapping[int, BuiltHour]) -> None:
        """Write the hours of a day, unless a deletion begins meanwhile; the reading goes on."""
        values = self.reading.of.key_values
        rows: list[Put | Update] = [
            Put({**KEPT_HOURS.item(**values, day=day), HOURS_FIELD: pack_day(kept)}),
            Update(key=KEPT_MINUTES.key(**values, day=day), set=pack_minutes(fresh)),
        ]
        if numbers := pack_numbers(fresh):
            rows.append(Update(key=KEPT_NUMBERS.key(**values, day=day), set=numbers))
        try:
            await self.reading.reader.access.table.transact([self.states.unchanged, *rows])
        except ConditionFailed:
            logger.info("hours were not kept: samples of their entity are being deleted")
        except Unavailable as error:
            logger.warning("hours could not be kept: %s", error.message)


async def _samples_of(page: Slice[SampledNumber]) -> AsyncIterator[SampledNumber]:
    for _, sample in page.entries:
        yield sample
