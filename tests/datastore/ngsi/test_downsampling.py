"""A few points that look like many samples: their choice, their number and their order."""

from collections.abc import AsyncIterator, Sequence
from decimal import Decimal
from itertools import pairwise
from math import sin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.ngsi.reading.aggregates import percentile_of
from penstock.datastore.ngsi.reading.downsampling import (
    MIN_POINTS,
    THREADED_SAMPLES,
    Downsampling,
    Point,
    downsample,
    reduce_points,
)
from penstock.datastore.ngsi.reading.series import Sample

WAVE = [(1000 * n, Decimal(str(round(sin(n / 10), 6)))) for n in range(500)]


async def stream(points: Sequence[Point]) -> AsyncIterator[Sample]:
    for at, number in points:
        yield Sample(at, str(number), number, "[]")


async def words() -> AsyncIterator[Sample]:
    for at in range(5):
        yield Sample(at, "on", None, "[]")


def choose_points(
    values: Sequence[tuple[int, int]], points: int, method: Downsampling
) -> list[tuple[int, int]]:
    """The points that are chosen, as times and whole numbers."""
    found = reduce_points([(at, Decimal(value)) for at, value in values], points, method)
    return [(at, int(value)) for at, value in found]


def test_the_largest_triangles_are_chosen() -> None:
    """A peak stays, whatever lies around it; the triangles are computed by hand."""
    found = list(enumerate([0, 0, 9, 0, 0, 0, -7, 0]))
    assert choose_points(found, 4, Downsampling.LTTB) == [(0, 0), (2, 9), (6, -7), (7, 0)]
    assert choose_points(found, 3, Downsampling.LTTB) == [(0, 0), (2, 9), (7, 0)]


def test_each_stretch_of_time_has_one_point() -> None:
    found = [(0, 4), (10, 2), (20, 6), (90, 5), (99, 1)]
    assert choose_points(found, 3, Downsampling.MIN) == [(10, 2), (99, 1)]
    assert choose_points(found, 3, Downsampling.MAX) == [(20, 6), (90, 5)]
    assert choose_points(found, 3, Downsampling.AVG) == [(0, 4), (90, 3)]


@pytest.mark.parametrize("method", Downsampling)
async def test_few_samples_stay_as_they_are_and_words_are_left_out(method: Downsampling) -> None:
    assert await downsample(stream(WAVE[:5]), 5, method, "ann") == WAVE[:5]
    assert await downsample(words(), 5, method, "ann") == []


@pytest.mark.parametrize("method", Downsampling)
async def test_many_samples_are_reduced_in_a_thread_to_the_same_points(
    method: Downsampling,
) -> None:
    many = [(n, Decimal(n * n % 97)) for n in range(THREADED_SAMPLES + 1)]
    assert await downsample(stream(many), 50, method, "ann") == reduce_points(many, 50, method)


points = st.lists(
    st.tuples(st.integers(0, 10**12), st.decimals(-(10**9), 10**9, places=3)),
    min_size=MIN_POINTS + 1,
    max_size=60,
    unique_by=lambda point: point[0],
).map(sorted)


@given(points, st.data(), st.sampled_from(Downsampling))
def test_points_are_samples_in_order_and_not_more_than_asked_for(
    found: list[Point], data: st.DataObject, method: Downsampling
) -> None:
    wanted = data.draw(st.integers(MIN_POINTS, len(found) - 1))
    kept = reduce_points(found, wanted, method)
    assert kept == sorted(set(kept))
    if method is Downsampling.LTTB:
        assert len(kept) == wanted
        assert (kept[0], kept[-1]) == (found[0], found[-1])
    assert len(kept) <= wanted
    if method is not Downsampling.AVG:
        assert set(kept) <= set(found)
    extremes = {Downsampling.MIN: min, Downsampling.MAX: max}
    if method in extremes:
        choose = extremes[method]
        assert choose(value for _, value in kept) == choose(value for _, value in found)


@given(st.lists(st.decimals(-(10**9), 10**9, places=2), min_size=1, max_size=20))
def test_percentiles_lie_between_the_extremes(numbers: list[Decimal]) -> None:
    assert percentile_of(numbers, Decimal(0)) == min(numbers)
    assert percentile_of(numbers, Decimal(100)) == max(numbers)
    found = [percentile_of(numbers, Decimal(rank)) for rank in range(0, 101, 10)]
    assert all(a is not None and b is not None and a <= b for a, b in pairwise(found))


def test_a_percentile_lies_between_its_neighbours() -> None:
    numbers = [Decimal(n) for n in (10, 20, 30, 40)]
    assert percentile_of(numbers, Decimal(50)) == 25
    assert percentile_of(numbers, Decimal("95")) == Decimal("38.5")
    assert percentile_of([], Decimal(50)) is None
