"""The keeping of hours that were read: a day of them at a time, in the rows of their series."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.errors import Unavailable
from penstock.datastore.ngsi.counts import read_open_segments
from penstock.datastore.ngsi.directory import Attribute
from penstock.datastore.ngsi.event_times import HOUR_MS
from penstock.datastore.ngsi.hours.generations import DAY_HOURS, LATE_MS, SKEW_MS, HourStates
from penstock.datastore.ngsi.hours.kept_hours import (
    HOURS_FIELD,
    BuiltHour,
    KeptDay,
    KeptParts,
    pack_day,
    pack_minutes,
    pack_numbers,
    samples_in,
    unpack_day,
)
from penstock.datastore.ngsi.run_log import MAX_TABLES, SINK_CALLER, read_lone_runs
from penstock.datastore.table.layout import KEPT_HOURS, KEPT_MINUTES, KEPT_NUMBERS
from penstock.datastore.table.port import ConditionFailed, Put, Update

KEPT_SAMPLES: Final = 100
"""The samples of a day from which its hours are kept."""

_FAR: Final = 1 << 40

logger = logging.getLogger("penstock.ngsi")


class ReadSpan(NamedTuple):
    """The milliseconds from `low` to `high`, both inclusive, as they are read at `now`."""

    low: int
    high: int
    now: int

    @property
    def first_hour(self) -> int:
        return self.low // HOUR_MS

    @property
    def last_hour(self) -> int:
        return self.high // HOUR_MS

    def has_whole(self, hour: int) -> bool:
        """Whether the span has the whole hour."""
        return self.low <= hour * HOUR_MS and (hour + 1) * HOUR_MS <= self.high + 1

    def is_over(self, hour: int) -> bool:
        """Whether the hour is over by the clocks of all servers, and for what arrives late."""
        return (hour + 1) * HOUR_MS <= self.now - LATE_MS - SKEW_MS


@dataclass(slots=True)
class DayKeeper:
    """Keeps the hours of a series day by day, as far as nothing can be stored in them any more."""

    access: Access
    of: Attribute
    span: ReadSpan
    states: HourStates
    _unsettled: int | None = None

    def is_valid(self, kept: KeptParts[object], hour: int) -> bool:
        """Whether what is kept of an hour has not expired, and no newer generation is there."""
        if self.states.is_in_deletion(hour):
            return False
        if kept.expires is not None and kept.expires * 1000 <= self.span.now:
            return False
        return kept.generation == self.states.generation(hour)

    async def note_unsettled(self, first: int) -> None:
        """Note what is not settled before samples from this hour on are read.

        Otherwise one that is stored meanwhile would be neither read nor expected.
        """
        if self._unsettled is None and self.span.is_over(first):
            self._unsettled = await _first_unsettled_hour(self.access, self.of)

    async def keep(self, built: Mapping[int, BuiltHour], first: int, end: int) -> None:
        """Keep the day of the hours that were built; those from `first` to `end` are complete."""
        if not built:
            return
        day = min(built) // DAY_HOURS
        hours = range(max(day * DAY_HOURS, first), min((day + 1) * DAY_HOURS, end))
        fresh = {
            hour % DAY_HOURS: built.get(hour) or BuiltHour(self.states.generation(hour))
            for hour in hours
            if self._may_keep(hour)
        }
        if not fresh:
            return
        kept: KeptDay = [None] * DAY_HOURS
        if len(fresh) < DAY_HOURS:
            kept = await self._read_day(day)
        for number, entry in fresh.items():
            kept[number] = entry.keep_hour()
        if samples_in(kept) >= KEPT_SAMPLES:
            await self._write_day(day, kept, fresh)

    def _may_keep(self, hour: int) -> bool:
        """Whether an hour is over, and nothing can be stored in it without a new generation."""
        return (
            self._unsettled is not None
            and self.span.is_over(hour)
            and hour < self._unsettled
            and self.span.has_whole(hour)
            and not self.states.is_in_deletion(hour)
        )

    async def _read_day(self, day: int) -> KeptDay:
        """Read the hours of a day that are kept and valid."""
        key = KEPT_HOURS.key(**self.of.key_values, day=day)
        found = await self.access.table.get([key], consistent=True)
        item = found.items.get(key)
        hours = [None] * DAY_HOURS if item is None else unpack_day(item)
        return [
            entry if entry is not None and self.is_valid(entry, day * DAY_HOURS + number) else None
            for number, entry in enumerate(hours)
        ]

    async def _write_day(self, day: int, kept: KeptDay, fresh: Mapping[int, BuiltHour]) -> None:
        """Write the hours of a day, unless a deletion begins meanwhile; the reading goes on."""
        values = self.of.key_values
        rows: list[Put | Update] = [
            Put({**KEPT_HOURS.item(**values, day=day), HOURS_FIELD: pack_day(kept)}),
            Update(key=KEPT_MINUTES.key(**values, day=day), set=pack_minutes(fresh)),
        ]
        if numbers := pack_numbers(fresh):
            rows.append(Update(key=KEPT_NUMBERS.key(**values, day=day), set=numbers))
        try:
            await self.access.table.transact([self.states.unchanged, *rows])
        except ConditionFailed:
            logger.info("hours were not kept: samples of their entity are being deleted")
        except Unavailable as error:
            logger.warning("hours could not be kept: %s", error.message)


async def _first_unsettled_hour(access: Access, of: Attribute) -> int:
    """The first hour of which a sample may be accepted and not stored; a far one if none is.

    Segments of the service path say their first hour, and runs of single segments their tables.
    """
    at = (of.entity.service, of.entity.path)
    found = await read_open_segments(access.table, at, consistent=True)
    sink = Access(access.table, SINK_CALLER, access.clock, Budget())
    tables = {name for _, name in of.places}
    for run in await read_lone_runs(sink):
        named = run.shred_types or ()
        if not named or len(named) >= MAX_TABLES or not tables.isdisjoint(named):
            return 0
    return min((segment.first_hour for segment in found), default=_FAR)
