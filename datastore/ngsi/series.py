"""Samples read back: a series between two times, its latest, and what it amounts to by period."""

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Final

import msgspec

from penstock.datastore import sizes
from penstock.datastore.errors import LimitExceeded
from penstock.datastore.lanes import Lane, read_lanes
from penstock.datastore.metered import MeteredQueries, Units
from penstock.datastore.ngsi.directory import Attribute
from penstock.datastore.ngsi.options import Persistence
from penstock.datastore.ngsi.rows import (
    ASIDE,
    COLUMN_SERIES,
    METADATA_SUFFIX,
    ROW_SERIES,
    TAKEN,
    recv_time,
)
from penstock.datastore.ngsi.samples import Destinations
from penstock.datastore.slices import Slice, Window
from penstock.datastore.table import Attributes, Query, Range, Value

LAST_MS: Final = 10**15 - 1
WHOLE_PAGE: Final = 1000

_BEHIND = "~"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(
    r'(?P<quote>"?)(?P<number>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,4})?)(?P=quote)', re.ASCII
)
_encode = msgspec.json.Encoder(decimal_format="number").encode


class Sample(msgspec.Struct, frozen=True):
    """A value at a time, in milliseconds since 1970; text None is null.

    `number` is None where it is no number of at most 38 digits; `metadata` is an array in JSON.
    """

    at: int
    text: str | None
    number: Decimal | None
    metadata: str

    @property
    def recv_time(self) -> str:
        return recv_time(self.at)


@dataclass(frozen=True, slots=True)
class Span:
    """Times from `start`, inclusive, to `end`, exclusive."""

    start: datetime | None = None
    end: datetime | None = None

    @property
    def bounds(self) -> tuple[int, int] | None:
        """The first and the last millisecond; None where there is none between."""
        low = 0 if self.start is None else max(_ms(self.start), 0)
        high = LAST_MS if self.end is None else min(_ms(self.end) - 1, LAST_MS)
        return (low, high) if low <= high else None


ALL_TIMES: Final = Span()


@dataclass(frozen=True, slots=True)
class SeriesReading:
    """Reads series from wherever their samples lie; `units` counts what that costs."""

    destinations: Destinations
    rounds: int
    units: Units

    async def page(
        self, of: Attribute, span: Span, window: Window, *, newest_first: bool = False
    ) -> Slice[Sample]:
        """List samples by time: `pk = <series>`, `sk` between two times, in each of its tables."""
        descending = newest_first is not window.backward
        lanes = list(self._lanes(of, span, descending=descending))
        found = await read_lanes(lanes, window, self.rounds)
        return found.map([_sample(of.name, item) for _, item in found.entries])

    async def latest(self, of: Attribute) -> Sample | None:
        """The newest sample: one query of each of its tables, in general of one."""
        found = await self.page(of, ALL_TIMES, Window(size=1), newest_first=True)
        return found.entries[0][1] if found.entries else None

    async def walk(self, of: Attribute, span: Span) -> AsyncIterator[Sample]:
        """Every sample between two times, oldest first."""
        window: Window | None = Window(size=WHOLE_PAGE)
        while window is not None:
            found = await self.page(of, span, window)
            for _, sample in found.entries:
                yield sample
            window = Window(size=WHOLE_PAGE, after=found.reached) if found.more else None

    def _lanes(self, of: Attribute, span: Span, *, descending: bool) -> list[Lane]:
        bounds = span.bounds
        if bounds is None:
            return []
        low, high = f"{bounds[0]:015d}:", f"{bounds[1]:015d}:{_BEHIND}"
        lanes = []
        for persistence, name in of.places:
            query = Query(
                partition=_partition(of, persistence),
                range=Range("", low, high),
                descending=descending,
            )
            keep = None if persistence is Persistence.ROW else _holds(of.name)
            table = MeteredQueries(self.destinations.table(name), self.units)
            lanes.append(Lane(table, query, keep))
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


def _holds(name: str) -> Callable[[Attributes], bool]:
    return lambda item: _column(item, name) is not None


def _column(item: Attributes, name: str) -> tuple[Value, Value] | None:
    """The value and the metadata of an attribute in an item of columns; None where it has none."""
    metadata = name + METADATA_SUFFIX
    aside = item.get(ASIDE)
    for held in (aside if isinstance(aside, dict) else {}, item):
        if name in held and metadata in held and (held is not item or name not in TAKEN):
            return held[name], held[metadata]
    return None


def _sample(name: str, item: Attributes) -> Sample:
    at = int(str(item["sk"]).partition(":")[0])
    is_row = str(item["pk"]).count(":") == ROW_SERIES.pk.text.count(":")
    found = (item["attrValue"], item["attrMd"]) if is_row else _column(item, name)
    value, metadata = found or (None, "[]")
    return Sample(at, _text(value), number_of(value), str(metadata))


def _text(value: Value) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return _encode(value).decode()


def number_of(value: Value) -> Decimal | None:
    """The number that a value is, or that its text says; Cygnus puts that in quotes."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        return None
    if isinstance(value, str):
        found = _NUMBER.fullmatch(value)
        if found is None:
            return None
        value = found["number"]
    number = Decimal(value)
    try:
        sizes.value_size(number)
    except LimitExceeded:
        return None
    return number


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)
