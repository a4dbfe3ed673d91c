"""Samples read back: a series between two times, its latest sample, aggregates by period.

A series can also be followed: new samples are yielded as they are stored, by any server.
"""

import logging
import re
from asyncio import sleep
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from enum import StrEnum
from functools import partial
from typing import Any, Final

import msgspec

from penstock.datastore.access.work import WorkAccount
from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.errors import LimitExceeded, PenstockError, RateLimited
from penstock.datastore.ngsi.destinations import Destinations
from penstock.datastore.ngsi.directory import Attribute
from penstock.datastore.ngsi.options import Persistence
from penstock.datastore.ngsi.rows import (
    COLLISIONS_FIELD,
    COLUMN_SERIES,
    METADATA_SUFFIX,
    RESERVED_FIELDS,
    ROW_SERIES,
    recv_time,
)
from penstock.datastore.table import limits
from penstock.datastore.table.instrumentation import MeteredQueries, Units
from penstock.datastore.table.pages import (
    QueryRange,
    Slice,
    Window,
    read_merged_page,
    walk_pages,
)
from penstock.datastore.table.port import TTL, Attributes, Query, Range, Value

LAST_MS: Final = 10**15 - 1
WHOLE_PAGE: Final = 1000

_AFTER_ALL_IDS = "~"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(
    r'(?P<quote>"?)(?P<number>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,4})?)(?P=quote)', re.ASCII
)
_encode = msgspec.json.Encoder(decimal_format="number").encode


class Sample(msgspec.Struct, frozen=True):
    """A value at a time, in milliseconds since 1970; text None is null.

    `number` is None if the value is not a number of at most 38 digits; `metadata` is a JSON
    array.
    """

    at: int
    text: str | None
    number: Decimal | None
    metadata: str

    @property
    def recv_time(self) -> str:
        return recv_time(self.at)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Times from `start`, inclusive, to `end`, exclusive."""

    start: datetime | None = None
    end: datetime | None = None

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The first and the last millisecond; None if the span is empty."""
        low = 0 if self.start is None else max(_milliseconds(self.start), 0)
        high = LAST_MS if self.end is None else min(_milliseconds(self.end) - 1, LAST_MS)
        return (low, high) if low <= high else None


ALL_TIMES: Final = TimeSpan()


@dataclass(frozen=True, slots=True)
class SeriesReader:
    """Reads series from the tables that hold their samples; `units` adds up the cost.

    Samples that have expired are left out: the store removes them days later.
    """

    destinations: Destinations
    rounds: int
    units: Units
    clock: Clock

    async def page(
        self, of: Attribute, span: TimeSpan, window: Window, *, newest_first: bool = False
    ) -> Slice[Sample]:
        """List samples by time: `pk = <series>`, `sk` between two times, in each of its tables."""
        descending = newest_first is not window.backward
        lanes = list(self._table_lanes(of, span, descending=descending))
        return await read_merged_page(lanes, window, self.rounds, partial(_read_sample, of.name))

    async def latest(self, of: Attribute) -> Sample | None:
        """The newest sample: one query for each table of the series, usually one."""
        found = await self.page(of, ALL_TIMES, Window(size=1), newest_first=True)
        return found.entries[0][1] if found.entries else None

    async def walk_samples(self, of: Attribute, span: TimeSpan) -> AsyncIterator[Sample]:
        """Yield every sample between two times, oldest first."""
        async for sample in walk_pages(partial(self.page, of, span), WHOLE_PAGE):
            yield sample

    def _table_lanes(self, of: Attribute, span: TimeSpan, *, descending: bool) -> list[QueryRange]:
        bounds = span.bounds
        if bounds is None:
            return []
        low, high = f"{bounds[0]:015d}:", f"{bounds[1]:015d}:{_AFTER_ALL_IDS}"
        lanes = []
        for persistence, name in of.places:
            query = Query(
                partition=_partition(of, persistence),
                range=Range("", low, high),
                descending=descending,
            )
            keep = _readable_filter(of.name, persistence, int(self.clock.now().timestamp()))
            table = MeteredQueries(self.destinations.table(name), self.units)
            lanes.append(QueryRange(table, query, keep))
        return lanes


def _partition(of: Attribute, persistence: Persistence) -> str:
    entity = of.entity
    values = {
        "service": entity.service,
        "path": entity.path,
        "entity": entity.entity_id,
        "type": entity.entity_type,
        "attribute": of.name,
    }
    row = ROW_SERIES if persistence is Persistence.ROW else COLUMN_SERIES
    return row.pk.fill(values)


def _readable_filter(name: str, persistence: Persistence, now: int) -> Callable[[Attributes], bool]:
    """A filter for items that hold the attribute and have not expired."""
    if persistence is Persistence.ROW:
        return lambda item: not _is_expired(item, now)
    return lambda item: not _is_expired(item, now) and attribute_columns(item, name) is not None


def _is_expired(item: Attributes, now: int) -> bool:
    until = item.get(TTL)
    return isinstance(until, int | Decimal) and until <= now


def attribute_columns(item: Attributes, name: str) -> tuple[Value, Value] | None:
    """The value and the metadata of an attribute in a column item; None if it is not there."""
    metadata = name + METADATA_SUFFIX
    aside = item.get(COLLISIONS_FIELD)
    for held in (aside if isinstance(aside, dict) else {}, item):
        if name in held and metadata in held and (held is not item or name not in RESERVED_FIELDS):
            return held[name], held[metadata]
    return None


def _read_sample(name: str, item: Attributes) -> Sample:
    at = int(str(item["sk"]).partition(":")[0])
    is_row = str(item["pk"]).count(":") == ROW_SERIES.pk.text.count(":")
    found = (item["attrValue"], item["attrMd"]) if is_row else attribute_columns(item, name)
    value, metadata = found or (None, "[]")
    return Sample(at, _value_text(value), number_of(value), str(metadata))


def _value_text(value: Value) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return _encode(value).decode()


def number_of(value: Value) -> Decimal | None:
    """The number in a value or in a text, which Cygnus puts in quotes; None if there is none."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        return None
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value)
        if found is None:
            return None
        value = found["number"]
    number = Decimal(value)
    try:
        limits.value_size(number)
    except LimitExceeded:
        return None
    return number


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


MAX_SAMPLES: Final = 100_000
MAX_BUCKETS: Final = 10_000

_DECIMAL_CONTEXT = Context(prec=38)


class Method(StrEnum):
    """An aggregate function over the samples of a period; only COUNT includes non-numbers."""

    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"


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


class AggregateBucket(msgspec.Struct, frozen=True):
    """The samples of a period; `value` is None if the method has no result for them."""

    start: str
    samples: int
    value: Decimal | None


@dataclass(slots=True)
class _RunningBucket:
    """The period that is being aggregated."""

    start: datetime
    samples: int = 0
    numbers: int = 0
    total: Decimal = Decimal(0)
    least: Decimal | None = None
    greatest: Decimal | None = None

    def add(self, number: Decimal | None) -> None:
        self.samples += 1
        if number is None:
            return
        self.numbers += 1
        self.total = _DECIMAL_CONTEXT.add(self.total, number)
        self.least = number if self.least is None else min(self.least, number)
        self.greatest = number if self.greatest is None else max(self.greatest, number)

    def bucket(self, method: Method) -> AggregateBucket:
        return AggregateBucket(iso_timestamp(self.start), self.samples, _VALUES[method](self))


_VALUES: Mapping[Method, Callable[[_RunningBucket], Decimal | None]] = {
    Method.COUNT: lambda found: Decimal(found.samples),
    Method.SUM: lambda found: found.total if found.numbers else None,
    Method.AVG: lambda found: (
        _DECIMAL_CONTEXT.divide(found.total, Decimal(found.numbers)) if found.numbers else None
    ),
    Method.MIN: lambda found: found.least,
    Method.MAX: lambda found: found.greatest,
}


async def aggregate_samples(
    samples: AsyncIterator[Sample], method: Method, period: Period, *, fill: bool = False
) -> list[AggregateBucket]:
    """Aggregate samples that come oldest first; with `fill`, include empty buckets between.

    Raises LimitExceeded beyond 100,000 samples or 10,000 buckets.
    """
    found: list[AggregateBucket] = []
    running: _RunningBucket | None = None
    count = 0
    async for sample in samples:
        count += 1
        if count > MAX_SAMPLES:
            raise LimitExceeded("samples of an aggregate", MAX_SAMPLES, count)
        start = period.start(datetime.fromtimestamp(sample.at // 1000, UTC))
        if running is None or start != running.start:
            if running is not None:
                _close_bucket(
                    found, running, method, _empty_starts(running, start, period) if fill else ()
                )
            running = _RunningBucket(start)
        running.add(sample.number)
    if running is not None:
        _close_bucket(found, running, method, ())
    return found


def _empty_starts(running: _RunningBucket, start: datetime, period: Period) -> Iterator[datetime]:
    empty = period.next_start(running.start)
    while empty < start:
        yield empty
        empty = period.next_start(empty)


def _close_bucket(
    found: list[AggregateBucket], running: _RunningBucket, method: Method, empty: Iterable[datetime]
) -> None:
    found.append(running.bucket(method))
    for start in empty:
        found.append(_RunningBucket(start).bucket(method))
        if len(found) > MAX_BUCKETS:
            raise LimitExceeded("buckets of an aggregate", MAX_BUCKETS, len(found))


MAX_STORAGE_DELAY = timedelta(minutes=1)
"""The longest delay between arrival and storage with which a follower still sees a sample."""

RECENT_PAGE = 100

LOOK_UNITS: Final = 4
"""Units of looking for new samples of a series: it takes as long as reading four objects."""

logger = logging.getLogger("penstock.ngsi")


async def follow_series(
    series: SeriesReader, clock: Clock, of: Attribute, seconds: float, work: WorkAccount
) -> AsyncIterator[Sample]:
    """Yield the latest sample, then each new one; look for new samples every `seconds` seconds.

    Each look costs LOOK_UNITS. A caller who cannot pay for it hears of the samples later.
    """
    # In this order a sample stored between the two reads is yielded; reversed, it would be lost.
    looked_at = clock.now()
    known = {sk for sk, _ in await _samples_since(series, looked_at, of)}
    latest = await series.latest(of)
    if latest is not None:
        yield latest
    while True:
        await sleep(seconds)
        looking_at = clock.now()
        try:
            work.spend_more(LOOK_UNITS)
            recent = await _samples_since(series, looked_at, of)
        except RateLimited:
            continue
        except PenstockError as error:
            logger.warning("a series could not be read: %s", error.message)
            continue
        for sk, sample in recent:
            if sk not in known:
                yield sample
        known, looked_at = {sk for sk, _ in recent}, looking_at


async def _samples_since(
    series: SeriesReader, looked_at: datetime, of: Attribute
) -> list[tuple[str, Sample]]:
    """The samples with their sort keys that may have come since a look, oldest first."""
    span = TimeSpan(start=looked_at - MAX_STORAGE_DELAY)
    found: list[tuple[str, Sample]] = []
    window = Window(size=RECENT_PAGE)
    while True:
        page = await series.page(of, span, window)
        found += page.entries
        if not page.more:
            return found
        window = Window(size=RECENT_PAGE, after=page.reached)
