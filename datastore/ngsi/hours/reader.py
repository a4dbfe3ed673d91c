"""Aggregates of many samples, by hours that are kept once they were read.

An hour is kept when it is over, no segment that is not settled can hold a sample of it, and its day
has so many samples that reading it again would cost more. The rest is read from the samples.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import filling_units
from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.directory import Attribute
from penstock.datastore.ngsi.event_times import HOUR_MS, MAX_AHEAD
from penstock.datastore.ngsi.hours.day_keeper import ReadSpan
from penstock.datastore.ngsi.hours.generations import DAY_HOURS, kept_query
from penstock.datastore.ngsi.hours.hour_reading import HourReading
from penstock.datastore.ngsi.hours.kept_hours import (
    HOURS,
    MINUTES,
    NUMBERS,
    KeptDay,
    day_of,
    minutes_where,
    samples_in,
    unpack_day,
)
from penstock.datastore.ngsi.hours.paid_samples import PaidSamples
from penstock.datastore.ngsi.reading import charts
from penstock.datastore.ngsi.reading.aggregates import (
    WHOLE,
    AggregateBucket,
    Aggregation,
    aggregate_counts,
    aggregate_minutes,
    aggregate_samples,
    aggregate_summaries,
)
from penstock.datastore.ngsi.reading.charts import ChartReader
from penstock.datastore.ngsi.reading.series import (
    NumberSample,
    SampledNumber,
    SeriesReader,
    TimeSpan,
    milliseconds_of,
)
from penstock.datastore.ngsi.reading.summaries import Method
from penstock.datastore.table.layout import KEPT_HOURS
from penstock.datastore.table.pages import Slice, Window, query_items

FIRST_PAGE: Final = 200
"""The samples up to which a span is read as it is."""

DAY_MS: Final = DAY_HOURS * HOUR_MS


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

    @property
    def _samples(self) -> PaidSamples:
        return PaidSamples(self.access, self.series)

    async def begin(
        self, of: Attribute, span: TimeSpan
    ) -> tuple[Slice[SampledNumber], HourReading | None]:
        """Read the first samples of a span; return them, and the reading of its hours.

        It is None if these were all samples.
        """
        self.access.work.spend_more(1)
        first = await self._samples.read_page(of, span, Window(size=FIRST_PAGE))
        if not first.more or span.bounds is None:
            return first, None
        low, high = span.bounds
        if first.entries:
            low = max(low, first.entries[0][1].at // HOUR_MS * HOUR_MS)
        now = milliseconds_of(self.access.clock.now())
        read = ReadSpan(low, min(high, now + MAX_AHEAD), now)
        return first, HourReading(self._samples, of, read)

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
        span = ReadSpan(first * HOUR_MS, end * HOUR_MS - 1, now)
        reading = HourReading(self._samples, of, span)
        async with aclosing(reading.read(HOURS)) as hours:
            async for _ in hours:
                pass
        return reading.count


async def _samples_of(page: Slice[SampledNumber]) -> AsyncIterator[SampledNumber]:
    for _, sample in page.entries:
        yield sample
