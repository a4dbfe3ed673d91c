"""Pipelines and their versions: types and query fields."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from datastore import records
from datastore.errors import NotFound
from datastore.paths import GroupPath
from datastore.records import State
from datastore.resources.listing import Listed
from resolvers import pipelines
from schema.common import After, Before, First, Info, InGroup, Last, Order, Tag, given
from schema.connections import Connection, connect, page_of
from schema.groups import Group
from schema.nodes import Node, key_of
from schema.scalars import JSON, DateTime
from schema.tags import TagFilter
from schema.transformers import Transformer


@strawberry.type(description="A pipeline: how input rows become output rows. Its latest version.")
class Pipeline(Node):
    name: str = strawberry.field(
        description="Unique along the line of each group it is granted to."
    )
    description: str | None = strawberry.field(description="What it is for, for people.")
    state: State = strawberry.field(description="Whether it may be used.")
    attributes: JSON | None = strawberry.field(description="Whatever its users keep with it.")
    tags: list[Tag] = strawberry.field(description="What it is found by.")
    groups: list[GroupPath] = strawberry.field(
        description="The groups granted access; those below them inherit it."
    )
    owner: GroupPath = strawberry.field(description="The group it was created in.")
    transformer: Transformer = strawberry.field(description="What it does with a row.")
    version: int = strawberry.field(description="Counts the contents, from 1.")
    created_at: DateTime = strawberry.field(description="When its first version was made.")
    created_by: str = strawberry.field(description="The id of the user who created it.")
    updated_at: DateTime = strawberry.field(description="When this version was made.")
    updated_by: str = strawberry.field(description="The id of the user who made this version.")

    @classmethod
    def is_type_of(cls, value: object, _info: object) -> bool:
        return type(value) is records.Pipeline

    @strawberry.field(
        graphql_type=Group | None,
        description="The group it was created in; null where the caller may not know it.",
    )
    @staticmethod
    async def owner_group(
        pipeline: strawberry.Parent[records.Pipeline], info: Info
    ) -> records.Group | None:
        return await pipelines.owner_group(info.context, pipeline)

    @strawberry.field(
        graphql_type=Connection[Annotated["PipelineVersion", strawberry.lazy("schema.pipelines")]],
        description="Every version, newest first.",
    )
    @staticmethod
    async def versions(
        pipeline: strawberry.Parent[records.Pipeline],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Pipeline]:
        return await connect(
            info,
            ("versions", pipeline.id),
            page_of(first, after, last, before),
            lambda window: pipelines.versions(info.context, pipeline, window),
        )

    @strawberry.field(
        graphql_type=Annotated["PipelineVersion", strawberry.lazy("schema.pipelines")] | None,
        description="The version of this number, if there is one.",
    )
    @staticmethod
    async def version_numbered(
        pipeline: strawberry.Parent[records.Pipeline],
        info: Info,
        version: Annotated[int, strawberry.argument(description="The number, from 1.")],
    ) -> records.Pipeline | None:
        try:
            return await pipelines.version(info.context, pipeline, version)
        except NotFound:
            return None


@strawberry.type(description="A pipeline as it was at one of its versions.")
class PipelineVersion(Node):
    version: int = strawberry.field(description="Its number, from 1.")
    name: str = strawberry.field(description="The name at this version.")
    description: str | None = strawberry.field(description="What the pipeline was for, for people.")
    state: State = strawberry.field(description="Whether the pipeline could be used.")
    attributes: JSON | None = strawberry.field(description="Whatever its users kept with it.")
    tags: list[Tag] = strawberry.field(
        description="The tags at this version; searches go by the latest."
    )
    groups: list[GroupPath] = strawberry.field(description="The grants as of this version.")
    transformer: Transformer = strawberry.field(description="What it did with a row.")
    created_at: DateTime = strawberry.field(description="When the pipeline was created.")
    created_by: str = strawberry.field(description="The id of the user who created the pipeline.")
    updated_at: DateTime = strawberry.field(description="When this version was made.")
    updated_by: str = strawberry.field(description="The id of the user who made this version.")

    @classmethod
    def is_type_of(cls, value: object, _info: object) -> bool:
        return type(value) is records.PipelineVersion

    @strawberry.field(graphql_type=Pipeline, description="The pipeline as it is now.")
    @staticmethod
    async def pipeline(
        version: strawberry.Parent[records.PipelineVersion], info: Info
    ) -> records.Pipeline:
        return await pipelines.by_id(info.context, version.id)


@strawberry.type
class PipelineQuery:
    @strawberry.field(graphql_type=Pipeline | None, description="A pipeline by its global id.")
    @staticmethod
    async def pipeline(
        info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
    ) -> records.Pipeline | None:
        return await pipelines.by_id(info.context, key_of("Pipeline", id))

    @strawberry.field(
        graphql_type=Pipeline | None,
        description="The pipeline that holds the name in the group or nearest above it.",
    )
    @staticmethod
    async def pipeline_by_name(
        info: Info,
        name: Annotated[str, strawberry.argument(description="The name, in any case.")],
        group: InGroup = UNSET,
    ) -> records.Pipeline | None:
        return await pipelines.by_name(info.context, name, given(group))

    @strawberry.field(
        graphql_type=Connection[Pipeline],
        description="What the group sees by its own grants and those above it; with "
        "`includeChildGroups` also what is granted below it. A search that reads very much ends "
        "its page early; its cursor goes on from there.",
    )
    @staticmethod
    async def pipelines(
        info: Info,
        group: InGroup = UNSET,
        tags: Annotated[
            TagFilter | None, strawberry.argument(description="All pipelines if absent.")
        ] = UNSET,
        include_child_groups: Annotated[
            bool | None, strawberry.argument(description="Whether to look below the group as well.")
        ] = False,
        order: Annotated[
            Order | None, strawberry.argument(description="By the time of creation.")
        ] = Order.NEWEST_FIRST,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Pipeline]:
        listed = Listed(
            group=given(group) or info.context.caller.default_group,
            tags=(given(tags) or TagFilter()).filter(),
            include_child_groups=bool(include_child_groups),
            newest_first=order is not Order.OLDEST_FIRST,
        )
        return await connect(
            info,
            ("pipelines", listed),
            page_of(first, after, last, before),
            lambda window: pipelines.page(info.context, listed, window),
        )
