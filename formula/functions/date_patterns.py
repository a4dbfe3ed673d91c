"""Date patterns: the letters of Java's patterns that specify a point in time.

| letters | what | letters | what |
|---|---|---|---|
| `yyyy` `uuuu` `y` `u` | year | `a` | AM or PM |
| `yy` `uu` | year of this century | `S` ... `SSSSSSSSS` | that many digits of a second |
| `MM` `M` | month | `XXX` `XX` `X` | `+01:00` `+0100` `+01`, or `Z` |
| `MMM` `MMMM` | its short or full name | `xxx` `xx` `x` | the same without `Z` |
| `dd` `d` | day | `Z` | `+0100` |
| `EEE` `EEEE` | day of the week | `VV` `z` | a zone: `Europe/Berlin` |
| `HH` `H` `hh` `h` | hour of day, of half a day | `'text'` `''` | itself, a quote |
| `mm` `m` `ss` `s` | minute, second | `[...]` | may be absent |

Any other sign stands for itself. A field may occur once.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple, NoReturn

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import KEPT_PATTERNS, MAX_PATTERN, WorkMeter
from penstock.formula.core.remembered import remember
from penstock.formula.functions.locales import CalendarNames
from penstock.formula.functions.plain_dates import PlainReader, plain_reader
from penstock.formula.functions.regex import Regex

_READ_COST: Final = 300  # units for a character of a pattern, which may be the name of a month
_RUN: Final = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<sign>[^'])")
_OFFSET_HOURS: Final = r"[+-]\d\d"
_ONE_OR_TWO: Final = r"\d{1,2}"
_TWO: Final = r"\d\d"

_FIELDS: Final[Mapping[str, tuple[str, str]]] = {
    "yyyy": ("year", r"\d{4}"),
    "y": ("year", r"\d{1,4}"),
    "yy": ("short_year", _TWO),
    "M": ("month", _ONE_OR_TWO),
    "MM": ("month", _TWO),
    "d": ("day", _ONE_OR_TWO),
    "dd": ("day", _TWO),
    "H": ("hour", _ONE_OR_TWO),
    "HH": ("hour", _TWO),
    "h": ("half_hour", _ONE_OR_TWO),
    "hh": ("half_hour", _TWO),
    "m": ("minute", _ONE_OR_TWO),
    "mm": ("minute", _TWO),
    "s": ("second", _ONE_OR_TWO),
    "ss": ("second", _TWO),
    "a": ("half", r"[AaPp][Mm]"),
    "X": ("offset", rf"Z|{_OFFSET_HOURS}(?:\d\d)?"),
    "XX": ("offset", rf"Z|{_OFFSET_HOURS}\d\d"),
    "XXX": ("offset", rf"Z|{_OFFSET_HOURS}:\d\d"),
    "x": ("offset", rf"{_OFFSET_HOURS}(?:\d\d)?"),
    "xx": ("offset", rf"{_OFFSET_HOURS}\d\d"),
    "xxx": ("offset", rf"{_OFFSET_HOURS}:\d\d"),
    "Z": ("offset", rf"{_OFFSET_HOURS}\d\d"),
    "z": ("zone", r"[A-Za-z][\w+/-]{0,40}"),
    "VV": ("zone", r"[A-Za-z][\w+/-]{0,40}"),
}


class DatePattern(NamedTuple):
    """A compiled pattern: an expression with a named group for each field: `year`, `month`, ...

    `read_plain` reads most texts of up to MAX_PLAIN characters, without a time zone, in a fifth of
    the time.
    """

    regex: Regex
    read_plain: PlainReader


def date_pattern(pattern: str, names: CalendarNames, work: WorkMeter) -> DatePattern:
    """Return the compiled pattern; raises a Fault for one that is not valid."""
    if len(pattern) > MAX_PATTERN:
        _refuse(f"it is longer than {MAX_PATTERN} characters")
    work.prepare(("date", pattern), _READ_COST * len(pattern))
    return _compile_once(pattern, names)


@remember(KEPT_PATTERNS)
def _compile_once(pattern: str, names: CalendarNames) -> DatePattern:
    source = _expression(pattern, names)
    regex = _compile_pattern(source)
    return DatePattern(regex, plain_reader(source, frozenset(regex.names)))


def _expression(pattern: str, names: CalendarNames) -> str:
    parts, at = [], 0
    while at < len(pattern):
        run = _RUN.match(pattern, at)
        if not run:
            _refuse("a quote is not closed")
        parts.append(_pattern_part(run, names))
        at = run.end()
    return "".join(parts)


def _compile_pattern(source: str) -> Regex:
    try:
        found = Regex(f"(?i){source}")
    except Fault:
        _refuse("`[` and `]` do not match, or it is too large")
    fields = set(found.names)
    if len(fields) < found.groups:
        _refuse("a field occurs twice")
    if not fields & {"year", "short_year"}:
        _refuse("it has no year (`yyyy`)")
    if ("half_hour" in fields) != ("half" in fields):
        _refuse("`h` and `a` need each other")
    return found


def _pattern_part(run: re.Match[str], names: CalendarNames) -> str:
    if run["quoted"] is not None:
        return re.escape(run["quoted"].replace("''", "'") or "'")
    if run["letters"]:
        return _field(run["letters"], names)
    return {"[": "(?:", "]": ")?"}.get(run["sign"]) or re.escape(run["sign"])


def _field(letters: str, names: CalendarNames) -> str:
    if set(letters) == {"S"} and len(letters) <= 9:
        return rf"(?P<fraction>\d{{{len(letters)}}})"
    words = {
        "MMM": ("month_name", names.short_months + names.months),
        "MMMM": ("month_name", names.months),
        "EEE": ("day_name", names.short_days + names.days),
        "EEEE": ("day_name", names.days),
    }
    letters = letters.replace("u", "y").replace("L", "M")
    if letters in words:
        name, choices = words[letters]
        longest_first = sorted(set(choices), key=len, reverse=True)
        return rf"(?:(?P<{name}>{'|'.join(longest_first)})\.?)"
    if letters not in _FIELDS:
        _refuse(f"`{letters}` is not understood")
    name, expression = _FIELDS[letters]
    return f"(?P<{name}>{expression})"


def _refuse(reason: str) -> NoReturn:
    raise Fault(FormulaCode.INVALID_DATE_PATTERN, f"the date pattern is invalid: {reason}")
