"""Percentiles by counts of numbers: exact where these are few, and otherwise within their error."""

import sys
from collections.abc import Iterable, Sequence
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.ngsi.hours.kept_hours import BuiltHour
from penstock.datastore.ngsi.reading.aggregates import percentile_of
from penstock.datastore.ngsi.reading.number_counts import (
    EXACT,
    MAX_CHARACTERS,
    MAX_MERGED,
    MAX_NUMBERS,
    MergedCounts,
    NumberCounts,
    count_numbers,
    exact_counts,
)
from penstock.datastore.ngsi.reading.series import SampledNumber
from tests.support.processor_time import yardsticks

NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-1000, max_value=1000)


def count(numbers: Sequence[Decimal]) -> NumberCounts:
    return count_numbers(len(numbers), numbers)


def merge(parts: Iterable[NumberCounts]) -> MergedCounts:
    merged = MergedCounts()
    for part in parts:
        merged.add(part)
    return merged


@given(
    parts=st.lists(st.lists(NUMBERS, max_size=20), min_size=1, max_size=5),
    percentile=st.integers(0, 100).map(Decimal),
)
def test_percentiles_of_few_numbers_are_those_of_the_numbers(
    parts: list[list[Decimal]], percentile: Decimal
) -> None:
    found = merge(count(part) for part in parts).find(percentile)
    expected = percentile_of([each for part in parts for each in part], percentile)
    assert (found.value, found.error) == (expected, EXACT)


@pytest.mark.parametrize(
    ("scale", "numbers", "error"), [(0, 1_000, "0"), (-2, 1_001, "0.005"), (-4, 90_000, "0.005")]
)
def test_percentiles_of_many_numbers_are_within_their_error(
    scale: int, numbers: int, error: str
) -> None:
    values = [Decimal(10_000 + n % 90_000).scaleb(scale) for n in range(numbers)]
    counts = count(values)
    assert len(counts.numbers) <= MAX_NUMBERS
    for percentile in map(Decimal, (0, 1, 50, 99, 100)):
        found = merge([counts, counts]).find(percentile)
        expected = percentile_of(values * 2, percentile)
        assert found.value is not None
        assert expected is not None
        assert found.error == Decimal(error)
        assert abs(found.value - expected) <= Decimal(error) * expected


def test_numbers_of_all_sizes_are_rounded_to_less_digits() -> None:
    values = [Decimal(f"{n}.123").scaleb(place) for n in range(1, 1000) for place in range(0, 9, 3)]
    counts = count(values)
    assert (counts.error, counts.is_small) == (Decimal("0.05"), True)


def test_long_numbers_are_too_many_before_they_are_a_thousand() -> None:
    values = [Decimal(f"1.{n:037d}") for n in range(MAX_CHARACTERS // 38)]
    assert count(values[:100]).error == 0
    assert count(values).error == Decimal("0.005")


def test_numbers_that_fit_in_no_way_are_counted_as_they_are() -> None:
    values = [Decimal(n).scaleb(place) for n in range(1, 10) for place in range(-60, 60)]
    counts = count(values)
    assert (counts.error, counts.is_small, len(counts.numbers)) == (EXACT, False, 1080)


def test_a_period_holds_few_numbers_of_a_counter_that_always_rises() -> None:
    """Each of its hours has numbers of its own, as those of a meter of energy have."""
    values = [Decimal(number) / 4 for number in range(40 * MAX_NUMBERS)]
    merged, most = MergedCounts(), 0
    for start in range(0, len(values), MAX_NUMBERS):
        part = count(values[start : start + MAX_NUMBERS])
        assert part.error == EXACT
        merged.add(part)
        most = max(most, len(merged))
    assert (most, len(merged)) == (MAX_MERGED, 2_201)
    for percentile in map(Decimal, (0, 1, 50, 99, 100)):
        found, expected = merged.find(percentile), percentile_of(values, percentile)
        assert found.value is not None
        assert expected is not None
        assert found.error == Decimal("0.005")
        assert abs(found.value - expected) <= found.error * expected


def test_numbers_of_all_sizes_that_are_rounded_twice_are_within_the_error_of_both() -> None:
    values = [
        sign * Decimal(f"{n}.5").scaleb(place)
        for place in range(-120, 120, 3)
        for n in range(1, 400)
        for sign in (-1, 1)
    ]
    merged = MergedCounts()
    for start in range(0, len(values), 798):
        merged.add(count(values[start : start + 798]))
    assert len(merged) <= MAX_MERGED
    for percentile in map(Decimal, range(101)):
        found, expected = merged.find(percentile), percentile_of(values, percentile)
        assert found.value is not None
        assert expected is not None
        assert found.error == Decimal("0.05525")
        assert abs(found.value - expected) <= found.error * abs(expected)


def test_numbers_that_all_have_one_hash_take_as_long_as_others() -> None:
    numbers = [Decimal(sys.hash_info.modulus * number) for number in range(1, 6_001)]
    assert {hash(number) for number in numbers} == {0}

    def count_in_both_ways() -> None:
        hour = BuiltHour("")
        for number in numbers:
            hour.add(SampledNumber(0, number))
        hour.keep_numbers()
        exact_counts(numbers)

    assert yardsticks(count_in_both_ways, 15) < 15
