"""The series of a metric: its types and its arguments."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, TypeAlias

import strawberry

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.kept_rows import metric_series
from penstock.datastore.kept_rows.metric_series import MAX_POINTS, Breakdown, SeriesRequest
from penstock.datastore.kept_rows.read_totals import Every
from penstock.datastore.records import MeasureFunction
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import PIPELINE
from penstock.schema.core.context import unset_to_none
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.relay import GlobalId
from penstock.schema.core.scalars import DateTime
from penstock.schema.executions.group_executions import parse_time
from penstock.schema.kept_rows.inputs import time_zone_name

strawberry.enum(
    Breakdown,
    name="MetricBreakdown",
    description="By what the points of a series are separate, besides time.",
)
describe_values(
    Breakdown,
    {
        Breakdown.NONE: "One point for each time.",
        Breakdown.GROUP: (
            "A point for the group itself, and one for each group directly below it with all "
            "groups below that one."
        ),
        Breakdown.INPUT: "A point for each input of the metric, from its values alone.",
    },
)


@strawberry.type(
    description="Rows of one pipeline that a point is made of: the arguments of `rows` that list "
    "exactly these rows, and what the metric takes from them."
)
class PointSource:
    output: str = strawberry.field(description="The key of the output whose values count.")
    function: MeasureFunction = strawberry.field(description="The function over its values.")
    group: GroupPath | None = strawberry.field(description="The argument `group` of `rows`.")
    include_child_groups: bool = strawberry.field(
        description="The argument `includeChildGroups` of `rows`."
    )
    rows: int = strawberry.field(
        description="The number of the rows; those without a value do not count."
    )
    value: Decimal | None = strawberry.field(
        description="The exact value of the function over the rows; null if none has a value."
    )
    as_at: DateTime = strawberry.field(
        description="The argument `asAt` of `rows`: the time of the latest commit that counts."
    )

    @strawberry.field(description="The global id of the pipeline.")
    @staticmethod
    def pipeline_id(source: strawberry.Parent[metric_series.PointSource]) -> strawberry.ID:
        return GlobalId(PIPELINE.title, source.pipeline_id).encode()

    @strawberry.field(name="from", description="The argument `from` of `rows`.")
    @staticmethod
    def since(source: strawberry.Parent[metric_series.PointSource]) -> DateTime:
        return DateTime(iso_timestamp(source.start))

    @strawberry.field(name="to", description="The argument `to` of `rows`.")
    @staticmethod
    def until(source: strawberry.Parent[metric_series.PointSource]) -> DateTime:
        return DateTime(iso_timestamp(source.end))


@strawberry.type(description="The value of a metric in one time.")
class MetricPoint:
    group: GroupPath | None = strawberry.field(
        description="The group, with all groups below it; null where groups are not separate."
    )
    number: int | None = strawberry.field(
        name="input",
        description="The position of the input in `inputs`, from 0 on; null where inputs are not "
        "separate.",
    )
    value: Decimal | None = strawberry.field(
        description="The exact value, a mean to 34 digits; null if there are no values."
    )

    sources: list[PointSource] = strawberry.field(
        description="The rows that the value is made of: those of each output, as often as the "
        "metric and its inputs use it."
    )

    @strawberry.field(description="The start of the time, in UTC.")
    @staticmethod
    def start(point: strawberry.Parent[metric_series.Point]) -> DateTime:
        return DateTime(iso_timestamp(point.start))

    @strawberry.field(description="The end of the time, exclusive, in UTC.")
    @staticmethod
    def end(point: strawberry.Parent[metric_series.Point]) -> DateTime:
        return DateTime(iso_timestamp(point.end))


@strawberry.type(description="The values of a metric over time.")
class MetricSeries:
    points: list[MetricPoint] = strawberry.field(
        description="The points by time, then by group or input. A time without rows has none."
    )
    is_complete: bool = strawberry.field(
        description="Whether the caller sees all inputs. The values of others do not count."
    )


SeriesGroupArgument: TypeAlias = Annotated[
    GroupPath | None,
    strawberry.argument(
        description="The path of the group whose rows count, with those of all groups below it. "
        "Without it all rows in the caller's sight do."
    ),
]
SeriesFromArgument: TypeAlias = Annotated[
    DateTime,
    strawberry.argument(
        name="from", description="The time of a row from which on it counts, inclusive."
    ),
]
SeriesToArgument: TypeAlias = Annotated[
    DateTime,
    strawberry.argument(
        name="to",
        description="The time of a row before which it counts, exclusive. There are at most "
        f"{MAX_POINTS} points.",
    ),
]
SeriesTimeArgument: TypeAlias = Annotated[
    DateTime | None,
    strawberry.argument(description="The time as of which rows count. The default is now."),
]
BreakdownArgument: TypeAlias = Annotated[
    Breakdown | None,
    strawberry.argument(
        description="By what points are separate, besides time. The default is one for each time."
    ),
]


def series_request(
    group: GroupPath | None,
    start: str,
    end: str,
    every: Every,
    zone: str | None,
    breakdown: Breakdown | None,
    as_at: str | None,
) -> SeriesRequest:
    """Read the arguments of a series; raises Invalid for an unknown time zone."""
    return SeriesRequest(
        group=unset_to_none(group),
        start=datetime.fromisoformat(start),
        end=datetime.fromisoformat(end),
        every=every,
        zone=time_zone_name(zone),
        breakdown=unset_to_none(breakdown) or Breakdown.NONE,
        as_at=parse_time(as_at),
    )
