"""Metrics and their versions: types and query fields."""

from typing import Any, Final

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.kept_rows import metric_series
from penstock.datastore.records import MeasureFunction
from penstock.datastore.resources import version_diff
from penstock.datastore.table.layout import METRIC, PIPELINE, KindDefinition
from penstock.graphql_jit import projected_attributes, reads_attributes
from penstock.resolvers import metrics, resources
from penstock.schema.core.context import (
    After,
    Before,
    First,
    GroupArgument,
    Info,
    Last,
    Order,
    unset_to_none,
)
from penstock.schema.core.name_filter import NameFilterArgument
from penstock.schema.core.relay import Connection, GlobalId, page_from_arguments, record_type_check
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
from penstock.schema.resources.queries import (
    LIST_RULES,
    ChildGroupsArgument,
    IdArgument,
    NameArgument,
    OrderArgument,
    OwnerArgument,
    ResourceStatesArgument,
    TagsArgument,
    TimeArgument,
    find_resource,
    list_resources,
    resource_selection,
)
from penstock.schema.resources.resource import (
    DIFF_DESCRIPTION,
    LABELLED_DESCRIPTION,
    VERSION_DESCRIPTION,
    VERSIONS_DESCRIPTION,
    Change,
    FromVersionArgument,
    LabelArgument,
    Resource,
    ResourceVersion,
    ToVersionArgument,
    VersionNumberArgument,
    find_labelled,
    find_version,
    list_versions,
)
from penstock.schema.resources.uses import HasUsers, HasUses

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

    @strawberry.field(
        description="The global id of the pipeline; null if the input is a metric.",
    )
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

    @strawberry.field(graphql_type=Connection["MetricVersion"], description=VERSIONS_DESCRIPTION)
    @staticmethod
    async def versions(
        metric: strawberry.Parent[records.Metric],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Metric]:
        return await list_versions(
            info, METRIC, metric, page_from_arguments(first, after, last, before)
        )

    @strawberry.field(graphql_type="MetricVersion | None", description=VERSION_DESCRIPTION)
    @staticmethod
    async def version_numbered(
        metric: strawberry.Parent[records.Metric],
        info: Info,
        version: VersionNumberArgument,
    ) -> records.Metric | None:
        return await find_version(info, METRIC, metric, version)

    @strawberry.field(graphql_type="MetricVersion | None", description=LABELLED_DESCRIPTION)
    @staticmethod
    async def version_labelled(
        metric: strawberry.Parent[records.Metric], info: Info, label: LabelArgument
    ) -> records.Metric | None:
        return await find_labelled(info, METRIC, metric, label)

    @strawberry.field(
        graphql_type=list[Change] | None, metadata=price_metadata(2), description=DIFF_DESCRIPTION
    )
    @staticmethod
    async def diff(
        metric: strawberry.Parent[records.Metric],
        info: Info,
        from_: FromVersionArgument,
        to: ToVersionArgument,
    ) -> list[version_diff.ValueChange]:
        return await resources.compare_versions(info.context, METRIC, metric, from_, to)


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

    @strawberry.field(graphql_type=Metric, description="The metric in its latest version.")
    @reads_attributes({"MetricVersion": ("id",)})
    @staticmethod
    async def metric(
        version: strawberry.Parent[records.MetricVersion], info: Info
    ) -> records.Metric:
        projection = projected_attributes(info, "Metric")
        return await info.context.loaders.of(METRIC).latest(version.id, projection)


@strawberry.type
class MetricQuery:
    @strawberry.field(
        graphql_type=Metric | None,
        description=(
            "Find a metric by its global id, as it is now or as it was at a given "
            "time. The result is null if the metric does not exist or the caller "
            "cannot see it."
        ),
    )
    @staticmethod
    async def metric(
        info: Info, id: IdArgument, as_at: TimeArgument = UNSET
    ) -> records.Metric | None:
        return await find_resource(info, METRIC, id, as_at)

    @strawberry.field(
        graphql_type=Metric | None,
        description=(
            "Find the metric that has a name in the group or, if there is none, in the "
            "nearest group above it. The result is null if there is none."
        ),
    )
    @staticmethod
    async def metric_by_name(
        info: Info, name: NameArgument, group: GroupArgument = UNSET
    ) -> records.Metric | None:
        return await info.context.session.repository(METRIC).reading.by_name(
            name, unset_to_none(group)
        )

    @strawberry.field(
        graphql_type=Connection[Metric],
        description=f"List the metrics of a group. {LIST_RULES}",
    )
    @staticmethod
    async def metrics(
        info: Info,
        group: GroupArgument = UNSET,
        tags: TagsArgument = UNSET,
        include_child_groups: ChildGroupsArgument = False,
        order: OrderArgument = Order.NEWEST_FIRST,
        name: NameFilterArgument = UNSET,
        states: ResourceStatesArgument = UNSET,
        owner: OwnerArgument = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Metric]:
        selected = resource_selection(
            info,
            group,
            tags,
            include_child_groups,
            order,
            unset_to_none(name),
            states=states,
            owner=owner,
        )
        return await list_resources(
            info, METRIC, selected, page_from_arguments(first, after, last, before)
        )
