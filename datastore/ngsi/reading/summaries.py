"""Summaries of samples, and what each method makes of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import reduce
from itertools import compress
from typing import Final

import msgspec

from penstock.datastore.ngsi.reading.number_counts import DECIMAL_CONTEXT


class Method(StrEnum):
    """An aggregate function over the samples of a period; only COUNT includes non-numbers."""

    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    FIRST = "first"
    LAST = "last"
    PERCENTILE = "percentile"


class NumberSummary(msgspec.Struct, array_like=True):
    """The samples of a stretch of time, as far as every method but PERCENTILE needs them."""

    samples: int = 0
    numbers: int = 0
    total: Decimal = Decimal(0)
    least: Decimal | None = None
    greatest: Decimal | None = None
    first: Decimal | None = None
    last: Decimal | None = None

    def add(self, number: Decimal | None) -> None:
        """Add a sample that is later than all before."""
        self.samples += 1
        if number is None:
            return
        self.numbers += 1
        self.first, self.last = number if self.first is None else self.first, number
        self.total = DECIMAL_CONTEXT.add(self.total, number)
        self.least = number if self.least is None else min(self.least, number)
        self.greatest = number if self.greatest is None else max(self.greatest, number)

    def add_later(self, other: "NumberSummary") -> None:
        """Add the samples of a later stretch of time."""
        self.samples += other.samples
        if other.least is None or other.greatest is None:
            return
        self.numbers += other.numbers
        self.first, self.last = other.first if self.first is None else self.first, other.last
        self.total = DECIMAL_CONTEXT.add(self.total, other.total)
        self.least = other.least if self.least is None else min(self.least, other.least)
        greatest = other.greatest
        self.greatest = greatest if self.greatest is None else max(self.greatest, greatest)


def join_summaries(parts: Iterable[NumberSummary]) -> NumberSummary:
    """The summary of stretches of time that follow each other."""
    joined = NumberSummary()
    for part in parts:
        joined.add_later(part)
    return joined


VALUES: Final[Mapping[Method, Callable[[NumberSummary], Decimal | None]]] = {
    Method.COUNT: lambda found: Decimal(found.samples),
    Method.SUM: lambda found: found.total if found.numbers else None,
    Method.AVG: lambda found: (
        DECIMAL_CONTEXT.divide(found.total, Decimal(found.numbers)) if found.numbers else None
    ),
    Method.MIN: lambda found: found.least,
    Method.MAX: lambda found: found.greatest,
    Method.FIRST: lambda found: found.first,
    Method.LAST: lambda found: found.last,
}
"""The result of each method but PERCENTILE."""


def _add_totals(summary: NumberSummary, numbers: Sequence[int], totals: Sequence[Decimal]) -> None:
    summary.numbers += sum(numbers)
    summary.total = reduce(DECIMAL_CONTEXT.add, compress(totals, numbers), summary.total)


def _add_least(summary: NumberSummary, least: Sequence[Decimal | None]) -> None:
    if found := [each for each in (summary.least, *least) if each is not None]:
        summary.least = min(found)


def _add_greatest(summary: NumberSummary, greatest: Sequence[Decimal | None]) -> None:
    if found := [each for each in (summary.greatest, *greatest) if each is not None]:
        summary.greatest = max(found)


def _add_first(summary: NumberSummary, firsts: Sequence[Decimal | None]) -> None:
    if summary.first is None:
        summary.first = next((each for each in firsts if each is not None), None)


def _add_last(summary: NumberSummary, lasts: Sequence[Decimal | None]) -> None:
    summary.last = next((each for each in reversed(lasts) if each is not None), summary.last)


def _add_nothing(_: NumberSummary) -> None:
    """Add nothing: the number of samples is enough."""


@dataclass(frozen=True, slots=True)
class Fold:
    """The columns of summaries that a method needs, and how it adds a part of them."""

    add: Callable[..., None]
    columns: tuple[str, ...] = ()


_TOTALS: Final = Fold(_add_totals, ("numbers", "total"))
FOLDS: Final[Mapping[Method, Fold]] = {
    Method.COUNT: Fold(_add_nothing),
    Method.SUM: _TOTALS,
    Method.AVG: _TOTALS,
    Method.MIN: Fold(_add_least, ("least",)),
    Method.MAX: Fold(_add_greatest, ("greatest",)),
    Method.FIRST: Fold(_add_first, ("first",)),
    Method.LAST: Fold(_add_last, ("last",)),
}
"""The folds of all methods but PERCENTILE."""
