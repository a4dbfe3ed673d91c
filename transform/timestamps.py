"""Timestamps in outputs: formulas give epoch milliseconds, which files may have as ISO 8601."""

import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Final

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.values import Value
from penstock.formula.functions.plain_dates import KEPT_DAYS

_EPOCH: Final = datetime(1970, 1, 1)
_FIRST_DAY: Final = _EPOCH.toordinal()
_DAY: Final = 86_400_000

FIRST_MOMENT: Final = -62_135_596_800_000
LAST_MOMENT: Final = 253_402_300_799_999
"""The years 1 to 9999, in epoch milliseconds: those that ISO 8601 writes with four digits."""

is_whole_number: Final = re.compile(r"-?[0-9]{1,15}").fullmatch
"""Matches a text that is a whole number, of no more digits than any moment has."""

_has_day: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").match
_NO_MOMENT: Final = "the timestamp is no whole number of milliseconds in the years 1 to 9999"


def iso_cell(value: Value) -> str:
    """Return a timestamp as a CSV cell, null as an empty one; raises a Fault for no moment."""
    if value is None:
        return ""
    if type(value) is not Decimal:
        raise Fault(FormulaCode.INVALID_DATE, _NO_MOMENT)
    whole = int(value)
    # Numbers of Python are compared in a fourth of the time.
    if whole != value or not FIRST_MOMENT <= whole <= LAST_MOMENT:
        raise Fault(FormulaCode.INVALID_DATE, _NO_MOMENT)
    return iso_text(whole)


def iso_text(milliseconds: int) -> str:
    """Return a moment of the years 1 to 9999 in UTC: `2024-01-31T00:00:00.000Z`."""
    days, rest = divmod(milliseconds, _DAY)
    if not rest:
        return _day_text(days)
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return f"{moment.isoformat(timespec='milliseconds')}Z"


@lru_cache(maxsize=KEPT_DAYS)
def _day_text(days: int) -> str:
    return f"{date.fromordinal(days + _FIRST_DAY).isoformat()}T00:00:00.000Z"


def show_moment(milliseconds: str) -> str:
    """Return the text of epoch milliseconds as a time; one that is no such moment stays."""
    if is_whole_number(milliseconds) and FIRST_MOMENT <= int(milliseconds) <= LAST_MOMENT:
        return iso_text(int(milliseconds))
    return milliseconds


def milliseconds_of(text: str) -> int | None:
    """Return the epoch milliseconds of a time in ISO 8601, UTC unless it names a zone.

    None for a text that is no such time, and for fractions of a millisecond. Days are written with
    hyphens: digits alone are milliseconds.
    """
    if _has_day(text) is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            moment = moment.replace(tzinfo=None) - (moment.utcoffset() or timedelta())
    except (ValueError, OverflowError):
        return None
    whole, rest = divmod(moment - _EPOCH, timedelta(milliseconds=1))
    return None if rest else whole
