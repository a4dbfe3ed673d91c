"""Aggregates of samples by period: of calendar time, or of any length."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

import msgspec

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.reading.number_counts import (
    DECIMAL_CONTEXT,
    EXACT,
    MergedCounts,
    NumberCounts,
    percentile_at,
)
from penstock.datastore.ngsi.reading.series import Sample

MAX_BUCKETS: Final = 10_000
"""The buckets of an aggregate with those that are empty."""

MAX_FULL_BUCKETS: Final = 100_000
"""The buckets that have samples: minutes that are kept may be those of many years."""

HOUR_SECONDS: Final = 3600
MINUTE_SECONDS: Final = 60

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECOND: Final = 1 << 40


class Method(StrEnum):
    """An aggregate function over the samples of a period; only COUNT includes non-numbers."""

    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    FIRST = "first"
    LAST = "last"
    PERCENTILE = "percentile"


class Period(StrEnum):
    """A unit of calendar time, in UTC."""

    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    HOUR = "hour"
    MINUTE = "minute"
    SECOND = "second"

    def start(self, moment: datetime) -> datetime:
        """The start of the period that contains a moment."""
        return moment.replace(microsecond=0, **_BEGINNINGS[self])

    def next_start(self, start: datetime) -> datetime:
        """The start of the next period."""
        if self is Period.YEAR:
            return start.replace(year=start.year + 1)
        if self is Period.MONTH:
            years, month = divmod(start.month, 12)
            return start.replace(year=start.year + years, month=month + 1)
        return start + _LENGTHS[self]


_LOWEST = (("month", 1), ("day", 1), ("hour", 0), ("minute", 0), ("second", 0))
_BEGINNINGS: Mapping[Period, dict[str, Any]] = {
    period: dict(_LOWEST[position:]) for position, period in enumerate(Period)
}
_LENGTHS: Mapping[Period, timedelta] = {
    Period.DAY: timedelta(days=1),
    Period.HOUR: timedelta(hours=1),
    Period.MINUTE: timedelta(minutes=1),
    Period.SECOND: timedelta(seconds=1),
}


@dataclass(frozen=True, slots=True)
class Width:
    """A period of any number of seconds, counted from 1970."""

    seconds: int

    def start(self, moment: datetime) -> datetime:
        """The start of the period that contains a moment."""
        # A float of seconds is not exact to the microsecond in far years.
        return moment - (moment - _EPOCH) % timedelta(seconds=self.seconds)

    def next_start(self, start: datetime) -> datetime:
        """The start of the next period."""
        return start + timedelta(seconds=self.seconds)


@dataclass(frozen=True, slots=True)
class Aggregation:
    """The method for the samples of each period; `percentile` is that of the method PERCENTILE."""

    method: Method
    period: Period | Width
    percentile: Decimal = Decimal(50)

    @property
    def is_by_hours(self) -> bool:
        """Whether it follows from what is known of whole hours."""
        if isinstance(self.period, Width):
            return self.period.seconds % HOUR_SECONDS == 0
        return self.period not in (Period.MINUTE, Period.SECOND)

    @property
    def is_by_minutes(self) -> bool:
        """Whether it follows from what is known of whole minutes."""
        if isinstance(self.period, Width):
            return self.period.seconds % MINUTE_SECONDS == 0
        return self.period is not Period.SECOND


class AggregateBucket(msgspec.Struct, frozen=True):
    """The samples of a period; `value` is None if the method has no result for them.

    The numbers that a percentile lies between are off by `error` of themselves at most.
    """

    start: str
    samples: int
    value: Decimal | None
    error: Decimal = EXACT


class NumberSummary(msgspec.Struct, array_like=True):
    """The samples of a stretch of time, as far as every method but PERCENTILE needs them."""

    samples: int = 0
    numbers: int = 0
    total: Decimal = Decimal(0)
    least: Decimal | None = None
    greatest: Decimal | None = None
    first: Decimal | None = None
    last: Decimal | None = None

    def add(self, number: Decimal | None) -> None:
        """Add a sample that is later than all before."""
        self.samples += 1
        if number is None:
            return
        self.numbers += 1
        self.first, self.last = number if self.first is None else self.first, number
        self.total = DECIMAL_CONTEXT.add(self.total, number)
        self.least = number if self.least is None else min(self.least, number)
        self.greatest = number if self.greatest is None else max(self.greatest, number)

    def add_later(self, other: "NumberSummary") -> None:
        """Add the samples of a later stretch of time."""
        self.samples += other.samples
        if other.least is None or other.greatest is None:
            return
        self.numbers += other.numbers
        self.first, self.last = other.first if self.first is None else self.first, other.last
        self.total = DECIMAL_CONTEXT.add(self.total, other.total)
        self.least = other.least if self.least is None else min(self.least, other.least)
        greatest = other.greatest
        self.greatest = greatest if self.greatest is None else max(self.greatest, greatest)


def join_summaries(parts: Iterable[NumberSummary]) -> NumberSummary:
    """The summary of stretches of time that follow each other."""
    joined = NumberSummary()
    for part in parts:
        joined.add_later(part)
    return joined


@dataclass(slots=True)
class _RunningBucket:
    """The period that is being aggregated; its numbers are counted for a percentile."""

    start: datetime
    end: int
    summary: NumberSummary = field(default_factory=NumberSummary)
    ranked: list[Decimal] = field(default_factory=list)
    counted: MergedCounts | None = None

    def bucket(self, of: Aggregation) -> AggregateBucket:
        start, samples = iso_timestamp(self.start), self.summary.samples
        if of.method is not Method.PERCENTILE:
            return AggregateBucket(start, samples, _VALUES[of.method](self.summary))
        if self.counted is not None:
            return AggregateBucket(start, samples, *self.counted.find(of.percentile))
        return AggregateBucket(start, samples, percentile_of(self.ranked, of.percentile))


def percentile_of(numbers: Iterable[Decimal], percentile: Decimal) -> Decimal | None:
    """The percentile of numbers, between the two nearest ones; None without numbers."""
    ranked = sorted(numbers)
    return percentile_at(len(ranked), ranked.__getitem__, percentile)


_VALUES: Mapping[Method, Callable[[NumberSummary], Decimal | None]] = {
    Method.COUNT: lambda found: Decimal(found.samples),
    Method.SUM: lambda found: found.total if found.numbers else None,
    Method.AVG: lambda found: (
        DECIMAL_CONTEXT.divide(found.total, Decimal(found.numbers)) if found.numbers else None
    ),
    Method.MIN: lambda found: found.least,
    Method.MAX: lambda found: found.greatest,
    Method.FIRST: lambda found: found.first,
    Method.LAST: lambda found: found.last,
}


async def aggregate_samples(
    samples: AsyncIterator[Sample], of: Aggregation, *, fill: bool = False
) -> list[AggregateBucket]:
    """Aggregate samples that come oldest first; with `fill`, include empty buckets between.

    Raises LimitExceeded beyond MAX_BUCKETS of these, or MAX_FULL_BUCKETS.
    """
    buckets = _BucketList(of, fill)
    ranked = of.method is Method.PERCENTILE
    async for sample in samples:
        running = buckets.at(sample.at // 1000)
        running.summary.add(sample.number)
        if ranked and sample.number is not None:
            running.ranked.append(sample.number)
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
    counts: AsyncIterator[tuple[int, NumberCounts]], of: Aggregation, *, fill: bool = False
) -> list[AggregateBucket]:
    """Find percentiles by counts of numbers, each with its first second and in one period."""
    buckets = _BucketList(of, fill)
    async for second, counted in counts:
        if counted.samples:
            running = buckets.at(second)
            running.summary.samples += counted.samples
            if running.counted is None:
                running.counted = MergedCounts()
            running.counted.add(counted)
    return buckets.close()


@dataclass(slots=True)
class _BucketList:
    """The buckets of an aggregate, of which the last is open."""

    of: Aggregation
    fill: bool
    found: list[AggregateBucket] = field(default_factory=list)
    _running: _RunningBucket | None = None

    def at(self, second: int) -> _RunningBucket:
        """The bucket of a second since 1970, which is in the open bucket or behind it."""
        if self._running is not None and second < self._running.end:
            return self._running
        start = self.of.period.start(datetime.fromtimestamp(second, UTC))
        if self._running is not None:
            empty = _empty_starts(self._running, start, self.of.period) if self.fill else ()
            _close_bucket(self.found, self._running, self.of, empty)
        self._running = _RunningBucket(start, _end_of(start, self.of.period))
        return self._running

    def close(self) -> list[AggregateBucket]:
        """Close the open bucket, and return all."""
        if self._running is not None:
            _close_bucket(self.found, self._running, self.of, ())
            self._running = None
        return self.found


def _end_of(start: datetime, period: Period | Width) -> int:
    """The second at which a period ends; that of the last year of all is never reached."""
    try:
        return (period.next_start(start) - _EPOCH) // timedelta(seconds=1)
    except (OverflowError, ValueError):
        return _LAST_SECOND


def _empty_starts(
    running: _RunningBucket, start: datetime, period: Period | Width
) -> Iterator[datetime]:
    empty = period.next_start(running.start)
    while empty < start:
        yield empty
        empty = period.next_start(empty)


def _close_bucket(
    found: list[AggregateBucket],
    running: _RunningBucket,
    of: Aggregation,
    empty: Iterable[datetime],
) -> None:
    found.append(running.bucket(of))
    _require_few(found, MAX_FULL_BUCKETS)
    for start in empty:
        found.append(_RunningBucket(start, 0).bucket(of))
        _require_few(found, MAX_BUCKETS)


def _require_few(found: Sequence[AggregateBucket], most: int) -> None:
    if len(found) > most:
        raise LimitExceeded("buckets of an aggregate", most, len(found))
