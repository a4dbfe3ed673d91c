"""The summary of a kept hour, those of its minutes, and the counts of its numbers.

The summaries of a day are one text, in a row that holds every hour that is kept. Its minutes and
its counts of numbers lie in rows of their own, each hour packed by itself. Of the minutes, which
are many, only those columns are decoded that a reader needs.
"""

import base64
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

import msgspec

from penstock.datastore.access.work import kept_units
from penstock.datastore.ngsi.event_times import HOUR_MS
from penstock.datastore.ngsi.hours.generations import DAY_HOURS
from penstock.datastore.ngsi.reading.aggregates import MinuteColumns
from penstock.datastore.ngsi.reading.number_counts import NumberCounts, count_numbers
from penstock.datastore.ngsi.reading.periods import HOUR_SECONDS, MINUTE_SECONDS
from penstock.datastore.ngsi.reading.series import NumberSample
from penstock.datastore.ngsi.reading.summaries import NumberSummary, join_summaries
from penstock.datastore.table.layout import KEPT_HOURS, KEPT_MINUTES, KEPT_NUMBERS, Row
from penstock.datastore.table.port import Attributes

HOURS_FIELD: Final = "hours"
MINUTE_MS: Final = MINUTE_SECONDS * 1000

_HOUR_PREFIX: Final = "h"

Part_co = TypeVar("Part_co", covariant=True)


class KeptParts(Protocol[Part_co]):
    """The parts of an hour under a generation; its first sample `expires` at a second."""

    @property
    def generation(self) -> str: ...

    @property
    def expires(self) -> int | None: ...

    def parts(self, hour: int) -> Iterator[tuple[int, Part_co]]:
        """The parts of the hour that have samples, each with its first second."""


class KeptHour(msgspec.Struct, array_like=True):
    """The summary of an hour."""

    summary: NumberSummary
    generation: str = ""
    expires: int | None = None

    def parts(self, hour: int) -> Iterator[tuple[int, NumberSummary]]:
        yield hour * HOUR_SECONDS, self.summary


@dataclass(frozen=True, slots=True)
class UncutHour:
    """A kept hour in place of its minutes: no period begins or ends in it."""

    kept: KeptHour

    @property
    def generation(self) -> str:
        return self.kept.generation

    @property
    def expires(self) -> int | None:
        return self.kept.expires

    def parts(self, hour: int) -> Iterator[tuple[int, MinuteColumns]]:
        second = hour * HOUR_SECONDS
        yield second, _SingleColumns(second, self.kept.summary)


@dataclass(frozen=True, slots=True)
class _SingleColumns:
    """One summary of samples as columns, from a second on."""

    second: int
    summary: NumberSummary

    @property
    def seconds(self) -> list[int]:
        return [self.second] if self.summary.samples else []

    def column(self, name: str) -> Sequence[Any]:
        return [getattr(self.summary, name)] if self.summary.samples else []


class KeptMinutes(msgspec.Struct, array_like=True):
    """The summaries of the minutes of an hour that have samples, as columns that are not decoded.

    Their names are those of the fields of summaries.
    """

    generation: str
    expires: int | None
    minutes: Sequence[int]
    samples: msgspec.Raw
    numbers: msgspec.Raw
    total: msgspec.Raw
    least: msgspec.Raw
    greatest: msgspec.Raw
    first: msgspec.Raw
    last: msgspec.Raw

    def parts(self, hour: int) -> Iterator[tuple[int, MinuteColumns]]:
        yield hour * HOUR_SECONDS, _MinutesOfHour(hour * HOUR_SECONDS, self)


@dataclass(frozen=True, slots=True)
class _MinutesOfHour:
    """The minutes of an hour that begins at a second."""

    start: int
    kept: KeptMinutes

    @property
    def seconds(self) -> list[int]:
        return [self.start + minute * MINUTE_SECONDS for minute in self.kept.minutes]

    def column(self, name: str) -> Sequence[Any]:
        packed: msgspec.Raw = getattr(self.kept, name)
        found: Sequence[Any] = _DECODE_COLUMN.get(name, _decode_numbers_or_none)(packed)
        return found


class KeptNumbers(msgspec.Struct, array_like=True):
    """The counts of the numbers of an hour."""

    generation: str
    expires: int | None
    counts: NumberCounts

    def parts(self, hour: int) -> Iterator[tuple[int, NumberCounts]]:
        yield hour * HOUR_SECONDS, self.counts


KeptDay: TypeAlias = "list[KeptHour | None]"
"""The hours of a day; None for those that are not kept."""


@dataclass(slots=True)
class BuiltHour:
    """An hour whose samples are read, under the generation that was read before them."""

    generation: str
    expires: int | None = None
    minutes: dict[int, NumberSummary] = field(default_factory=dict)
    found: list[Decimal] = field(default_factory=list)

    def add(self, sample: NumberSample) -> None:
        """Add a sample that is later than all before."""
        minute = sample.at % HOUR_MS // MINUTE_MS
        summary = self.minutes.get(minute)
        if summary is None:
            summary = self.minutes[minute] = NumberSummary()
        summary.add(sample.number)
        if sample.number is not None:
            self.found.append(sample.number)
        if sample.expires is not None:
            self.expires = min(sample.expires, self.expires or sample.expires)

    def keep_hour(self) -> KeptHour:
        return KeptHour(join_summaries(self.minutes.values()), self.generation, self.expires)

    def keep_minutes(self) -> KeptMinutes:
        found = self.minutes.values()
        packed = [
            msgspec.Raw(_encode([getattr(each, name) for each in found]))
            for name in NumberSummary.__struct_fields__
        ]
        return KeptMinutes(self.generation, self.expires, list(self.minutes), *packed)

    def keep_numbers(self) -> KeptNumbers:
        samples = sum(each.samples for each in self.minutes.values())
        return KeptNumbers(self.generation, self.expires, count_numbers(samples, self.found))


@dataclass(frozen=True, slots=True)
class Detail(Generic[Part_co]):
    """A detail in which hours are read: its row, and how it is unpacked and built."""

    row: Row
    unpack: Callable[[Attributes], Mapping[int, KeptParts[Part_co]]]
    build: Callable[[BuiltHour], KeptParts[Part_co]]

    def units(self, item: Attributes) -> int:
        """The units of unpacking a day."""
        packed = (len(str(text)) for name, text in item.items() if name.startswith(_HOUR_PREFIX))
        return kept_units(sum(packed))


def day_of(row: Row, item: Attributes) -> int:
    """The day of an item of a row, counted from 1970."""
    return int(row.sk.parse(str(item["sk"]))["day"])


def samples_in(day: KeptDay) -> int:
    return sum(entry.summary.samples for entry in day if entry is not None)


def pack_minutes(hours: Mapping[int, BuiltHour]) -> dict[str, str]:
    """Pack the minutes of hours of a day into attributes of their row."""
    return {_name_of(hour): _pack(built.keep_minutes()) for hour, built in hours.items()}


def pack_numbers(hours: Mapping[int, BuiltHour]) -> dict[str, str]:
    """Pack the numbers of hours of a day into attributes of their row, unless they are too many."""
    kept = {hour: built.keep_numbers() for hour, built in hours.items()}
    return {_name_of(hour): _pack(each) for hour, each in kept.items() if each.counts.is_small}


def pack_day(day: KeptDay) -> str:
    return _encode(day).decode()


def unpack_day(item: Attributes) -> KeptDay:
    return _decode_day(str(item[HOURS_FIELD]))


_encode = msgspec.json.Encoder().encode
_decode_day = msgspec.json.Decoder(list[KeptHour | None]).decode
_decode_minutes = msgspec.json.Decoder(KeptMinutes).decode
_decode_numbers = msgspec.json.Decoder(KeptNumbers).decode
_decode_numbers_or_none = msgspec.json.Decoder(list[Decimal | None]).decode
_decode_integers = msgspec.json.Decoder(list[int]).decode
_DECODE_COLUMN: Final[Mapping[str, Callable[[msgspec.Raw], Sequence[Any]]]] = {
    "samples": _decode_integers,
    "numbers": _decode_integers,
    "total": msgspec.json.Decoder(list[Decimal]).decode,
}


def _name_of(hour: int) -> str:
    return f"{_HOUR_PREFIX}{hour:02d}"


def _pack(kept: KeptMinutes | KeptNumbers) -> str:
    return base64.b64encode(zlib.compress(_encode(kept))).decode()


def _packed_hours(item: Attributes) -> Iterator[tuple[int, str]]:
    for name, packed in item.items():
        number = name.removeprefix(_HOUR_PREFIX)
        if number != name and number.isdecimal():
            yield int(number), str(packed)


def _inflate(packed: str) -> bytes:
    return zlib.decompress(base64.b64decode(packed))


def _unpack_hours(item: Attributes) -> dict[int, KeptHour]:
    return {hour: kept for hour, kept in enumerate(unpack_day(item)) if kept is not None}


def _unpack_minutes(item: Attributes) -> dict[int, KeptMinutes]:
    return {hour: _decode_minutes(_inflate(packed)) for hour, packed in _packed_hours(item)}


def _unpack_numbers(item: Attributes) -> dict[int, KeptNumbers]:
    return {hour: _decode_numbers(_inflate(packed)) for hour, packed in _packed_hours(item)}


HOURS: Final[Detail[NumberSummary]] = Detail(KEPT_HOURS, _unpack_hours, BuiltHour.keep_hour)
MINUTES: Final[Detail[MinuteColumns]] = Detail(
    KEPT_MINUTES, _unpack_minutes, BuiltHour.keep_minutes
)
NUMBERS: Final[Detail[NumberCounts]] = Detail(KEPT_NUMBERS, _unpack_numbers, BuiltHour.keep_numbers)


def minutes_where(
    is_cut: Callable[[int], bool], days: Mapping[int, KeptDay]
) -> Detail[MinuteColumns]:
    """The detail of minutes in hours that are cut, and of whole hours where these days have them.

    The others are not inflated: a month has 44,640 minutes, and one of 8 hours is cut by a period
    of so many.
    """

    def unpack(item: Attributes) -> dict[int, KeptParts[MinuteColumns]]:
        number = day_of(KEPT_MINUTES, item)
        kept = days.get(number) or [None] * DAY_HOURS
        found: dict[int, KeptParts[MinuteColumns]] = {}
        for hour, packed in _packed_hours(item):
            whole = None if is_cut(number * DAY_HOURS + hour) else kept[hour]
            found[hour] = _decode_minutes(_inflate(packed)) if whole is None else UncutHour(whole)
        return found

    return replace(MINUTES, unpack=unpack)
