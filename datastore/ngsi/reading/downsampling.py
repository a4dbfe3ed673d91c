"""Downsampling: a few points that look like many samples."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from functools import partial
from typing import Final, TypeAlias, TypeVar

from penstock.datastore.access.work import WorkPayer
from penstock.datastore.ngsi.reading.aggregates import NumberSummary, join_summaries
from penstock.datastore.ngsi.reading.number_counts import DECIMAL_CONTEXT
from penstock.datastore.ngsi.reading.series import Sample
from penstock.datastore.request_threads import run_in_request_thread

MIN_POINTS: Final = 3
THREADED_SAMPLES: Final = 2_000

Point: TypeAlias = tuple[int, Decimal]
"""A time in milliseconds since 1970, and a number."""

Stretch: TypeAlias = tuple[int, NumberSummary]
"""A minute or an hour by its first second since 1970, and what is known of its samples."""

T = TypeVar("T")


class Downsampling(StrEnum):
    """The choice of points: by the triangles that they span, or one for each stretch of time."""

    LTTB = "lttb"
    MIN = "min"
    MAX = "max"
    AVG = "avg"


async def downsample(
    samples: AsyncIterator[Sample], points: int, method: Downsampling, user: str
) -> list[Point]:
    """Reduce the numbers of samples, which come oldest first, to at most so many points.

    The samples are paid as they are read; many are reduced in a thread at the user's turn.
    """
    found = [(each.at, each.number) async for each in samples if each.number is not None]
    if len(found) <= points:
        return found
    if len(found) <= THREADED_SAMPLES:
        return reduce_points(found, points, method)
    reduce = partial(reduce_points, found, points, method)
    return await run_in_request_thread(lambda _: reduce(), WorkPayer(user))


async def downsample_stretches(
    stretches: Sequence[Stretch], seconds: int, points: int, method: Downsampling, user: str
) -> list[Point]:
    """Reduce stretches of so many seconds, oldest first, as `downsample` does samples."""
    return await run_in_request_thread(
        lambda _: reduce_stretches(stretches, seconds, points, method), WorkPayer(user)
    )


def reduce_stretches(
    stretches: Sequence[Stretch], seconds: int, points: int, method: Downsampling
) -> list[Point]:
    """Choose points whose times are those of stretches of so many seconds.

    LTTB chooses among the least and the greatest number of twice as many groups as there are points
    (Van Der Donckt et al., MinMaxLTTB: Leveraging MinMax-Preselection, 2023).
    """
    numbered = [each for each in stretches if each[1].numbers]
    if not numbered:
        return []
    if method is not Downsampling.LTTB:
        return [_POINTS[method](group) for group in _groups(numbered, seconds, points)]
    groups = _groups(numbered, seconds, points * 2)
    edges = [point for group in groups for point in _edge_points(group, seconds)]
    (begin, first), (end, last) = numbered[0], numbered[-1]
    # The line begins and ends where the samples do.
    if first.first is not None and begin * 1000 < edges[0][0]:
        edges.insert(0, (begin * 1000, first.first))
    if last.last is not None and end * 1000 > edges[-1][0]:
        edges.append((end * 1000, last.last))
    return edges if len(edges) <= points else _largest_triangles(edges, points)


def _groups(found: Sequence[tuple[int, T]], width: int, count: int) -> list[list[tuple[int, T]]]:
    """Divide what is `width` long each into groups of equal time, without those that are empty."""
    begin, length = found[0][0], found[-1][0] - found[0][0] + width
    groups: dict[int, list[tuple[int, T]]] = {}
    for one in found:
        groups.setdefault((one[0] - begin) * count // length, []).append(one)
    return list(groups.values())


def _edge_points(group: Sequence[Stretch], seconds: int) -> list[Point]:
    """The least and the greatest number of a group, in order; of one stretch, half of it apart."""
    low, high = _least_point(group), _greatest_point(group)
    if low[0] != high[0]:
        return sorted((low, high))
    if low[1] == high[1]:
        return [low]
    (summary,) = (each for second, each in group if second * 1000 == low[0])
    rises = (summary.first or 0) <= (summary.last or 0)
    former, latter = (low, high) if rises else (high, low)
    return [former, (latter[0] + seconds * 500, latter[1])]


def _least_point(group: Sequence[Stretch]) -> Point:
    second, least = min(
        ((second, each.least) for second, each in group if each.least is not None),
        key=lambda found: found[1],
    )
    return second * 1000, least


def _greatest_point(group: Sequence[Stretch]) -> Point:
    second, greatest = max(
        ((second, each.greatest) for second, each in group if each.greatest is not None),
        key=lambda found: found[1],
    )
    return second * 1000, greatest


def _average_of_group(group: Sequence[Stretch]) -> Point:
    """The average number, at the time of the first stretch."""
    joined = join_summaries(each for _, each in group)
    return group[0][0] * 1000, DECIMAL_CONTEXT.divide(joined.total, Decimal(joined.numbers))


_POINTS: Mapping[Downsampling, Callable[[Sequence[Stretch]], Point]] = {
    Downsampling.MIN: _least_point,
    Downsampling.MAX: _greatest_point,
    Downsampling.AVG: _average_of_group,
}


def reduce_points(found: Sequence[Point], points: int, method: Downsampling) -> list[Point]:
    """Reduce more points than `points` to so many, or less where stretches are empty."""
    if method is Downsampling.LTTB:
        return _largest_triangles(found, points)
    return [_REDUCTIONS[method](part) for part in _groups(found, 1, points)]


def _largest_triangles(found: Sequence[Point], points: int) -> list[Point]:
    """Choose the first and the last point, and one of each bucket between them.

    It is the point whose triangle with the one chosen before and with the average of the bucket
    behind is the largest (Steinarsson, Downsampling Time Series for Visual Representation, 2013).
    """
    places = [(float(at - found[0][0]), float(number)) for at, number in found]
    width = (len(found) - 2) / (points - 2)
    edges = [int(number * width) + 1 for number in range(points - 1)] + [len(found)]
    kept = [0]
    for first, last, end in zip(edges, edges[1:], edges[2:], strict=False):
        x, y = _average_place(places[last:end])
        kept.append(_largest_triangle(places, range(first, last), places[kept[-1]], (x, y)))
    return [found[number] for number in (*kept, len(found) - 1)]


def _average_place(places: Sequence[tuple[float, float]]) -> tuple[float, float]:
    count = len(places)
    return sum(x for x, _ in places) / count, sum(y for _, y in places) / count


def _largest_triangle(
    places: Sequence[tuple[float, float]],
    candidates: Iterable[int],
    left: tuple[float, float],
    right: tuple[float, float],
) -> int:
    wide, high = left[0] - right[0], right[1] - left[1]
    return max(
        candidates,
        key=lambda number: abs(
            wide * (places[number][1] - left[1]) - (left[0] - places[number][0]) * high
        ),
    )


def _average_point(part: Sequence[Point]) -> Point:
    """The average number, at the time of the first point."""
    total = Decimal(0)
    for _, number in part:
        total = DECIMAL_CONTEXT.add(total, number)
    return part[0][0], DECIMAL_CONTEXT.divide(total, Decimal(len(part)))


_REDUCTIONS: Mapping[Downsampling, Callable[[Sequence[Point]], Point]] = {
    Downsampling.MIN: lambda part: min(part, key=lambda point: point[1]),
    Downsampling.MAX: lambda part: max(part, key=lambda point: point[1]),
    Downsampling.AVG: _average_point,
}
