"""Pipelines and their versions: types, query fields, and the list of a pipeline's executions."""

from typing import Annotated, Any, Final

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.executions.lists.listing import ExecutionFilter
from penstock.datastore.executions.records import Execution as ExecutionRecord
from penstock.datastore.table.layout import PIPELINE
from penstock.datastore.tag_search.tags import TagFilter as Filter
from penstock.graphql_jit import projected_attributes, reads_attributes
from penstock.resolvers import executions, formula_names
from penstock.schema.core.context import After, Before, First, Info, Last, Order, unset_to_none
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
from penstock.schema.resources.kind_queries import (
    resource_by_name_field,
    resource_field,
    resource_list_field,
)
from penstock.schema.resources.queries import (
    TagKeyConnection,
    TagValueConnection,
    read_tag_connection,
)
from penstock.schema.resources.resource import Resource, ResourceVersion
from penstock.schema.resources.transformers import Transformer
from penstock.schema.resources.uses import HasUsers, HasUses
from penstock.schema.resources.version_fields import (
    diff_field,
    latest_version_field,
    version_labelled_field,
    version_numbered_field,
    versions_field,
)

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

    versions = versions_field(PIPELINE, Connection["PipelineVersion"])
    version_numbered = version_numbered_field(PIPELINE, "PipelineVersion | None")
    version_labelled = version_labelled_field(PIPELINE, "PipelineVersion | None")
    diff = diff_field(PIPELINE)


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

    pipeline = latest_version_field(PIPELINE, Pipeline)


@strawberry.type
class PipelineQuery:
    pipeline = resource_field(PIPELINE, Pipeline | None)
    pipeline_by_name = resource_by_name_field(PIPELINE, Pipeline | None)
    pipelines = resource_list_field(PIPELINE, Connection[Pipeline])
