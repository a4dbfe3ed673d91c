"""AS_TIMESTAMP: text to milliseconds since 1970-01-01T00:00Z, with real time zones.

A zone or offset in the text fixes the instant. `timezone=` is the zone of texts without one, and
the zone in which `roundDownTo=` rounds. Days that do not exist are refused. A local time skipped by
a clock change is read with the offset before it; one that occurs twice is read as the earlier one.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from functools import cache, lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import WorkMeter
from penstock.formula.functions.date_patterns import date_pattern
from penstock.formula.functions.locales import DEFAULT, CalendarNames, Locale, locale_of
from penstock.formula.functions.plain_dates import MAX_PLAIN
from penstock.formula.functions.short_names import cut_name

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_COST: Final = 1_000  # parsing a date costs about 1,000 units
_OFFSET: Final = re.compile(r"(?:UTC|GMT)?([+-])(\d\d?)(?::?(\d\d))?", re.ASCII)

PERIODS: Final = ("day", "week", "month", "quarter", "year")


def as_timestamp(work: WorkMeter, text: str, pattern: str, *options: str | None) -> Decimal:
    """Return the epoch milliseconds of a text; smaller fractions of a second are cut off.

    The options are the time zone, the locale and the period to round down to; None means absent.
    """
    zone_name, locale_tag, period = options
    work.spend(_COST + len(text))
    locale = DEFAULT if locale_tag is None else locale_of(locale_tag)
    wished = None if zone_name is None else zone_named(zone_name)
    known = date_pattern(pattern, locale.names, work)
    try:
        if (wished is None or wished is UTC) and period is None and len(text) <= MAX_PLAIN:
            plain = known.read_plain(text)
            if plain is not None:
                return Decimal(plain)
        found = known.regex.named_captures(text)
        if found is None:
            raise _invalid(text, f"is not of the form {pattern!r}")
        moment = _moment(found, locale.names, wished)
        if period is not None:
            moment = _round_down(moment, period, locale, wished)
        return Decimal((moment - _EPOCH) // _MILLISECOND)
    except (ValueError, OverflowError):
        raise _invalid(text, "does not exist") from None


def _invalid(text: str, reason: str) -> Fault:
    return Fault(FormulaCode.INVALID_DATE, f"the date {text[:60]!r} {reason}")


def _moment(fields: dict[str, str | None], names: CalendarNames, wished: tzinfo | None) -> datetime:
    zone = zone_named(name) if (name := fields.get("zone")) else None
    offset = _offset(text) if (text := fields.get("offset")) else None
    local = datetime(
        _year(fields),
        _month(fields, names),
        _number(fields, "day", 1),
        _hour(fields),
        _number(fields, "minute", 0),
        _number(fields, "second", 0),
        int((fields.get("fraction") or "0")[:6].ljust(6, "0")),
        tzinfo=offset or zone or wished or UTC,
    )
    _agree_on_day(fields.get("day_name"), names, local)
    return local.astimezone(zone) if zone else local


def _number(fields: dict[str, str | None], name: str, absent: int) -> int:
    text = fields.get(name)
    return absent if text is None else int(text)


def _year(fields: dict[str, str | None]) -> int:
    short = fields.get("short_year")
    return _number(fields, "year", 0) if short is None else 2000 + int(short)


def _month(fields: dict[str, str | None], names: CalendarNames) -> int:
    name = fields.get("month_name")
    if name is None:
        return _number(fields, "month", 1)
    return _place(name, names.months, names.short_months) + 1


def _place(name: str, full: tuple[str, ...], short: tuple[str, ...]) -> int:
    folded = [word.lower() for word in (*full, *short)]
    return folded.index(name.lower()) % len(full)


def _hour(fields: dict[str, str | None]) -> int:
    half = fields.get("half")
    if half is None:
        return _number(fields, "hour", 0)
    hour = _number(fields, "half_hour", 12)
    if not 1 <= hour <= 12:
        raise ValueError(hour)
    return hour % 12 + (12 if half.lower() == "pm" else 0)


def _agree_on_day(name: str | None, names: CalendarNames, local: datetime) -> None:
    if name is not None and _place(name, names.days, names.short_days) != local.weekday():
        raise ValueError(name)


def _round_down(moment: datetime, period: str, locale: Locale, wished: tzinfo | None) -> datetime:
    local = moment.astimezone(wished) if wished else moment
    day = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    match period_named(period):
        case "day":
            return day
        case "week":
            return day - timedelta(days=(day.weekday() - locale.week_start) % 7)
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1)
        case _:
            return day.replace(day=1, month=1)


def period_named(text: str) -> str:
    """Return the period that `roundDownTo=` names, ignoring letter case."""
    period = cut_name(text).lower()
    if period not in PERIODS:
        message = f"`roundDownTo` must be one of {', '.join(PERIODS)}"
        raise Fault(FormulaCode.INVALID_ARGUMENT, message)
    return period


def _offset(text: str) -> tzinfo:
    if text in {"Z", "z"}:
        return UTC
    found = _OFFSET.fullmatch(text)
    if not found:
        raise ValueError(text)
    distance = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    return timezone(-distance if found[1] == "-" else distance)


def zone_named(text: str) -> tzinfo:
    """Return a zone of the time zone database, or a fixed offset such as `+02:00`."""
    return _find_zone(cut_name(text))


@lru_cache(maxsize=128)
def _find_zone(text: str) -> tzinfo:
    if text in {"Z", "UTC", "GMT"}:
        return UTC
    if text in _zone_names():
        return _read_zone(text)
    try:
        if _OFFSET.fullmatch(text):
            return _offset(text)
    except ValueError:
        pass
    raise Fault(FormulaCode.UNKNOWN_TIMEZONE, f"the time zone {text[:40]!r} is not known")


@cache
def _zone_names() -> frozenset[str]:
    """The names of all zones: looking for a file of another name may take long, and never end."""
    return frozenset(available_timezones())


@cache
def _read_zone(name: str) -> ZoneInfo:
    """Read a zone once: rows may name all of them in turn, and each is a file."""
    return ZoneInfo(name)
