"""The functions on text and numbers: CONCAT, SEARCH, SPLIT, NUMBER, ROUND and others."""

from decimal import Decimal
from typing import Final

from penstock.formula.core import numbers
from penstock.formula.core.errors import Code, Fault
from penstock.formula.core.limits import Work
from penstock.formula.core.numbers import read_number
from penstock.formula.core.values import Scalar, Value, bounded, text_of
from penstock.formula.functions.regex import regex

_FOLD_COST: Final = 4  # changing the case of a character costs about 4 units


def concat(work: Work, *parts: Value) -> str:
    """Join the text of each part; null adds nothing."""
    joined = "".join([text_of(part) for part in parts if part is not None])
    work.spend(len(joined))
    return bounded(joined)


def lowercase(work: Work, text: str) -> str:
    work.spend(_FOLD_COST * len(text))
    return bounded(text.lower())


def uppercase(work: Work, text: str) -> str:
    work.spend(_FOLD_COST * len(text))
    return bounded(text.upper())


def search(work: Work, text: str, needle: str, ignore_case: bool | None) -> Decimal:
    """Return the position of the first occurrence, counted from 0 in characters; -1 if none."""
    work.spend(len(text) + len(needle))
    if ignore_case:
        work.spend(_FOLD_COST * (len(text) + len(needle)))
        text, needle = _folded(text), _folded(needle)
    return Decimal(text.find(needle))


def same_text(left: str, right: str, ignore_case: bool | None) -> bool:
    """Whether two texts are equal, ignoring letter case if requested."""
    return _folded(left) == _folded(right) if ignore_case else left == right


def _folded(text: str) -> str:
    folded = text.lower()
    if len(folded) == len(text):
        return folded
    return "".join(low if len(low := c.lower()) == 1 else c for c in text)


def split(work: Work, text: str, pattern: str, limit: Decimal | None) -> tuple[str, ...]:
    """Cut the text at each match of the pattern; empty pieces at the end are dropped.

    A limit of n > 0 gives at most n pieces and keeps empty ones. An empty match cuts between two
    characters, never before the first.
    """
    pieces: list[str] = []
    most = _whole(limit)
    work.spend(len(text))
    start = 0
    for begin, end in regex(pattern).matches(text, work):
        if most and len(pieces) == most - 1:
            break
        if end == 0 or begin == end == len(text):
            continue
        pieces.append(text[start:begin])
        start = end
    pieces.append(text[start:])
    while not most and len(pieces) > 1 and not pieces[-1]:
        pieces.pop()
    return tuple(pieces)


def _whole(limit: Decimal | None) -> int:
    if limit is None:
        return 0
    if limit < 1 or limit != limit.to_integral_value() or limit > 10_000:
        raise Fault(Code.INVALID_ARGUMENT, "`limit` must be a whole number from 1 to 10000")
    return int(limit)


def element(values: tuple[Scalar, ...], index: int) -> Scalar:
    """Return the element at an index, counted from 0."""
    if index >= len(values):
        message = f"there is no element [{index}] in a list of {len(values)}"
        raise Fault(Code.INDEX_OUT_OF_RANGE, message)
    return values[index]


def number_of(value: Decimal | str) -> Decimal:
    """Convert a text to a number, exactly."""
    if isinstance(value, Decimal):
        return value
    number = read_number(value)
    if number is None:
        raise Fault(Code.NOT_A_NUMBER, f"{value[:40]!r} is not a number")
    return number


def absolute(number: Decimal) -> Decimal:
    return number.copy_abs()


def smallest(*values: Decimal) -> Decimal:
    return min(values)


def largest(*values: Decimal) -> Decimal:
    return max(values)


def rounded(number: Decimal, places: Decimal = numbers.ZERO) -> Decimal:
    return numbers.round_to(number, places)


def negation(value: bool) -> bool:
    return not value
