"""The columns of the files of kept rows, and the exact numbers in them.

A file has a column of text for each output. The names of all other columns begin with `_`, with
which no key of an output begins. A number that fits has three columns more for its whole part and
18 digits of its fraction each, so that sums of them are exact.
"""

from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from typing import Final, NamedTuple

from penstock.datastore.kept_rows.database import quote_name

KEY: Final = "_key"
ROW: Final = "_row"
TIME: Final = "_time"
GROUP: Final = "_group"
EXECUTION: Final = "_execution"
VERSION: Final = "_version"

LIMB_DIGITS: Final = 18
LIMBS: Final = 3
WHOLE_DIGITS: Final = 37
FRACTION_DIGITS: Final = LIMB_DIGITS * LIMBS
_EXACT: Final = Context(prec=120)
_MEAN: Final = Context(prec=34)


class NumberColumns(NamedTuple):
    """The quoted names of the columns of an exact number: the whole part, then the fraction."""

    whole: str
    limbs: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        return (self.whole, *self.limbs)


def number_columns(key: str) -> NumberColumns:
    """The columns of the exact number of an output."""
    names = tuple(quote_name(f"_fraction{n}:{key}") for n in range(1, LIMBS + 1))
    return NumberColumns(quote_name(f"_whole:{key}"), names)


class NumberTexts(NamedTuple):
    """The quoted names of what a number's text is split into before its columns are made."""

    minus: str
    whole: str
    fraction: str


def _number_texts(key: str) -> NumberTexts:
    """The names of the parts of a number's text."""
    return NumberTexts(*(quote_name(f"_{part}:{key}") for part in ("minus", "integer", "decimals")))


def with_numbers(relation: str, outputs: Iterable[str]) -> str:
    """The relation with the columns of the exact numbers of these outputs beside their texts."""
    names = list(outputs)
    if not names:
        return relation
    texts = [text for name in names for text in _text_selection(name)]
    numbers = [number for name in names for number in _number_selection(name)]
    split = ", ".join(part for name in names for part in _number_texts(name))
    return (
        f"(SELECT * EXCLUDE ({split}), {', '.join(numbers)} "
        f"FROM (SELECT *, {', '.join(texts)} FROM {relation}))"
    )


def _text_selection(key: str) -> list[str]:
    """The expressions that split the text of an output's number."""
    text, named = quote_name(key), _number_texts(key)
    return [
        f"starts_with({text}, '-') AS {named.minus}",
        f"split_part({text}, '.', 1) AS {named.whole}",
        f"split_part({text}, '.', 2) AS {named.fraction}",
    ]


def _number_selection(key: str) -> list[str]:
    """The expressions of a number's columns over its parts; null where they are too long."""
    minus, whole, fraction = _number_texts(key)
    # The sign is a character of the whole part.
    fits = (
        f"length({whole}) <= {WHOLE_DIGITS} + CAST({minus} AS INTEGER) "
        f"AND length({fraction}) <= {FRACTION_DIGITS}"
    )
    columns = number_columns(key)
    found = [f"CASE WHEN {fits} THEN CAST({whole} AS DECIMAL(38, 0)) END AS {columns.whole}"]
    for n, name in enumerate(columns.limbs):
        start = n * LIMB_DIGITS
        part = f"rpad(substr({fraction}, {1 + start}, {LIMB_DIGITS}), {LIMB_DIGITS}, '0')"
        signed = f"CAST(CASE WHEN {minus} THEN '-' ELSE '' END || {part} AS BIGINT)"
        # Most numbers have a short fraction: the rest of it costs nothing.
        found.append(
            f"CASE WHEN {fits} AND length({fraction}) > {start} THEN {signed} "
            f"WHEN {fits} THEN 0 END AS {name}"
        )
    return found


def join_number(parts: Sequence[Decimal | int]) -> Decimal:
    """The exact number of a whole part and the parts of its fraction, or of sums of them."""
    return sum_of(_EXACT.scaleb(Decimal(part), -n * LIMB_DIGITS) for n, part in enumerate(parts))


def sum_of(numbers: Iterable[Decimal]) -> Decimal:
    """The exact sum of numbers, in the shortest form."""
    total = Decimal(0)
    for number in numbers:
        total = _EXACT.add(total, number)
    if total == total.to_integral_value(context=_EXACT):
        return total.quantize(Decimal(1), context=_EXACT)
    return total.normalize(_EXACT)


def mean_of(total: Decimal, count: int) -> Decimal:
    """The mean of so many numbers with this sum, to 34 digits."""
    return _MEAN.divide(total, Decimal(count))


def split_number(number: Decimal) -> list[Decimal] | None:
    """The parts of an exact number, as the columns have them; None for one that does not fit."""
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return None
    text = "".join(map(str, digits))
    text = text.rjust(1 - exponent, "0") if exponent < 0 else text + "0" * min(exponent, 99)
    whole, fraction = (text[:exponent], text[exponent:]) if exponent < 0 else (text, "")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    if len(whole) > WHOLE_DIGITS or len(fraction) > FRACTION_DIGITS:
        return None
    fraction = fraction.ljust(FRACTION_DIGITS, "0")
    starts = range(0, FRACTION_DIGITS, LIMB_DIGITS)
    parts = [whole or "0", *(fraction[n : n + LIMB_DIGITS] for n in starts)]
    return [Decimal(part).copy_negate() if sign else Decimal(part) for part in parts]
