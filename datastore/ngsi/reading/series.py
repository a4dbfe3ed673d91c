"""Samples read back: a series between two times, and its latest sample."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final, Protocol

import msgspec
from msgspec import structs

from penstock.datastore.access.work import WorkAccount, large_value_units
from penstock.datastore.clock import Clock
from penstock.datastore.errors import LimitExceeded, Unreadable
from penstock.datastore.ngsi.destinations import Destinations, TableKey
from penstock.datastore.ngsi.directory import Attribute, series_partition
from penstock.datastore.ngsi.large_values import (
    ROW_VALUE,
    LargeValues,
    StoredValue,
    stored_values,
    value_text,
)
from penstock.datastore.ngsi.options import Persistence
from penstock.datastore.ngsi.rows import (
    COLLISIONS_FIELD,
    METADATA_SUFFIX,
    RESERVED_FIELDS,
    arrival_of,
    is_row_item,
    recv_time,
)
from penstock.datastore.table import limits
from penstock.datastore.table.instrumentation import NO_PAYMENTS, MeteredQueries, Payments, Units
from penstock.datastore.table.items import load, read_or_report
from penstock.datastore.table.merged_pages import QueryRange, read_merged_page
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.table.port import TTL, Attributes, Query, Range, Value

LAST_MS: Final = 253_402_300_799_999
"""The end of the year 9999, behind which there are no times."""

WHOLE_PAGE: Final = 1000
READ_BYTES: Final = 4 * 1024 * 1024
"""The bytes of large values that a page holds, unless its first one is larger."""

MAX_NUMBER_TEXT: Final = 1_000
"""The longest text that is read as a number: 38 digits and the zeros around them are shorter."""

_AFTER_ALL_IDS = "~"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHORT_NUMBER = 38
"""The characters up to which a number without an exponent has as many digits as a table holds."""

_NUMBER = re.compile(
    r'(?P<quote>"?)(?P<number>-?(?:0|[1-9]\d*)(?:\.\d+)?(?P<exponent>[eE][+-]?\d{1,4})?)(?P=quote)',
    re.ASCII,
)


class Sample(msgspec.Struct, frozen=True):
    """A value at a time of an event, in milliseconds since 1970; text None is null.

    `number` is None if the value is not a number of at most 38 digits; `metadata` is a JSON
    array. `type` is None where samples of several attributes share an item, which has no types.
    `arrived` is the time of arrival, None if it is the same. A text that was not read yet is
    `stored` in a file. The sample `expires` at a second, or never.
    """

    at: int
    text: str | None
    number: Decimal | None
    metadata: str
    type: str | None = None
    arrived: int | None = None
    stored: StoredValue | None = None
    expires: int | None = None

    @property
    def time(self) -> str:
        return recv_time(self.at)

    @property
    def recv_time(self) -> str:
        return recv_time(self.at if self.arrived is None else self.arrived)


class NumberSample(Protocol):
    """The part of a sample that aggregates and charts need; see `Sample`."""

    @property
    def at(self) -> int: ...

    @property
    def number(self) -> Decimal | None: ...

    @property
    def expires(self) -> int | None: ...


class SampledNumber(msgspec.Struct, frozen=True):
    """A sample without all that aggregates and charts do not need."""

    at: int
    number: Decimal | None
    expires: int | None = None


class _StoredNumber(msgspec.Struct, frozen=True, rename={"value": ROW_VALUE, "expires": TTL}):
    """The attributes of the item of a sample that its number takes."""

    value: Any
    expires: Any = None


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """Times from `start`, inclusive, to `end`, exclusive."""

    start: datetime | None = None
    end: datetime | None = None

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The first and the last millisecond; None if the span is empty."""
        low = 0 if self.start is None else max(milliseconds_of(self.start), 0)
        high = LAST_MS if self.end is None else min(milliseconds_of(self.end) - 1, LAST_MS)
        return (low, high) if low <= high else None


ALL_TIMES: Final = TimeSpan()


@dataclass(frozen=True, slots=True)
class SeriesReader:
    """Reads series from the tables that hold their samples; `units` adds up the cost.

    `payments` learn of each query.

    Samples that have expired are left out: the store removes them days later.
    """

    destinations: Destinations
    rounds: int
    units: Units
    clock: Clock
    values: LargeValues
    work: WorkAccount
    payments: Payments = NO_PAYMENTS

    async def page(
        self, of: Attribute, span: TimeSpan, window: Window, *, newest_first: bool = False
    ) -> Slice[Sample]:
        """List samples by time: `pk = <series>`, `sk` between two times, in each of its tables."""
        descending = newest_first is not window.backward
        lanes = self._table_lanes(of, span, descending=descending)
        read = partial(_read_sample, of.name)
        return await self._read_texts(
            await read_merged_page(lanes, window, self.rounds, read), window
        )

    async def page_of_numbers(
        self, of: Attribute, span: TimeSpan, window: Window
    ) -> Slice[SampledNumber]:
        """List the numbers of samples as `page` does them, oldest first."""
        lanes = self._table_lanes(of, span, descending=window.backward)
        return await read_merged_page(lanes, window, self.rounds, partial(_read_number, of.name))

    async def _read_texts(self, page: Slice[Sample], window: Window) -> Slice[Sample]:
        """Read the texts of a page that lie in files; beyond READ_BYTES the page ends early."""
        entries, size = list[tuple[str, Sample]](), 0
        for place, sample in reversed(page.entries) if window.backward else page.entries:
            stored = sample.stored
            if stored is None:
                entries.append((place, sample))
                continue
            if size and size + stored.size > READ_BYTES:
                ordered = reversed(entries) if window.backward else entries
                return Slice(tuple(ordered), True, entries[-1][0])
            size += stored.size
            entries.append((place, await self._read_text(sample)))
        ordered = reversed(entries) if window.backward else entries
        return replace(page, entries=tuple(ordered))

    async def get_items(self, keys: Sequence[TableKey]) -> Mapping[TableKey, Attributes]:
        """Get up to 100 items of any tables in one call, also those that have expired."""
        self.payments.begin_call()
        self.units.calls += 1
        batch = await self.destinations.get(keys)
        self.units.rcu += batch.units
        self.payments.end_call()
        return batch.items

    def is_readable(self, item: Attributes, name: str, persistence: Persistence) -> bool:
        """Whether an item holds the attribute and has not expired."""
        now = int(self.clock.now().timestamp())
        return _readable_filter(name, persistence, now)(item)

    async def read_item(self, item: Attributes, name: str) -> Sample | None:
        """The sample of an attribute in an item, with its text; None if it cannot be read."""
        sample = read_or_report(partial(_read_sample, name), item)
        return None if isinstance(sample, Unreadable) else await self._read_text(sample)

    async def _read_text(self, sample: Sample) -> Sample:
        """Read the text of a sample if it lies in a file."""
        stored = sample.stored
        if stored is None:
            return sample
        self.work.spend_more(large_value_units(stored.size))
        return structs.replace(sample, text=await self.values.read(stored), stored=None)

    async def latest(self, of: Attribute) -> Sample | None:
        """The newest sample: one query for each table of the series, usually one."""
        found = await self.newest(of)
        return None if found is None else found[1]

    async def newest(self, of: Attribute) -> tuple[str, Sample] | None:
        """The newest sample with its sort key.

        Of a series in one table the newest item is read. Only where it is not the sample, because
        it has expired, or lacks the attribute, a page is read.
        """
        lanes = list(self._table_lanes(of, ALL_TIMES, descending=True))
        if len(lanes) == 1:
            newest = await lanes[0].table.query(replace(lanes[0].query, limit=1))
            if not newest.items:
                return None
            (item,) = newest.items
            sample = await self.read_item(item, of.name) if lanes[0].is_wanted(item) else None
            if sample is not None:
                return str(item["sk"]), sample
        found = await self.page(of, ALL_TIMES, Window(size=1), newest_first=True)
        return found.entries[0] if found.entries else None

    def _table_lanes(self, of: Attribute, span: TimeSpan, *, descending: bool) -> list[QueryRange]:
        bounds = span.bounds
        if bounds is None:
            return []
        lanes = []
        for persistence, name in of.places:
            query = Query(
                partition=series_partition(of, persistence),
                range=series_range(*bounds),
                descending=descending,
            )
            keep = _readable_filter(of.name, persistence, int(self.clock.now().timestamp()))
            table = MeteredQueries(self.destinations.table(name), self.units, self.payments)
            lanes.append(QueryRange(table, query, keep))
        return lanes


def series_range(low: int, high: int) -> Range:
    """The sort keys of samples between two times in milliseconds, both inclusive."""
    return Range("", f"{low:015d}:", f"{high:015d}:{_AFTER_ALL_IDS}")


def _readable_filter(name: str, persistence: Persistence, now: int) -> Callable[[Attributes], bool]:
    """A filter for items that hold the attribute and have not expired."""
    if persistence is Persistence.ROW:
        return lambda item: not _is_expired(item, now)
    return lambda item: not _is_expired(item, now) and attribute_columns(item, name) is not None


def _is_expired(item: Attributes, now: int) -> bool:
    until = _expiry(item)
    return until is not None and until <= now


def _expiry(item: Attributes) -> int | None:
    # `get` would decode the whole of an item without it.
    return _second_of(item[TTL]) if TTL in item else None


def _second_of(until: Value) -> int | None:
    return int(until) if isinstance(until, int | Decimal) else None


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
    is_row = is_row_item(item)
    found = (item[ROW_VALUE], item["attrMd"]) if is_row else attribute_columns(item, name)
    value, metadata = found or (None, "[]")
    return Sample(
        at,
        value_text(value),
        number_of(value),
        str(metadata),
        str(item["attrType"]) if is_row and "attrType" in item else None,
        _arrival_beside(at, item),
        stored_values(item).get(ROW_VALUE if is_row else name),
        _expiry(item),
    )


def _read_number(name: str, item: Attributes) -> SampledNumber:
    at = int(str(item["sk"]).partition(":")[0])
    if is_row_item(item):
        found = load(_StoredNumber, item)
        return SampledNumber(at, number_of(found.value), _second_of(found.expires))
    columns = attribute_columns(item, name)
    return SampledNumber(at, number_of(None if columns is None else columns[0]), _expiry(item))


def _arrival_beside(at: int, item: Attributes) -> int | None:
    """The time of arrival, unless it is that of the event, or the item says none."""
    if item.get("recvTime") == recv_time(at):
        return None
    try:
        arrived = arrival_of(item)
    except ValueError:
        return None
    return None if arrived == at else arrived


def number_of(value: Value) -> Decimal | None:
    """The number in a value or in a text, which Cygnus puts in quotes; None if there is none."""
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value) if len(value) <= MAX_NUMBER_TEXT else None
        if found is None:
            return None
        value = found["number"]
        if len(value) <= _SHORT_NUMBER and found["exponent"] is None:
            return Decimal(value)
    elif isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    number = Decimal(value)
    try:
        limits.value_size(number)
    except LimitExceeded:
        return None
    return number


def milliseconds_of(moment: datetime) -> int:
    """The milliseconds from 1970 to a moment."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def moment_of(at: int) -> datetime:
    """The moment of a time in milliseconds since 1970."""
    return _EPOCH + timedelta(milliseconds=at)
