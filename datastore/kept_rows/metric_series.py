"""The series of a metric: its values over time and in groups, computed from kept rows."""

from asyncio import gather
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import partial
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import point_units
from penstock.datastore.errors import LimitExceeded, NotFound
from penstock.datastore.kept_rows.conditions import RowFilter
from penstock.datastore.kept_rows.metric_plan import NO_VALUES, Leaf, MetricPlan, Part, combine
from penstock.datastore.kept_rows.read_totals import Every, Measure, Total, TotalsRequest
from penstock.datastore.kept_rows.repository import KeptRows, SnapshotTotals
from penstock.datastore.records import MeasureFunction, Metric, Pipeline
from penstock.datastore.request_threads import run_in_request_thread
from penstock.datastore.resources.metric_sources import reach_metrics
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.roles import ROOT, GroupPath
from penstock.datastore.table.layout import METRIC, PIPELINE

MAX_POINTS: Final = 2_000
MAX_PIPELINES: Final = 20
MAX_PARTS: Final = 20_000
"""The points of a series times the outputs that each is made of."""

_REVISION: Final = frozenset(("revision",))


class Breakdown(StrEnum):
    """By what the points of a series are separate, besides time."""

    NONE = "none"
    GROUP = "group"
    INPUT = "input"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRequest:
    """The series that a caller asks for, from `start` on and before `end`.

    Rows of a `group` and of all groups below it count; without one, all in the caller's sight.
    """

    group: GroupPath | None = None
    start: datetime
    end: datetime
    every: Every
    zone: str = "UTC"
    breakdown: Breakdown = Breakdown.NONE
    as_at: datetime | None = None


class PointSource(NamedTuple):
    """Rows of one pipeline that a point is made of, as arguments of `rows`, and their value."""

    pipeline_id: str
    output: str
    function: MeasureFunction
    group: GroupPath | None
    include_child_groups: bool
    start: datetime
    end: datetime
    as_at: str
    rows: int
    value: Decimal | None


class Point(NamedTuple):
    """The value of a metric in one time, and the rows that it is made of.

    `group` and `number`, which is that of an input, are None where these are not separate.
    """

    start: datetime
    end: datetime
    group: GroupPath | None
    number: int | None
    value: Decimal | None
    sources: tuple[PointSource, ...]


class MetricSeries(NamedTuple):
    """The points by time, then by group or input.

    `is_complete` is false if the caller does not see some of the inputs, which do not count then.
    """

    points: tuple[Point, ...]
    is_complete: bool


async def read_plan(access: Access, metric: Metric) -> MetricPlan:
    """Plan a metric with the metrics of which it is made, as far as the caller sees them."""
    reading = ResourceReader(METRIC, access)

    async def read_visible(ids: Sequence[str]) -> list[Metric]:
        return [one for one in await reading.many(ids) if not isinstance(one, NotFound)]

    return MetricPlan(metric, await reach_metrics(metric, read_visible))


async def find_visible(access: Access, pipelines: Sequence[str]) -> dict[str, Pipeline]:
    """Find the pipelines that the caller sees, with their revisions; LimitExceeded for too many."""
    ids = list(dict.fromkeys(pipelines))
    if len(ids) > MAX_PIPELINES:
        raise LimitExceeded("pipelines of a metric", MAX_PIPELINES, len(ids))
    rows = await ResourceReader(PIPELINE, access).many(ids, projection=_REVISION)
    pairs = zip(ids, rows, strict=True)
    return {id: row for id, row in pairs if not isinstance(row, NotFound)}


@dataclass(frozen=True, slots=True)
class MetricSeriesReader:
    """Reads series for the caller, by one query of each pipeline in the caller's sight."""

    access: Access
    kept_rows: KeptRows

    async def read(self, metric: Metric, wanted: SeriesRequest) -> MetricSeries:
        """Compute a series of a metric that the caller sees.

        Raises LimitExceeded for too many points, pipelines or outputs, IllegalState for numbers
        that cannot be summed, and RateLimited.
        """
        plan = await read_plan(self.access, metric)
        reached, leaves = plan.reached, plan.leaves()
        visible = await find_visible(self.access, [leaf.pipeline for leaf in leaves])
        found = await gather(*(self._totals(id, leaves, wanted) for id in visible))
        read = dict(zip(visible, found, strict=True))
        sum_up = partial(SeriesTotals, plan, leaves, wanted, read)
        totals = await run_in_request_thread(lambda _: sum_up(), self.access.payer)
        totals.require_bounded()
        self.access.work.spend_more(totals.units)
        payer = self.access.payer._replace(prepaid=totals.units)
        points = await run_in_request_thread(lambda _: totals.list_points(), payer)
        made_of = {one.id for each in (metric, *reached.values()) for one in each.inputs}
        return MetricSeries(tuple(points), made_of <= {*visible, *reached})

    async def _totals(
        self, pipeline: str, leaves: Sequence[Leaf], wanted: SeriesRequest
    ) -> SnapshotTotals:
        of_pipeline = [leaf for leaf in leaves if leaf.pipeline == pipeline]
        measures = {one: None for leaf in of_pipeline for one in _measures_of(leaf)}
        by_group = wanted.breakdown is Breakdown.GROUP
        request = TotalsRequest(
            every=wanted.every,
            zone=wanted.zone,
            below=(wanted.group or ROOT) if by_group else None,
            measures=tuple(measures),
        )
        chosen = RowFilter(
            group=wanted.group,
            include_child_groups=True,
            start=wanted.start,
            end=wanted.end,
            as_at=wanted.as_at,
        )
        return await self.kept_rows.all_totals(pipeline, chosen, request, MAX_POINTS)


class PlaceOfPoint(NamedTuple):
    """The time of a point, and its group; the root where groups are not separate."""

    start: datetime
    end: datetime
    group: GroupPath


class SeriesTotals:
    """The totals of which a series is made, by pipeline and place."""

    def __init__(
        self,
        plan: MetricPlan,
        leaves: Sequence[Leaf],
        wanted: SeriesRequest,
        read: Mapping[str, SnapshotTotals],
    ) -> None:
        self._plan = plan
        self._leaves = leaves
        self._wanted = wanted
        self._read = read
        self._totals = {id: dict(_place_totals(each)) for id, each in read.items()}
        self._places = sorted({place for found in self._totals.values() for place in found})
        self._numbers: Sequence[int | None] = [None]
        if wanted.breakdown is Breakdown.INPUT:
            self._numbers = range(len(plan.metric.inputs))

    def require_bounded(self) -> None:
        """Raise LimitExceeded for too many points."""
        _check_limit("points of a series", MAX_POINTS, len(self._places) * len(self._numbers))
        _check_limit("points of a series times its outputs", MAX_PARTS, self._parts)

    @property
    def units(self) -> int:
        """The units of computing the points."""
        return point_units(self._parts, len(self._places) * self._plan.inputs)

    @property
    def _parts(self) -> int:
        return len(self._places) * len(self._leaves)

    def list_points(self) -> list[Point]:
        """The points in the order of time, then of groups or inputs."""
        by_group = self._wanted.breakdown is Breakdown.GROUP
        return [
            Point(
                start=place.start,
                end=place.end,
                group=place.group if by_group else None,
                number=number,
                value=value,
                sources=tuple(self._sources(place, number)),
            )
            for place in self._places
            for number, value in zip(self._numbers, self._values(place), strict=True)
        ]

    def _values(self, place: PlaceOfPoint) -> Sequence[Decimal | None]:
        def find(leaf: Leaf) -> Part:
            total = self._totals.get(leaf.pipeline, {}).get(place)
            return NO_VALUES if total is None else _part_of(total, leaf)

        return self._plan.values(self._numbers, find)

    def _sources(self, place: PlaceOfPoint, number: int | None) -> Iterator[PointSource]:
        wanted = self._wanted
        by_group = wanted.breakdown is Breakdown.GROUP
        group = place.group if by_group else wanted.group
        is_exact = by_group and group == (wanted.group or ROOT)
        for leaf in self._leaves:
            total = self._totals.get(leaf.pipeline, {}).get(place)
            if total is None or number not in (None, leaf.number):
                continue
            yield PointSource(
                pipeline_id=leaf.pipeline,
                output=leaf.output,
                function=leaf.function,
                group=group,
                include_child_groups=group is not None and not is_exact,
                start=max(place.start, wanted.start),
                end=min(place.end, wanted.end),
                as_at=self._read[leaf.pipeline].as_at or "",
                rows=total.rows,
                value=combine(leaf.function, [_part_of(total, leaf)]),
            )


def _place_totals(found: SnapshotTotals) -> Iterator[tuple[PlaceOfPoint, Total]]:
    for one in found.totals:
        if one.start is not None and one.end is not None:
            yield PlaceOfPoint(one.start, one.end, one.group or ROOT), one


def _check_limit(limit: str, maximum: int, actual: int) -> None:
    if actual > maximum:
        raise LimitExceeded(limit, maximum, actual)


def _measures_of(leaf: Leaf) -> list[Measure]:
    """The number of the values, and their sum or limit."""
    function = _function_to_read(leaf.function)
    found = [(MeasureFunction.COUNT, leaf.output)]
    if function is not MeasureFunction.COUNT:
        found.append((function, leaf.output))
    return [Measure(output, one, f"{one.value}:{output}") for one, output in found]


def _function_to_read(function: MeasureFunction) -> MeasureFunction:
    # Of means, whose parts come from several inputs, sums are read.
    return MeasureFunction.SUM if function is MeasureFunction.AVG else function


def _part_of(total: Total, leaf: Leaf) -> Part:
    """The values of an output in a total; none if no row has the output."""
    count = total.values.get(f"{MeasureFunction.COUNT.value}:{leaf.output}") or 0
    value = total.values.get(f"{_function_to_read(leaf.function).value}:{leaf.output}")
    return Part(int(count), None if value is None else Decimal(value))
