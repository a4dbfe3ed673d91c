"""Aggregates of samples by period: of calendar time, or of any length."""

from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, Protocol

import msgspec

from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.reading.number_counts import (
    DECIMAL_CONTEXT,
    EXACT,
    MergedCounts,
    NumberCounts,
    exact_counts,
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

    def bounds(self, second: int) -> tuple[int, int]:
        """The first second of the period that contains a second, and that of the next one.

        The last period of all has no next one.
        """
        start = self.start(datetime.fromtimestamp(second, UTC))
        try:
            return _second_of(start), _second_of(self.next_start(start))
        except (OverflowError, ValueError):
            return _second_of(start), _LAST_SECOND

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
_SHORTEST: Mapping[Period, int] = {
    Period.YEAR: 365 * 86_400,
    Period.MONTH: 28 * 86_400,
    Period.DAY: 86_400,
    Period.HOUR: HOUR_SECONDS,
    Period.MINUTE: MINUTE_SECONDS,
    Period.SECOND: 1,
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

    def bounds(self, second: int) -> tuple[int, int]:
        """The first second of the period that contains a second, and that of the next one."""
        start = second - second % self.seconds
        return start, start + self.seconds


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
        if isinstance(self.period, Width):
            return self.period.seconds
        return _SHORTEST[self.period]

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

    start: int
    end: int
    summary: NumberSummary = field(default_factory=NumberSummary)
    ranked: list[Decimal] = field(default_factory=list)
    counted: MergedCounts | None = None

    def bucket(self, of: Aggregation, rounded: int) -> AggregateBucket:
        """The result; `rounded` are the seconds to which times were rounded down, if they were."""
        start, samples = _timestamp_of(self.start), self.summary.samples
        resolution = rounded if rounded and (self.start % rounded or self.end % rounded) else 0
        return AggregateBucket(start, samples, *self._value(of), resolution)

    def _value(self, of: Aggregation) -> tuple[Decimal | None, Decimal]:
        if of.method is not Method.PERCENTILE:
            return _VALUES[of.method](self.summary), EXACT
        if self.counted is None:
            return percentile_of(self.ranked, of.percentile), EXACT
        if self.ranked:
            self.counted.add(exact_counts(Counter(self.ranked)))
        return self.counted.find(of.percentile)


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
        buckets.add(sample, ranked=ranked)
    return buckets.close()


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of an aggregate that periods may end in, of so many `seconds`.

    `samples` reads those of one, so that they come into their periods. Without it a part comes into
    the period of its first second.
    """

    seconds: int = 0
    samples: Callable[[int], AsyncIterator[Sample]] | None = None

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
    buckets, fold = _BucketList(of, fill, parts.rounded), _FOLDS[of.method]
    async for _, hour in hours:
        seconds, samples, first = hour.seconds, hour.column("samples"), 0
        columns = [hour.column(name) for name in fold.columns]
        while first < len(seconds):
            running = buckets.at(seconds[first])
            end = behind = bisect_left(seconds, running.end, first)
            if is_cut := parts.is_cut(seconds[end - 1], running.end):
                end -= 1
            running.summary.samples += sum(samples[first:end])
            fold.add(running.summary, *(column[first:end] for column in columns))
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


def _add_totals(summary: NumberSummary, numbers: Sequence[int], totals: Sequence[Decimal]) -> None:
    total, add = summary.total, DECIMAL_CONTEXT.add
    for count, each in zip(numbers, totals, strict=True):
        if count:
            summary.numbers += count
            total = add(total, each)
    summary.total = total


def _add_least(summary: NumberSummary, least: Sequence[Decimal | None]) -> None:
    if found := [each for each in (summary.least, *least) if each is not None]:
        summary.least = min(found)


def _add_greatest(summary: NumberSummary, greatest: Sequence[Decimal | None]) -> None:
    if found := [each for each in (summary.greatest, *greatest) if each is not None]:
        summary.greatest = max(found)


def _add_first(summary: NumberSummary, firsts: Sequence[Decimal | None]) -> None:
    if summary.first is None:
        summary.first = next((each for each in firsts if each is not None), None)


def _add_last(summary: NumberSummary, lasts: Sequence[Decimal | None]) -> None:
    summary.last = next((each for each in reversed(lasts) if each is not None), summary.last)


def _add_nothing(_: NumberSummary) -> None:
    """Add nothing: the number of samples is enough."""


@dataclass(frozen=True, slots=True)
class _Fold:
    """The columns of summaries that a method needs, and how it adds a part of them."""

    add: Callable[..., None]
    columns: tuple[str, ...] = ()


_TOTALS: Final = _Fold(_add_totals, ("numbers", "total"))
_FOLDS: Final[Mapping[Method, _Fold]] = {
    Method.COUNT: _Fold(_add_nothing),
    Method.SUM: _TOTALS,
    Method.AVG: _TOTALS,
    Method.MIN: _Fold(_add_least, ("least",)),
    Method.MAX: _Fold(_add_greatest, ("greatest",)),
    Method.FIRST: _Fold(_add_first, ("first",)),
    Method.LAST: _Fold(_add_last, ("last",)),
}


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

    def add(self, sample: Sample, *, ranked: bool = False) -> None:
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
        while second < start:
            begin, second = self.of.period.bounds(second)
            self._put(_RunningBucket(begin, second))
            self._require_few(MAX_BUCKETS)

    def _require_few(self, most: int) -> None:
        if len(self.found) > most:
            raise LimitExceeded("buckets of an aggregate", most, len(self.found))


def _second_of(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(seconds=1)


def _timestamp_of(second: int) -> str:
    """A second as `iso_timestamp` writes it."""
    return f"{datetime.fromtimestamp(second, UTC).isoformat()[:19]}.000Z"
