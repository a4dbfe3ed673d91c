"""Texts of patterns of numbers, such as `yyyy-MM-dd`: most texts are plain, and read without RE2.

What cannot be told here is read by the expression of the pattern, with the same results.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache, partial
from typing import Final

_CENTURY: Final = 2000
_DAY: Final = ("month", "day")
_TIME: Final = ("hour", "minute", "second")

_EPOCH: Final = datetime(1970, 1, 1)
_FIRST_DAY: Final = _EPOCH.toordinal()
_DAY_MILLISECONDS: Final = 86_400_000

MAX_PLAIN: Final = 40
"""The most characters of a text that is read here."""

KEPT_DAYS: Final = 16_384
"""The texts of days that stay in memory: a file of many rows names few days."""

PlainReader = Callable[[str], int | None]
"""Returns the epoch milliseconds of a text in UTC, or None if it cannot tell.

ValueError for a day or a time that does not exist.
"""


@dataclass(frozen=True, slots=True, eq=False)
class _NumberPattern:
    """A pattern whose fields are numbers, the names of these from the year downwards."""

    match: Callable[[str], re.Match[str] | None]
    fields: tuple[str, ...]
    century: int

    def read_time(self, text: str) -> int | None:
        found = self.match(text)
        if found is None:
            return None
        numbers = (*map(int, found.group(*self.fields)), 0, 0)
        years, month, day, hour, minute, second = numbers[:6]
        since = datetime(self.century + years, month, day, hour, minute, second) - _EPOCH
        return since.days * _DAY_MILLISECONDS + since.seconds * 1000


@lru_cache(maxsize=KEPT_DAYS)
def _read_day(pattern: _NumberPattern, text: str) -> int | None:
    found = pattern.match(text)
    if found is None:
        return None
    years, month, day = found.group(*pattern.fields)
    ordinal = date(pattern.century + int(years), int(month), int(day)).toordinal()
    return (ordinal - _FIRST_DAY) * _DAY_MILLISECONDS


def tell_nothing(_text: str) -> None:
    """The plain reader of a pattern with a field that may be absent, or is no number."""


def plain_reader(expression: str, fields: frozenset[str]) -> PlainReader:
    """Return the reader of plain texts of a pattern, by its expression and its fields."""
    year = "short_year" if "short_year" in fields else "year"
    times = len(fields) - 1 - len(_DAY)
    order = (year, *_DAY, *_TIME[: max(0, times)])
    if "(?:" in expression or fields != frozenset(order):
        return tell_nothing
    # Each field has one to four digits and is there once, so that nothing is tried for long.
    match = re.compile(expression, re.ASCII).fullmatch
    pattern = _NumberPattern(match, order, _CENTURY if year == "short_year" else 0)
    return pattern.read_time if times else partial(_read_day, pattern)
