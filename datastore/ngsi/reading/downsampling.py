"""Downsampling: a few points that look like many samples."""

from bisect import bisect_left, bisect_right
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from functools import partial, reduce
from itertools import compress, pairwise
from operator import itemgetter
from typing import Any, Final, TypeAlias

from penstock.datastore.access.work import WorkPayer
from penstock.datastore.ngsi.reading.number_counts import DECIMAL_CONTEXT
from penstock.datastore.ngsi.reading.series import NumberSample
from penstock.datastore.ngsi.reading.summaries import NumberSummary
from penstock.datastore.request_threads import run_in_request_thread

MIN_POINTS: Final = 3
THREADED_SAMPLES: Final = 2_000

Point: TypeAlias = tuple[int, Decimal]
"""A time in milliseconds since 1970, and a number."""


class Downsampling(StrEnum):
    """The choice of points: by the triangles that they span, or one for each stretch of time."""

    LTTB = "lttb"
    MIN = "min"
    MAX = "max"
    AVG = "avg"


@dataclass(slots=True)
class Stretches:
    """Minutes or hours with numbers, oldest first, by their first seconds since 1970.

    Of what is known of their samples there is a column for each thing that the method needs. The
    first and the last number of a stretch are decoded where somebody asks.
    """

    method: Downsampling
    seconds: list[int] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)
    _parts: list[tuple[int, Sequence[int], Callable[[str], Sequence[Any]]]] = field(
        default_factory=list
    )

    def __post_init__(self) -> None:
        self.columns = {name: [] for name in _COLUMNS[self.method]}

    def add(self, seconds: Sequence[int], column: Callable[[str], Sequence[Any]]) -> None:
        """Add later stretches; `column` gives a field of their summaries."""
        numbers = column("numbers")
        has_all = all(numbers)
        self._parts.append((len(self.seconds), numbers, column))
        self.seconds += seconds if has_all else compress(seconds, numbers)
        for name, held in self.columns.items():
            found = column(name)
            held.extend(found if has_all else compress(found, numbers))

    def add_summary(self, second: int, summary: NumberSummary) -> None:
        """Add one later stretch."""
        self.add([second], lambda name: [getattr(summary, name)])

    def ends_of(self, place: int) -> tuple[Decimal, Decimal]:
        """The first and the last number of a stretch."""
        begin, numbers, column = self._parts[
            bisect_right(self._parts, place, key=itemgetter(0)) - 1
        ]
        first, last = (
            [*compress(column(name), numbers)][place - begin] for name in ("first", "last")
        )
        return first, last

    def groups(self, width: int, count: int) -> list[range]:
        """Divide the stretches of `width` seconds into groups of equal time, none of them empty."""
        begin, length = self.seconds[0], self.seconds[-1] - self.seconds[0] + width
        edges = (begin - -number * length // count for number in range(count + 1))
        places = [bisect_left(self.seconds, edge) for edge in edges]
        return [range(first, end) for first, end in pairwise(places) if first < end]


async def downsample(
    samples: AsyncIterator[NumberSample], points: int, method: Downsampling, user: str
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
    stretches: Stretches, seconds: int, points: int, user: str
) -> list[Point]:
    """Reduce stretches of so many seconds as `downsample` does samples."""
    return await run_in_request_thread(
        lambda _: reduce_stretches(stretches, seconds, points), WorkPayer(user)
    )


def reduce_stretches(stretches: Stretches, seconds: int, points: int) -> list[Point]:
    """Choose points whose times are those of stretches of so many seconds.

    LTTB chooses among the least and the greatest number of twice as many groups as there are points
    (Van Der Donckt et al., MinMaxLTTB: Leveraging MinMax-Preselection, 2023).
    """
    if not stretches.seconds:
        return []
    if stretches.method is not Downsampling.LTTB:
        choose = _POINTS[stretches.method]
        return [choose(stretches, group) for group in stretches.groups(seconds, points)]
    groups = stretches.groups(seconds, points * 2)
    edges = [point for group in groups for point in _edge_points(stretches, group, seconds)]
    begin, end = stretches.seconds[0] * 1000, stretches.seconds[-1] * 1000
    # The line begins and ends where the samples do.
    if begin < edges[0][0]:
        edges.insert(0, (begin, stretches.ends_of(0)[0]))
    if end > edges[-1][0]:
        edges.append((end, stretches.ends_of(len(stretches.seconds) - 1)[1]))
    return edges if len(edges) <= points else _largest_triangles(edges, points)


def _edge_points(found: Stretches, group: range, seconds: int) -> list[Point]:
    """The least and the greatest number of a group, in order; of one stretch, half of it apart."""
    low, high = _least_point(found, group), _greatest_point(found, group)
    if low[0] != high[0]:
        return sorted((low, high))
    if low[1] == high[1]:
        return [low]
    place = bisect_left(found.seconds, low[0] // 1000)
    first, last = found.ends_of(place)
    rises = first <= last
    former, latter = (low, high) if rises else (high, low)
    return [former, (latter[0] + seconds * 500, latter[1])]


def _least_point(found: Stretches, group: range) -> Point:
    part = found.columns["least"][group.start : group.stop]
    least = min(part)
    return found.seconds[group.start + part.index(least)] * 1000, least


def _greatest_point(found: Stretches, group: range) -> Point:
    part = found.columns["greatest"][group.start : group.stop]
    greatest = max(part)
    return found.seconds[group.start + part.index(greatest)] * 1000, greatest


def _average_of_group(found: Stretches, group: range) -> Point:
    """The average number, at the time of the first stretch."""
    part = slice(group.start, group.stop)
    totals, numbers = found.columns["total"][part], found.columns["numbers"][part]
    return found.seconds[group.start] * 1000, _average(totals, sum(numbers))


_POINTS: Mapping[Downsampling, Callable[[Stretches, range], Point]] = {
    Downsampling.MIN: _least_point,
    Downsampling.MAX: _greatest_point,
    Downsampling.AVG: _average_of_group,
}
_COLUMNS: Final[Mapping[Downsampling, tuple[str, ...]]] = {
    Downsampling.LTTB: ("least", "greatest"),
    Downsampling.MIN: ("least",),
    Downsampling.MAX: ("greatest",),
    Downsampling.AVG: ("total", "numbers"),
}


def reduce_points(found: Sequence[Point], points: int, method: Downsampling) -> list[Point]:
    """Reduce more points than `points` to so many, or less where stretches are empty."""
    if method is Downsampling.LTTB:
        return _largest_triangles(found, points)
    return [_REDUCTIONS[method](part) for part in _groups(found, points)]


def _groups(found: Sequence[Point], count: int) -> list[list[Point]]:
    """Divide points into groups of equal time, without those that are empty."""
    begin, length = found[0][0], found[-1][0] - found[0][0] + 1
    groups: dict[int, list[Point]] = {}
    for one in found:
        groups.setdefault((one[0] - begin) * count // length, []).append(one)
    return list(groups.values())


def _largest_triangles(found: Sequence[Point], points: int) -> list[Point]:
    """Choose the first and the last point, and one of each bucket between them.

    It is the point whose triangle with the one chosen before and with the average of the bucket
    behind is the largest (Steinarsson, Downsampling Time Series for Visual Representation, 2013).
    """
    # Columns, because this takes most of the time of a chart.
    begin = found[0][0]
    xs, ys = [float(at - begin) for at, _ in found], [float(number) for _, number in found]
    width = (len(found) - 2) / (points - 2)
    edges = [int(number * width) + 1 for number in range(points - 1)] + [len(found)]
    kept = [0]
    for first, last, end in zip(edges, edges[1:], edges[2:], strict=False):
        left_x, left_y, count = xs[kept[-1]], ys[kept[-1]], end - last
        wide = left_x - sum(xs[last:end]) / count
        high = sum(ys[last:end]) / count - left_y
        part = zip(xs[first:last], ys[first:last], strict=True)
        areas = [abs(wide * (y - left_y) - (left_x - x) * high) for x, y in part]
        kept.append(first + areas.index(max(areas)))
    return [found[number] for number in (*kept, len(found) - 1)]


def _average_point(part: Sequence[Point]) -> Point:
    """The average number, at the time of the first point."""
    return part[0][0], _average((number for _, number in part), len(part))


def _average(totals: Iterable[Decimal], count: int) -> Decimal:
    return DECIMAL_CONTEXT.divide(reduce(DECIMAL_CONTEXT.add, totals, Decimal(0)), Decimal(count))


_REDUCTIONS: Mapping[Downsampling, Callable[[Sequence[Point]], Point]] = {
    Downsampling.MIN: lambda part: min(part, key=lambda point: point[1]),
    Downsampling.MAX: lambda part: max(part, key=lambda point: point[1]),
    Downsampling.AVG: _average_point,
}
