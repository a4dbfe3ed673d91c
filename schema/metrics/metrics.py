"""Metrics and their versions: types and query fields."""

from typing import Any, Final

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.kept_rows import metric_series
from penstock.datastore.records import MeasureFunction
from penstock.datastore.table.layout import METRIC, PIPELINE, KindDefinition
from penstock.graphql_jit import reads_attributes
from penstock.resolvers import metrics
from penstock.schema.core.context import Info
from penstock.schema.core.relay import Connection, GlobalId, record_type_check
from penstock.schema.engine.cost import price_metadata
from penstock.schema.kept_rows.inputs import EverySeriesArgument, ZoneArgument
from penstock.schema.metrics.series import (
    BreakdownArgument,
    MetricSeries,
    SeriesFromArgument,
    SeriesGroupArgument,
    SeriesTimeArgument,
    SeriesToArgument,
    series_request,
)
from penstock.schema.resources.kind_queries import (
    resource_by_name_field,
    resource_field,
    resource_list_field,
)
from penstock.schema.resources.resource import Resource, ResourceVersion
from penstock.schema.resources.uses import HasUsers, HasUses
from penstock.schema.resources.version_fields import (
    diff_field,
    latest_version_field,
    version_labelled_field,
    version_numbered_field,
    versions_field,
)

INPUTS_COST: Final = 2
"""The cost of showing the inputs of a metric, most of which have few."""


@strawberry.type(
    description="An input of a metric: an output of a pipeline that keeps rows, or another metric. "
    "All fields are null if the caller cannot see the pipeline or metric, or if it is gone."
)
class MetricSource:
    output: str | None = strawberry.field(
        description="The key of the output; null if the input is a metric."
    )

    @strawberry.field(description="The name that the pipeline or metric has now.")
    @staticmethod
    def name(source: strawberry.Parent[records.MetricSource]) -> str | None:
        return source.source or None

    @strawberry.field(description="The global id of the pipeline; null if the input is a metric.")
    @staticmethod
    def pipeline_id(source: strawberry.Parent[records.MetricSource]) -> strawberry.ID | None:
        return _id_of_kind(source, PIPELINE)

    @strawberry.field(
        description="The global id of the metric; null if the input is an output of a pipeline."
    )
    @staticmethod
    def metric_id(source: strawberry.Parent[records.MetricSource]) -> strawberry.ID | None:
        return _id_of_kind(source, METRIC)


def _id_of_kind(source: records.MetricSource, kind: KindDefinition[Any]) -> strawberry.ID | None:
    is_shown = source.kind == kind.letter and source.id
    return GlobalId(kind.title, source.id).encode() if is_shown else None


@strawberry.type(
    description="A function over the values of its inputs, in its latest version: over all rows of "
    "an output, and over the one value that another metric has in the same time and group."
)
class Metric(Resource, HasUses, HasUsers):
    unit: str | None = strawberry.field(description="The unit of the values, for people.")
    function: MeasureFunction = strawberry.field(
        description="The function over the values of the inputs."
    )

    @strawberry.field(
        graphql_type=list[MetricSource],
        metadata=price_metadata(INPUTS_COST),
        description="The inputs of the metric, in their order.",
    )
    @reads_attributes({"Metric": ("inputs",)})
    @staticmethod
    async def inputs(
        metric: strawberry.Parent[records.Metric], info: Info
    ) -> tuple[records.MetricSource, ...]:
        return await metrics.shown_inputs(info.context, metric)

    @strawberry.field(
        graphql_type=MetricSeries,
        metadata=price_metadata(10),
        description="The values of the metric over time, computed exactly from the rows that stand "
        "and that the caller may see, as the pipelines show them. They roll up the groups below.",
    )
    @reads_attributes({"Metric": ("id", "function", "inputs")})
    @staticmethod
    async def series(
        metric: strawberry.Parent[records.Metric],
        info: Info,
        since: SeriesFromArgument,
        until: SeriesToArgument,
        every: EverySeriesArgument,
        group: SeriesGroupArgument = UNSET,
        zone: ZoneArgument = UNSET,
        breakdown: BreakdownArgument = metric_series.Breakdown.NONE,
        as_at: SeriesTimeArgument = UNSET,
    ) -> metric_series.MetricSeries:
        wanted = series_request(group, since, until, every, zone, breakdown, as_at)
        return await metrics.read_series(info.context, metric, wanted)

    is_type_of = record_type_check(records.Metric)

    versions = versions_field(METRIC, Connection["MetricVersion"])
    version_numbered = version_numbered_field(METRIC, "MetricVersion | None")
    version_labelled = version_labelled_field(METRIC, "MetricVersion | None")
    diff = diff_field(METRIC)


@strawberry.type(description="One version of a metric. A version never changes.")
class MetricVersion(ResourceVersion):
    unit: str | None = strawberry.field(
        description="The unit of the values, for people, as this version states it."
    )
    function: MeasureFunction = strawberry.field(
        description="The function of this version over the values of the inputs."
    )

    @strawberry.field(
        graphql_type=list[MetricSource],
        metadata=price_metadata(INPUTS_COST),
        description="The inputs of this version, in their order.",
    )
    @reads_attributes({"MetricVersion": ("inputs",)})
    @staticmethod
    async def inputs(
        metric: strawberry.Parent[records.MetricVersion], info: Info
    ) -> tuple[records.MetricSource, ...]:
        return await metrics.shown_inputs(info.context, metric)

    is_type_of = record_type_check(records.MetricVersion)

    metric = latest_version_field(METRIC, Metric)


@strawberry.type
class MetricQuery:
    metric = resource_field(METRIC, Metric | None)
    metric_by_name = resource_by_name_field(METRIC, Metric | None)
    metrics = resource_list_field(METRIC, Connection[Metric])
