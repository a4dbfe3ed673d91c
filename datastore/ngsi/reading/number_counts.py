"""Counts of equal numbers, from which percentiles of stretches of time follow.

Up to 1,000 different numbers of an hour are counted as they are. More are rounded to three digits,
or to less, until they are so few. Counts of hours add up to those of a day, in any order.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Context, Decimal
from itertools import accumulate
from typing import Final, NamedTuple

import msgspec

MAX_NUMBERS: Final = 1_000
"""The different numbers of an hour that are counted; more are rounded until they are so few."""

MAX_CHARACTERS: Final = 12_000
"""The characters of these numbers, so that the hours of a day fit into a row."""

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


def count_numbers(samples: int, found: Mapping[Decimal, int]) -> NumberCounts:
    """Count the numbers of samples, rounded as little as they must be.

    Numbers that are too many with two digits too are counted as they are.
    """
    exact = _ranked_counts(samples, found, EXACT)
    if exact.is_small:
        return exact
    for digits in DIGITS:
        rounding, rounded = Context(prec=digits), Counter[Decimal]()
        for number, count in found.items():
            rounded[rounding.plus(number)] += count
        counts = _ranked_counts(samples, rounded, Decimal(5).scaleb(-digits))
        if counts.is_small:
            return counts
    return exact


def _ranked_counts(samples: int, found: Mapping[Decimal, int], error: Decimal) -> NumberCounts:
    ranked = sorted(found)
    return NumberCounts(samples, [*map(_text_of, ranked)], [found[each] for each in ranked], error)


def _text_of(number: Decimal) -> str:
    """The one text of a number, so that equal numbers have equal texts."""
    return str(DECIMAL_CONTEXT.normalize(number)) if number else "0"


def find_percentile(parts: Sequence[NumberCounts], percentile: Decimal) -> Percentile:
    """The percentile of the numbers of some parts."""
    numbers, counts = _merge(parts)
    ends = list(accumulate(counts))
    value = percentile_at(
        ends[-1] if ends else 0,
        lambda rank: Decimal(numbers[bisect_right(ends, rank)]),
        percentile,
    )
    return Percentile(value, max(part.error for part in parts))


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


def _merge(parts: Sequence[NumberCounts]) -> tuple[Sequence[str], Iterable[int]]:
    """The numbers of all parts, ascending, and their counts."""
    if len(parts) == 1:
        return parts[0].numbers, parts[0].counts
    total: dict[str, int] = {}
    for part in parts:
        for number, count in zip(part.numbers, part.counts, strict=True):
            total[number] = total.get(number, 0) + count
    ranked = sorted(total, key=Decimal)
    return ranked, [total[number] for number in ranked]
