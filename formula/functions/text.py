"""The functions on text and numbers: CONCAT, SEARCH, SPLIT, NUMBER, ROUND and others."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Final

from penstock.formula.core import numbers
from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import MAX_STRING, WorkMeter
from penstock.formula.core.numbers import read_number
from penstock.formula.core.values import (
    Scalar,
    Value,
    check_length,
    join_texts,
    require_length,
    text_of,
)
from penstock.formula.functions.regex import Span, regex

_PIECE_COST: Final = 10  # units for a piece of a text that is split
_ELEMENT_COST: Final = 40  # writing an element of a list as JSON
_FOLD_COST: Final = 4  # changing the case of a character costs about 4 units
_SLOW_FOLD_COST: Final = 16  # the same where a text may get longer, character by character
_COMPARED_AT_ONCE: Final = 40  # characters of a needle that are compared for one unit
# In longer texts, and for longer needles, Python searches in linear time.
_SHORT_TEXT: Final = 2_500
_SHORT_NEEDLE: Final = 100
_TEXT_OF_SHORT_NEEDLE: Final = 30_000


def concat(work: WorkMeter, *parts: Value) -> str:
    """Join the text of each part; null adds nothing."""
    return join_texts(_paid_texts(work, parts))


def _paid_texts(work: WorkMeter, parts: Sequence[Value]) -> Iterator[str]:
    for part in parts:
        if part is not None:
            if isinstance(part, tuple):
                work.spend(_ELEMENT_COST * len(part))
            text = text_of(part)
            work.spend(len(text))
            yield text


def lowercase(work: WorkMeter, text: str) -> str:
    work.spend(_FOLD_COST * len(text))
    return check_length(text.lower())


def uppercase(work: WorkMeter, text: str) -> str:
    work.spend(_FOLD_COST * len(text))
    return check_length(text.upper())


def search(work: WorkMeter, text: str, needle: str, ignore_case: bool | None) -> Decimal:
    """Return the position of the first occurrence, counted from 0 in characters; -1 if none."""
    work.spend(len(needle) + _find_cost(text, needle))
    if ignore_case:
        text, needle = _fold_case(work, text), _fold_case(work, needle)
    return Decimal(text.find(needle))


def _find_cost(text: str, needle: str) -> int:
    """Return the units of looking for a needle, whose rest Python may compare at each place."""
    size, wanted = len(text), len(needle)
    is_short = wanted < _SHORT_NEEDLE and size < _TEXT_OF_SHORT_NEEDLE
    if wanted < size and (is_short or size < _SHORT_TEXT):
        return size + (size - wanted) * (wanted - 1) // _COMPARED_AT_ONCE
    return size


def contains(work: WorkMeter, text: str, needle: str, ignore_case: bool | None) -> bool:
    return search(work, text, needle, ignore_case) >= 0


def length(text: str) -> Decimal:
    return Decimal(len(text))


def trim(work: WorkMeter, text: str) -> str:
    """Return the text without white space at its ends."""
    work.spend(len(text))
    return text.strip()


def substring(work: WorkMeter, text: str, start: Decimal, count: Decimal | None = None) -> str:
    """Return `count` characters from `start` on, counted from 0; all without a count.

    What lies behind the end of the text is empty.
    """
    begin = _position("start", start)
    end = len(text) if count is None else begin + _position("length", count)
    work.spend(max(0, min(end, len(text)) - begin))
    return text[begin:end]


def _position(name: str, number: Decimal) -> int:
    if number < 0 or number != number.to_integral_value() or number > MAX_STRING:
        message = f"`{name}` must be a whole number from 0 to {MAX_STRING}"
        raise Fault(FormulaCode.INVALID_ARGUMENT, message)
    return int(number)


def replace_all(work: WorkMeter, text: str, needle: str, replacement: str) -> str:
    """Return the text with another text in place of each occurrence of the needle."""
    if not needle:
        raise Fault(FormulaCode.INVALID_ARGUMENT, "the text to replace must not be empty")
    work.spend(2 * _find_cost(text, needle))
    # The result is measured before it is made.
    count = text.count(needle)
    made = len(text) + count * (len(replacement) - len(needle))
    require_length(made)
    work.spend(count * _PIECE_COST + made)
    return text.replace(needle, replacement)


def same_text(work: WorkMeter, left: str, right: str, ignore_case: bool | None) -> bool:
    """Whether two texts are equal, ignoring letter case if requested."""
    if not ignore_case:
        return left == right
    return len(left) == len(right) and _fold_case(work, left) == _fold_case(work, right)


def _fold_case(work: WorkMeter, text: str) -> str:
    """Return the text in lower case, with as many characters."""
    work.spend((_FOLD_COST if text.isascii() else _SLOW_FOLD_COST) * len(text))
    folded = text.lower()
    if len(folded) == len(text):
        return folded
    return "".join(low if len(low := c.lower()) == 1 else c for c in text)


def split(work: WorkMeter, text: str, pattern: str, limit: Decimal | None) -> tuple[str, ...]:
    """Cut the text at each match of the pattern; empty pieces at the end are dropped.

    A limit of n > 0 gives at most n pieces and keeps empty ones. An empty match cuts between two
    characters, never before the first.
    """
    most = _whole_limit(limit)
    work.spend(len(text))
    found = regex(pattern, work)
    if found.plain:
        pieces = text.split(found.plain, most - 1)
        work.spend(len(pieces) * _PIECE_COST)
    else:
        pieces = _cut(text, found.matches(text, work), most)
    return tuple(pieces if most else _without_empty_end(pieces))


def _without_empty_end(pieces: Sequence[str]) -> Sequence[str]:
    end = len(pieces)
    while end > 1 and not pieces[end - 1]:
        end -= 1
    return pieces[:end]


def _cut(text: str, matches: Iterable[Span], most: int) -> list[str]:
    pieces: list[str] = []
    start = 0
    for begin, end in matches:
        if most and len(pieces) == most - 1:
            break
        if end == 0 or begin == end == len(text):
            continue
        pieces.append(text[start:begin])
        start = end
    pieces.append(text[start:])
    return pieces


def _whole_limit(limit: Decimal | None) -> int:
    if limit is None:
        return 0
    if limit < 1 or limit != limit.to_integral_value() or limit > 10_000:
        raise Fault(FormulaCode.INVALID_ARGUMENT, "`limit` must be a whole number from 1 to 10000")
    return int(limit)


def element(values: tuple[Scalar, ...], index: int) -> Scalar:
    """Return the element at an index, counted from 0."""
    if index >= len(values):
        message = f"there is no element [{index}] in a list of {len(values)}"
        raise Fault(FormulaCode.INDEX_OUT_OF_RANGE, message)
    return values[index]


def number_of(work: WorkMeter, value: Decimal | str) -> Decimal:
    """Convert a text to a number, exactly."""
    if isinstance(value, Decimal):
        return value
    work.spend(len(value))
    number = read_number(value)
    if number is None:
        raise Fault(FormulaCode.NOT_A_NUMBER, f"{value[:40]!r} is not a number")
    return number


def absolute(number: Decimal) -> Decimal:
    return number.copy_abs()


def smallest(*values: Decimal) -> Decimal:
    return min(values)


def largest(*values: Decimal) -> Decimal:
    return max(values)


def round_number(number: Decimal, places: Decimal = numbers.ZERO) -> Decimal:
    return numbers.round_to(number, places)


def floor(number: Decimal) -> Decimal:
    return numbers.floor(number)


def ceiling(number: Decimal) -> Decimal:
    return numbers.ceiling(number)


def square_root(number: Decimal) -> Decimal:
    return numbers.square_root(number)


def logarithm(number: Decimal, base: Decimal = numbers.TEN) -> Decimal:
    return numbers.logarithm(number, base)


def negation(value: bool) -> bool:
    return not value
