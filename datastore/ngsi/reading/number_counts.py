"""Counts of equal numbers, from which percentiles of stretches of time follow.

Up to 1,000 different numbers of an hour are counted as they are. More are rounded to three digits,
or to less, until they are so few. Counts of hours add up to those of a period, in any order; where
it has more than 20,000 different numbers, they are rounded likewise.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from itertools import accumulate, groupby
from typing import Final, NamedTuple

import msgspec

MAX_NUMBERS: Final = 1_000
"""The different numbers of an hour that are counted; more are rounded until they are so few."""

MAX_CHARACTERS: Final = 12_000
"""The characters of these numbers, so that the hours of a day fit into a row."""

MAX_MERGED: Final = 20_000
"""The different numbers of a period that are counted as they are; more are rounded.

Rounded to two digits there can be 46,080: so many has the range of numbers that a table holds.
"""

DIGITS: Final = (3, 2)

EXACT: Final = Decimal(0)
DECIMAL_CONTEXT: Final = Context(prec=38)
"""The context in which numbers of samples are computed: those of DynamoDB have 38 digits."""


class Percentile(NamedTuple):
    """A percentile, and the part by which the numbers around it may be off."""

    value: Decimal | None
    error: Decimal = EXACT


class NumberCounts(msgspec.Struct, array_like=True):
    """The samples of an hour: ascending numbers as texts, and how often each occurs.

    The numbers are off by `error` of themselves at most.
    """

    samples: int
    numbers: Sequence[str]
    counts: Sequence[int]
    error: Decimal = EXACT

    @property
    def is_small(self) -> bool:
        """Whether they fit into a row together with those of the other hours of a day."""
        if len(self.numbers) > MAX_NUMBERS:
            return False
        return sum(map(len, self.numbers)) <= MAX_CHARACTERS


def count_numbers(samples: int, numbers: Iterable[Decimal]) -> NumberCounts:
    """Count the numbers of samples, rounded as little as they must be.

    Numbers that are too many with two digits too are counted as they are.
    """
    ranked = sorted(numbers)
    exact = _count_ranked(samples, ranked, EXACT)
    if exact.is_small:
        return exact
    for digits in DIGITS:
        # Rounded numbers are in the same order.
        rounded = map(Context(prec=digits).plus, ranked)
        counts = _count_ranked(samples, rounded, _error_of(digits))
        if counts.is_small:
            return counts
    return exact


def exact_counts(numbers: Sequence[Decimal]) -> NumberCounts:
    """The counts of numbers as they are, of samples that are all numbers."""
    return _count_ranked(len(numbers), sorted(numbers), EXACT)


def _count_ranked(samples: int, ranked: Iterable[Decimal], error: Decimal) -> NumberCounts:
    """Count equal numbers that stand side by side.

    No number is a key: senders can choose numbers that all have the same hash.
    """
    counts = [(_text_of(number), sum(1 for _ in equal)) for number, equal in groupby(ranked)]
    return NumberCounts(samples, [text for text, _ in counts], [each for _, each in counts], error)


def _text_of(number: Decimal) -> str:
    """The one text of a number, so that equal numbers have equal texts."""
    return str(DECIMAL_CONTEXT.normalize(number)) if number else "0"


@dataclass(slots=True)
class MergedCounts:
    """The counts of the numbers of parts of a period, rounded where the numbers are too many.

    So a period of any length holds a bounded number of them. A part that stays the only one is used
    as it is.
    """

    _only: NumberCounts | None = None
    _counts: dict[str, int] = field(default_factory=dict)
    _error: Decimal = EXACT
    _digits: tuple[int, ...] = DIGITS
    _rounded_to: int | None = None

    def __len__(self) -> int:
        """The different numbers that are held."""
        return len(self._counts) if self._only is None else len(self._only.numbers)

    def add(self, part: NumberCounts) -> None:
        if self._only is None and not self._counts:
            self._only = part
            return
        if self._only is not None:
            self._count(self._only)
            self._only = None
        self._count(part)

    def find(self, percentile: Decimal) -> Percentile:
        """The percentile of the numbers of all parts."""
        if self._only is not None:
            numbers, counts, error = self._only.numbers, self._only.counts, self._only.error
        else:
            numbers, error = sorted(self._counts, key=Decimal), self._error
            counts = [self._counts[number] for number in numbers]
        ends = list(accumulate(counts))
        value = percentile_at(
            ends[-1] if ends else 0,
            lambda rank: Decimal(numbers[bisect_right(ends, rank)]),
            percentile,
        )
        return Percentile(value, error)

    def _count(self, part: NumberCounts) -> None:
        found: Iterable[tuple[str, int]] = zip(part.numbers, part.counts, strict=True)
        error = part.error
        if self._rounded_to is not None:
            found = _round_numbers(found, self._rounded_to)
            error = _error_after(error, self._rounded_to)
        self._sum_up(found)
        self._error = max(self._error, error)
        while len(self._counts) > MAX_MERGED and self._digits:
            self._rounded_to, *rest = self._digits
            self._digits = tuple(rest)
            rounded = list(_round_numbers(self._counts.items(), self._rounded_to))
            self._counts.clear()
            self._sum_up(rounded)
            self._error = _error_after(self._error, self._rounded_to)

    def _sum_up(self, found: Iterable[tuple[str, int]]) -> None:
        counts = self._counts
        for number, count in found:
            counts[number] = counts.get(number, 0) + count


def _round_numbers(found: Iterable[tuple[str, int]], digits: int) -> Iterator[tuple[str, int]]:
    rounding = Context(prec=digits)
    return ((_text_of(rounding.create_decimal(number)), count) for number, count in found)


def _error_of(digits: int) -> Decimal:
    """The part of itself by which a number is off at most that is rounded to so many digits."""
    return Decimal(5).scaleb(-digits)


def _error_after(error: Decimal, digits: int) -> Decimal:
    """The error of numbers that had one and are rounded to so many digits."""
    step = _error_of(digits)
    # Numbers that were rounded to these digits, or to less, stay as they are.
    return error if error >= step else error + step + error * step


def percentile_at(
    count: int, number_at: Callable[[int], Decimal], percentile: Decimal
) -> Decimal | None:
    """The percentile of so many ranked numbers, between the two nearest; None without numbers."""
    if not count:
        return None
    place = (count - 1) * percentile / 100
    below = int(place)
    low, high = number_at(below), number_at(min(below + 1, count - 1))
    step = DECIMAL_CONTEXT.multiply(DECIMAL_CONTEXT.subtract(high, low), place - below)
    return DECIMAL_CONTEXT.add(low, step)
