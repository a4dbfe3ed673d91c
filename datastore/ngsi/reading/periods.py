"""Periods of time: of the calendar in UTC, or of any length."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

HOUR_SECONDS: Final = 3600
MINUTE_SECONDS: Final = 60

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SECOND: Final = 1 << 40


class Period(StrEnum):
    """A unit of calendar time, in UTC."""

    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    HOUR = "hour"
    MINUTE = "minute"
    SECOND = "second"

    @property
    def shortest(self) -> int:
        """The seconds of a period that is not longer than the others."""
        return _SHORTEST[self]

    @property
    def longest(self) -> int:
        """The seconds of a period that is not shorter than the others."""
        return _LONGEST.get(self, self.shortest)

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
_LONGEST: Mapping[Period, int] = {Period.YEAR: 366 * 86_400, Period.MONTH: 31 * 86_400}
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

    @property
    def shortest(self) -> int:
        return self.seconds

    @property
    def longest(self) -> int:
        return self.seconds

    def bounds(self, second: int) -> tuple[int, int]:
        """The first second of the period that contains a second, and that of the next one."""
        start = second - second % self.seconds
        return start, start + self.seconds


def timestamp_of(second: int) -> str:
    """A second as `iso_timestamp` writes it."""
    return f"{datetime.fromtimestamp(second, UTC).isoformat()[:19]}.000Z"


def _second_of(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(seconds=1)
