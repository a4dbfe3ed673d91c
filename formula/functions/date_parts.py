"""DATEDIFF and DATEPART: whole units between two times, and parts of one, by a zone's clock."""

from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from typing import Final

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import WorkMeter
from penstock.formula.functions.dates import zone_named
from penstock.formula.functions.short_names import cut_name

_COST: Final = 100
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_MILLISECONDS: Final = 10**15
"""More than lie between 1970 and the years 1 or 9999."""

_LENGTHS: Final = {
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
}
_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
UNITS: Final = (*_LENGTHS, *_MONTHS)
PARTS: Final = (
    *("year", "quarter", "month", "week", "day", "weekday", "yearday"),
    *("hour", "minute", "second"),
)


def whole_units(
    work: WorkMeter, start: Decimal, end: Decimal, unit: str, zone: str | None
) -> Decimal:
    """Return how many whole units lie between two times; negative if the end comes first.

    Days and longer units are those of the zone's clock, so that a day of 23 hours is one.
    """
    work.spend(_COST)
    name = _require_name("unit", unit, UNITS)
    first, last = (_local_time(moment, zone) for moment in (start, end))
    if name in ("second", "minute", "hour"):
        first, last = first.astimezone(UTC), last.astimezone(UTC)
    else:
        first, last = first.replace(tzinfo=None), last.replace(tzinfo=None)
    sign = -1 if last < first else 1
    early, late = sorted((first, last))
    if name in _LENGTHS:
        return Decimal(sign * ((late - early) // _LENGTHS[name]))
    months = (late.year - early.year) * 12 + late.month - early.month
    months -= _rest_of_month(late) < _rest_of_month(early)
    return Decimal(sign * (months // _MONTHS[name]))


def date_part(work: WorkMeter, moment: Decimal, part: str, zone: str | None) -> Decimal:
    """Return a part of a time by the zone's clock; weeks are those of ISO 8601, Monday is 1."""
    work.spend(_COST)
    local = _local_time(moment, zone)
    match _require_name("part", part, PARTS):
        case "quarter":
            return Decimal((local.month + 2) // 3)
        case "week":
            return Decimal(local.isocalendar().week)
        case "weekday":
            return Decimal(local.isoweekday())
        case "yearday":
            return Decimal(local.timetuple().tm_yday)
        case name:
            return Decimal(int(getattr(local, name)))


def _rest_of_month(moment: datetime) -> tuple[int, timedelta]:
    return moment.day, moment - moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _local_time(moment: Decimal, zone: str | None) -> datetime:
    wished: tzinfo = UTC if zone is None else zone_named(zone)
    # A number of thousands of digits would take milliseconds to convert.
    if not -_MOST_MILLISECONDS < moment < _MOST_MILLISECONDS:
        raise _not_a_time()
    try:
        return (_EPOCH + timedelta(milliseconds=int(moment))).astimezone(wished)
    except (OverflowError, ValueError):
        raise _not_a_time() from None


def _not_a_time() -> Fault:
    message = "a time lies in the years 1 to 9999, in milliseconds from 1970 on"
    return Fault(FormulaCode.INVALID_DATE, message)


def _require_name(option: str, text: str, names: tuple[str, ...]) -> str:
    name = cut_name(text).lower()
    if name not in names:
        message = f"`{option}` must be one of {', '.join(names)}"
        raise Fault(FormulaCode.INVALID_ARGUMENT, message)
    return name
