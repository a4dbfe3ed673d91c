"""Pipelines and their versions: types, query fields, and the list of a pipeline's executions."""

from typing import Annotated, Any, Final

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.executions.listing import ExecutionFilter
from penstock.datastore.executions.records import Execution as ExecutionRecord
from penstock.datastore.resources import version_diff
from penstock.datastore.table.layout import PIPELINE
from penstock.datastore.tag_search.tags import TagFilter as Filter
from penstock.graphql_jit import projected_attributes, reads_attributes
from penstock.resolvers import executions, formula_names, resources
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
from penstock.schema.core.relay import (
    Connection,
    page_from_arguments,
    read_connection,
    record_type_check,
)
from penstock.schema.core.scalars import JSON, DateTime
from penstock.schema.engine.cost import price_metadata
from penstock.schema.executions.executions import Execution
from penstock.schema.executions.group_executions import (
    ExecutionTagsArgument,
    StatesArgument,
    parse_time,
)
from penstock.schema.kept_rows.rows import HasRows
from penstock.schema.resources.queries import (
    LIST_RULES,
    ChildGroupsArgument,
    IdArgument,
    NameArgument,
    OrderArgument,
    OwnerArgument,
    ResourceStatesArgument,
    TagKeyConnection,
    TagsArgument,
    TagValueConnection,
    TimeArgument,
    find_resource,
    list_resources,
    read_tag_connection,
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
from penstock.schema.resources.transformers import Transformer
from penstock.schema.resources.uses import HasUsers, HasUses

FromTimeArgument = Annotated[
    DateTime | None,
    strawberry.argument(
        description="The time from which on the executions were created, inclusive.", name="from"
    ),
]
ToTimeArgument = Annotated[
    DateTime | None,
    strawberry.argument(
        description="The time before which the executions were created, exclusive.", name="to"
    ),
]
ExecutionOrderArgument = Annotated[
    Order | None,
    strawberry.argument(description="The order by time of creation. The default is newest first."),
]


@strawberry.type
class HasExecutions:
    """The fields about executions of a pipeline; not a type of the schema itself."""

    @strawberry.field(
        graphql_type=Connection[Execution],
        description=(
            "The executions of the pipeline. An execution that was just created may be "
            "missing for a moment."
        ),
    )
    @staticmethod
    async def executions(
        pipeline: strawberry.Parent[records.Pipeline],
        info: Info,
        tags: ExecutionTagsArgument = UNSET,
        states: StatesArgument = UNSET,
        since: FromTimeArgument = UNSET,
        until: ToTimeArgument = UNSET,
        order: ExecutionOrderArgument = Order.NEWEST_FIRST,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[ExecutionRecord]:
        wanted, limited = unset_to_none(tags), unset_to_none(states)
        listed = ExecutionFilter(
            tags=wanted.filter() if wanted else Filter(),
            states=frozenset(limited or ()),
            since=parse_time(since),
            until=parse_time(until),
            newest_first=order is not Order.OLDEST_FIRST,
        )
        projection = projected_attributes(info, "Execution")
        return await read_connection(
            info,
            ("executions", pipeline.id, listed.tags, sorted(listed.states), since, until, order),
            page_from_arguments(first, after, last, before),
            lambda window: executions.list_executions(
                info.context, pipeline, listed, window, projection
            ),
        )

    @strawberry.field(
        graphql_type=TagKeyConnection,
        description="The tag keys that the executions of the pipeline use.",
    )
    @staticmethod
    async def execution_tag_keys(
        pipeline: strawberry.Parent[records.Pipeline],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> TagKeyConnection:
        return await read_tag_connection(
            TagKeyConnection,
            info,
            ("executionTagKeys", pipeline.id),
            page_from_arguments(first, after, last, before),
            lambda window: executions.list_tag_keys(info.context, pipeline, window),
        )

    @strawberry.field(
        graphql_type=TagValueConnection,
        description=(
            "The tag values that the executions of the pipeline use for a key: those of the "
            "top level, or those one level below `parent`."
        ),
    )
    @staticmethod
    async def execution_tag_values(
        pipeline: strawberry.Parent[records.Pipeline],
        info: Info,
        key: Annotated[str, strawberry.argument(description="The key of the tags.")],
        parent: Annotated[
            str | None,
            strawberry.argument(
                description="The value whose next level is listed. The default is the top level."
            ),
        ] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> TagValueConnection:
        above = unset_to_none(parent)
        return await read_tag_connection(
            TagValueConnection,
            info,
            ("executionTagValues", pipeline.id, key, above),
            page_from_arguments(first, after, last, before),
            lambda window: executions.list_tag_values(info.context, pipeline, key, above, window),
        )


_TRANSFORMER_ATTRIBUTES: Final = ("transformer", "references")


@reads_attributes({"Pipeline": _TRANSFORMER_ATTRIBUTES, "PipelineVersion": _TRANSFORMER_ATTRIBUTES})
def current_transformer(
    pipeline: strawberry.Parent[records.Pipeline], info: Info
) -> Any:  # a transformer, or an awaitable of one
    """Return the transformer with the names that calculations and datasets have now."""
    return formula_names.current_transformer(info.context, pipeline)


@strawberry.type(
    description="A pipeline, which turns input rows into output rows, in its latest version."
)
class Pipeline(Resource, HasUses, HasUsers, HasExecutions, HasRows):
    attributes: JSON | None = strawberry.field(
        description="A JSON object with further values that users keep with the pipeline."
    )
    transformer: Transformer = strawberry.field(
        graphql_type=Transformer,
        resolver=current_transformer,
        metadata=price_metadata(0),
        description="The parameters and formulas that turn an input row into an output row.",
    )

    is_type_of = record_type_check(records.Pipeline)

    @strawberry.field(graphql_type=Connection["PipelineVersion"], description=VERSIONS_DESCRIPTION)
    @staticmethod
    async def versions(
        pipeline: strawberry.Parent[records.Pipeline],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Pipeline]:
        return await list_versions(
            info, PIPELINE, pipeline, page_from_arguments(first, after, last, before)
        )

    @strawberry.field(graphql_type="PipelineVersion | None", description=VERSION_DESCRIPTION)
    @staticmethod
    async def version_numbered(
        pipeline: strawberry.Parent[records.Pipeline], info: Info, version: VersionNumberArgument
    ) -> records.Pipeline | None:
        return await find_version(info, PIPELINE, pipeline, version)

    @strawberry.field(graphql_type="PipelineVersion | None", description=LABELLED_DESCRIPTION)
    @staticmethod
    async def version_labelled(
        pipeline: strawberry.Parent[records.Pipeline], info: Info, label: LabelArgument
    ) -> records.Pipeline | None:
        return await find_labelled(info, PIPELINE, pipeline, label)

    @strawberry.field(
        graphql_type=list[Change] | None, metadata=price_metadata(2), description=DIFF_DESCRIPTION
    )
    @staticmethod
    async def diff(
        pipeline: strawberry.Parent[records.Pipeline],
        info: Info,
        from_: FromVersionArgument,
        to: ToVersionArgument,
    ) -> list[version_diff.ValueChange]:
        return await resources.compare_versions(info.context, PIPELINE, pipeline, from_, to)


@strawberry.type(description="One version of a pipeline. A version never changes.")
class PipelineVersion(ResourceVersion):
    attributes: JSON | None = strawberry.field(
        description="A JSON object with further values that users kept with this version."
    )
    transformer: Transformer = strawberry.field(
        graphql_type=Transformer,
        resolver=current_transformer,
        metadata=price_metadata(0),
        description=(
            "The parameters and formulas with which this version turns an input row into an "
            "output row."
        ),
    )

    is_type_of = record_type_check(records.PipelineVersion)

    @strawberry.field(graphql_type=Pipeline, description="The pipeline in its latest version.")
    @reads_attributes({"PipelineVersion": ("id",)})
    @staticmethod
    async def pipeline(
        version: strawberry.Parent[records.PipelineVersion], info: Info
    ) -> records.Pipeline:
        projection = projected_attributes(info, "Pipeline")
        return await info.context.loaders.of(PIPELINE).latest(version.id, projection)


@strawberry.type
class PipelineQuery:
    @strawberry.field(
        graphql_type=Pipeline | None,
        description=(
            "Find a pipeline by its global id, as it is now or as it was at a given time. "
            "The result is null if the pipeline does not exist or the caller cannot see it."
        ),
    )
    @staticmethod
    async def pipeline(
        info: Info, id: IdArgument, as_at: TimeArgument = UNSET
    ) -> records.Pipeline | None:
        return await find_resource(info, PIPELINE, id, as_at)

    @strawberry.field(
        graphql_type=Pipeline | None,
        description=(
            "Find the pipeline that has a name in the group or, if there is none, in the "
            "nearest group above it. The result is null if there is none."
        ),
    )
    @staticmethod
    async def pipeline_by_name(
        info: Info, name: NameArgument, group: GroupArgument = UNSET
    ) -> records.Pipeline | None:
        return await info.context.session.repository(PIPELINE).reading.by_name(
            name, unset_to_none(group)
        )

    @strawberry.field(
        graphql_type=Connection[Pipeline],
        description=f"List the pipelines of a group. {LIST_RULES}",
    )
    @staticmethod
    async def pipelines(
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
    ) -> Connection[records.Pipeline]:
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
            info, PIPELINE, selected, page_from_arguments(first, after, last, before)
        )
