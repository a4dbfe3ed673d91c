"""Aggregates of samples by period: of calendar time, or of any length."""

from bisect import bisect_left
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Protocol

import msgspec

from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.reading.number_counts import (
    EXACT,
    MergedCounts,
    NumberCounts,
    exact_counts,
    percentile_at,
)
from penstock.datastore.ngsi.reading.periods import (
    HOUR_SECONDS,
    MINUTE_SECONDS,
    Period,
    Width,
    timestamp_of,
)
from penstock.datastore.ngsi.reading.series import NumberSample
from penstock.datastore.ngsi.reading.summaries import FOLDS, VALUES, Method, NumberSummary

MAX_BUCKETS: Final = 10_000
"""The buckets of an aggregate with those that are empty."""

MAX_FULL_BUCKETS: Final = 100_000
"""The buckets that have samples: minutes that are kept may be those of many years."""


@dataclass(frozen=True, slots=True)
class Aggregation:
    """The method for the samples of each period; `percentile` is that of the method PERCENTILE."""

    method: Method
    period: Period | Width
    percentile: Decimal = Decimal(50)

    @property
    def is_by_hours(self) -> bool:
        """Whether it follows from what is known of whole hours."""
        return self._is_of(HOUR_SECONDS)

    @property
    def part_seconds(self) -> int:
        """The length of the parts of which it is made where there are many samples.

        They are hours, minutes, or nothing but samples (0): only hours have counts of numbers.
        """
        if self.is_by_hours:
            return HOUR_SECONDS
        least = HOUR_SECONDS if self.method is Method.PERCENTILE else MINUTE_SECONDS
        return least if self.shortest >= least else 0

    @property
    def has_edges(self) -> bool:
        """Whether its periods may end within the parts of which it is made."""
        return not self._is_of(self.part_seconds)

    @property
    def shortest(self) -> int:
        """The seconds of a period that is not longer than the others."""
        return self.period.shortest

    def cuts(self, hour: int) -> bool:
        """Whether a period ends within an hour, counted from 1970."""
        first = hour * HOUR_SECONDS
        return self.period.bounds(first)[1] < first + HOUR_SECONDS

    def _is_of(self, seconds: int) -> bool:
        """Whether each period is made of whole parts of so many seconds."""
        return seconds > 0 and self.shortest % seconds == 0


class AggregateBucket(msgspec.Struct, frozen=True):
    """The samples of a period; `value` is None if the method has no result for them.

    The numbers that a percentile lies between are off by `error` of themselves at most. The period
    begins and ends up to `resolution` seconds late where its samples are told by minutes or hours.
    """

    start: str
    samples: int
    value: Decimal | None
    error: Decimal = EXACT
    resolution: int = 0


@dataclass(slots=True)
class _RunningBucket:
    """The period that is being aggregated; its numbers are counted for a percentile."""

    start: int
    end: int
    summary: NumberSummary = field(default_factory=NumberSummary)
    ranked: list[Decimal] = field(default_factory=list)
    counted: MergedCounts | None = None

    def bucket(self, of: Aggregation, rounded: int) -> AggregateBucket:
        """The result; `rounded` are the seconds to which times were rounded down, if they were."""
        start, samples = timestamp_of(self.start), self.summary.samples
        resolution = rounded if rounded and (self.start % rounded or self.end % rounded) else 0
        return AggregateBucket(start, samples, *self._value(of), resolution)

    def _value(self, of: Aggregation) -> tuple[Decimal | None, Decimal]:
        if of.method is not Method.PERCENTILE:
            return VALUES[of.method](self.summary), EXACT
        if self.counted is None:
            return percentile_of(self.ranked, of.percentile), EXACT
        if self.ranked:
            self.counted.add(exact_counts(self.ranked))
        return self.counted.find(of.percentile)


def percentile_of(numbers: Iterable[Decimal], percentile: Decimal) -> Decimal | None:
    """The percentile of numbers, between the two nearest ones; None without numbers."""
    ranked = sorted(numbers)
    return percentile_at(len(ranked), ranked.__getitem__, percentile)


async def aggregate_samples(
    samples: AsyncIterator[NumberSample], of: Aggregation, *, fill: bool = False
) -> list[AggregateBucket]:
    """Aggregate samples that come oldest first; with `fill`, include empty buckets between.

    Raises LimitExceeded beyond MAX_BUCKETS of these, or MAX_FULL_BUCKETS.
    """
    buckets = _BucketList(of, fill)
    ranked = of.method is Method.PERCENTILE
    async for sample in samples:
        buckets.add(sample, ranked=ranked)
    return buckets.close()


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of an aggregate that periods may end in, of so many `seconds`.

    `samples` reads those of one, so that they come into their periods. Without it a part comes into
    the period of its first second.
    """

    seconds: int = 0
    samples: Callable[[int], AsyncIterator[NumberSample]] | None = None

    @property
    def rounded(self) -> int:
        return 0 if self.samples else self.seconds

    def is_cut(self, second: int, end: int) -> bool:
        """Whether a period that ends at a second cuts the part, and its samples are read."""
        return self.samples is not None and second + self.seconds > end


WHOLE: Final = Parts()


class MinuteColumns(Protocol):
    """The minutes of an hour that have samples: their first seconds, and columns of summaries."""

    @property
    def seconds(self) -> Sequence[int]: ...

    def column(self, name: str) -> Sequence[Any]:
        """A field of the summaries of all minutes."""


async def aggregate_minutes(
    hours: AsyncIterator[tuple[int, MinuteColumns]],
    of: Aggregation,
    parts: Parts = WHOLE,
    *,
    fill: bool = False,
) -> list[AggregateBucket]:
    """Aggregate the minutes of hours, as `aggregate_summaries` does single summaries.

    Of each hour only the columns are taken that the method needs.
    """
    buckets, fold = _BucketList(of, fill, parts.rounded), FOLDS[of.method]
    async for _, hour in hours:
        seconds, samples, first = hour.seconds, hour.column("samples"), 0
        columns = [hour.column(name) for name in fold.columns]
        while first < len(seconds):
            running = buckets.at(seconds[first])
            end = behind = bisect_left(seconds, running.end, first)
            if is_cut := parts.is_cut(seconds[end - 1], running.end):
                end -= 1
            running.summary.samples += sum(samples[first:end])
            fold.add(running.summary, *[column[first:end] for column in columns])
            if is_cut and parts.samples is not None:
                async for sample in parts.samples(seconds[end]):
                    buckets.add(sample)
            first = behind
    return buckets.close()


async def aggregate_summaries(
    summaries: AsyncIterator[tuple[int, NumberSummary]], of: Aggregation, *, fill: bool = False
) -> list[AggregateBucket]:
    """Aggregate summaries, each with its first second, as `aggregate_samples` does samples.

    None of them is in two periods, and the method is not PERCENTILE.
    """
    buckets = _BucketList(of, fill)
    async for second, summary in summaries:
        if summary.samples:
            buckets.at(second).summary.add_later(summary)
    return buckets.close()


async def aggregate_counts(
    counts: AsyncIterator[tuple[int, NumberCounts]],
    of: Aggregation,
    parts: Parts = WHOLE,
    *,
    fill: bool = False,
) -> list[AggregateBucket]:
    """Find percentiles by counts of numbers, each with its first second."""
    buckets = _BucketList(of, fill, parts.rounded)
    async for second, counted in counts:
        if not counted.samples:
            continue
        running = buckets.at(second)
        if parts.samples is not None and parts.is_cut(second, running.end):
            async for sample in parts.samples(second):
                buckets.add(sample, ranked=True)
        else:
            running.summary.samples += counted.samples
            if running.counted is None:
                running.counted = MergedCounts()
            running.counted.add(counted)
    return buckets.close()


@dataclass(slots=True)
class _BucketList:
    """The buckets of an aggregate, of which the last is open.

    `rounded` are the seconds to which times were rounded down, 0 if they are exact.
    """

    of: Aggregation
    fill: bool
    rounded: int = 0
    found: list[AggregateBucket] = field(default_factory=list)
    _running: _RunningBucket | None = None

    def at(self, second: int) -> _RunningBucket:
        """The bucket of a second since 1970, which is in the open bucket or behind it."""
        running = self._running
        if running is not None and second < running.end:
            return running
        start, end = self.of.period.bounds(second)
        if running is not None:
            self._put(running)
            if self.fill:
                self._put_empty(running.end, start)
        self._running = _RunningBucket(start, end)
        return self._running

    def add(self, sample: NumberSample, *, ranked: bool = False) -> None:
        """Add a sample to its bucket; its number is `ranked` for a percentile."""
        running = self.at(sample.at // 1000)
        running.summary.add(sample.number)
        if ranked and sample.number is not None:
            running.ranked.append(sample.number)

    def close(self) -> list[AggregateBucket]:
        """Close the open bucket, and return all."""
        if self._running is not None:
            self._put(self._running)
            self._running = None
        return self.found

    def _put(self, bucket: _RunningBucket) -> None:
        self.found.append(bucket.bucket(self.of, self.rounded))
        self._require_few(MAX_FULL_BUCKETS)

    def _put_empty(self, second: int, start: int) -> None:
        """Put the buckets between two others."""
        # Too many are refused before any of them is made: each takes some microseconds.
        self._require_few(MAX_BUCKETS, (start - second) // self.of.period.longest)
        while second < start:
            begin, second = self.of.period.bounds(second)
            self._put(_RunningBucket(begin, second))
            self._require_few(MAX_BUCKETS)

    def _require_few(self, most: int, more: int = 0) -> None:
        if (count := len(self.found) + more) > most:
            raise LimitExceeded("buckets of an aggregate", most, count)
