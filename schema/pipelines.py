"""Pipelines and their versions: types and query fields."""

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.layout import PIPELINE
from penstock.datastore.resources import differences
from penstock.execution import attributes_asked, reads
from penstock.resolvers import resources
from penstock.schema.common import After, Before, First, Info, InGroup, Last, Order, given
from penstock.schema.connections import Connection, page_of
from penstock.schema.nodes import shows
from penstock.schema.pipeline_executions import HasExecutions
from penstock.schema.prices import costs
from penstock.schema.resource_changes import DIFF, Change, FromVersion, ToVersion
from penstock.schema.resource_queries import (
    LIST,
    AlsoBelow,
    AsAt,
    InOrder,
    OfId,
    OfName,
    WithTags,
    find_resource,
    list_resources,
    selection,
)
from penstock.schema.resources import (
    VERSION_NUMBERED,
    VERSIONS,
    Resource,
    ResourceVersion,
    VersionNumber,
    find_version,
    list_versions,
)
from penstock.schema.scalars import JSON
from penstock.schema.transformers import Transformer


@strawberry.type(description="A pipeline: how input rows become output rows. Its latest version.")
class Pipeline(Resource, HasExecutions):
    attributes: JSON | None = strawberry.field(description="Whatever its users keep with it.")
    transformer: Transformer = strawberry.field(description="What it does with a row.")

    is_type_of = shows(records.Pipeline)

    @strawberry.field(graphql_type=Connection["PipelineVersion"], description=VERSIONS)
    @staticmethod
    async def versions(
        pipeline: strawberry.Parent[records.Pipeline],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Pipeline]:
        return await list_versions(info, PIPELINE, pipeline, page_of(first, after, last, before))

    @strawberry.field(graphql_type="PipelineVersion | None", description=VERSION_NUMBERED)
    @staticmethod
    async def version_numbered(
        pipeline: strawberry.Parent[records.Pipeline], info: Info, version: VersionNumber
    ) -> records.Pipeline | None:
        return await find_version(info, PIPELINE, pipeline, version)

    @strawberry.field(graphql_type=list[Change] | None, metadata=costs(2), description=DIFF)
    @staticmethod
    async def diff(
        pipeline: strawberry.Parent[records.Pipeline],
        info: Info,
        from_: FromVersion,
        to: ToVersion,
    ) -> list[differences.Change]:
        return await resources.diff(info.context.desk(PIPELINE), pipeline, from_, to)


@strawberry.type(description="A pipeline as it was at one of its versions.")
class PipelineVersion(ResourceVersion):
    attributes: JSON | None = strawberry.field(description="Whatever its users kept with it.")
    transformer: Transformer = strawberry.field(description="What it did with a row.")

    is_type_of = shows(records.PipelineVersion)

    @strawberry.field(graphql_type=Pipeline, description="The pipeline as it is now.")
    @reads({"PipelineVersion": ("id",)})
    @staticmethod
    async def pipeline(
        version: strawberry.Parent[records.PipelineVersion], info: Info
    ) -> records.Pipeline:
        asked = attributes_asked(info, "Pipeline")
        return await info.context.desk(PIPELINE).latest(version.id, asked)


@strawberry.type
class PipelineQuery:
    @strawberry.field(
        graphql_type=Pipeline | None,
        description="Find a pipeline by its global id, as it is now or as it was at a time.",
    )
    @staticmethod
    async def pipeline(info: Info, id: OfId, as_at: AsAt = UNSET) -> records.Pipeline | None:
        return await find_resource(info, PIPELINE, id, as_at)

    @strawberry.field(
        graphql_type=Pipeline | None,
        description="Find the pipeline that holds a name in the group, or nearest above it.",
    )
    @staticmethod
    async def pipeline_by_name(
        info: Info, name: OfName, group: InGroup = UNSET
    ) -> records.Pipeline | None:
        return await info.context.view.of(PIPELINE).reading.by_name(name, given(group))

    @strawberry.field(graphql_type=Connection[Pipeline], description=f"List pipelines. {LIST}")
    @staticmethod
    async def pipelines(
        info: Info,
        group: InGroup = UNSET,
        tags: WithTags = UNSET,
        include_child_groups: AlsoBelow = False,
        order: InOrder = Order.NEWEST_FIRST,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Pipeline]:
        selected = selection(info, group, tags, include_child_groups, order)
        return await list_resources(info, PIPELINE, selected, page_of(first, after, last, before))
