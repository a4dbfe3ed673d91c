"""What the types of all kinds of resources share, and the fields that lead to their versions."""

from typing import Annotated, Any, TypeVar, cast

import strawberry
from strawberry import UNSET

from datastore import records
from datastore.errors import NotFound
from datastore.layout import Kind
from datastore.paths import GroupPath
from datastore.records import State
from execution import attributes_asked, reads
from resolvers import resources
from schema.common import After, Before, First, Info, Last, Tag
from schema.connections import Connection, connect, page_of
from schema.groups import Group
from schema.nodes import Node
from schema.prices import costs
from schema.scalars import DateTime

R = TypeVar("R", bound=records.Resource)


@strawberry.type
class Resource(Node):
    """The common fields of the latest version; itself no type of the schema."""

    name: str = strawberry.field(
        description="Unique along the line of each group it is granted to."
    )
    description: str | None = strawberry.field(description="What it is for, for people.")
    state: State = strawberry.field(description="Whether it may be used.")
    tags: list[Tag] = strawberry.field(description="What it is found by.")
    groups: list[GroupPath] = strawberry.field(
        description="The groups granted access; those below them inherit it."
    )
    owner: GroupPath = strawberry.field(description="The group it was created in.")
    version: int = strawberry.field(description="Counts the contents, from 1.")
    created_at: DateTime = strawberry.field(description="When its first version was made.")
    created_by: str = strawberry.field(description="The id of the user who created it.")
    updated_at: DateTime = strawberry.field(description="When this version was made.")
    updated_by: str = strawberry.field(description="The id of the user who made this version.")

    @strawberry.field(
        graphql_type=Group | None,
        description="The group it was created in; null where the caller may not know it.",
    )
    @staticmethod
    async def owner_group(
        resource: strawberry.Parent[records.Resource], info: Info
    ) -> records.Group | None:
        return await resources.owner_group(info.context, resource)

    @strawberry.field(
        metadata=costs(1),
        description="The group whose grant lets this one see it: the group itself, or the one "
        "above it from which it inherits; null where it does not see it.",
    )
    @staticmethod
    async def granted_through(
        resource: strawberry.Parent[records.Resource],
        info: Info,
        group: Annotated[GroupPath, strawberry.argument(description="Who is to see it.")],
    ) -> GroupPath | None:
        return await resources.granted_through(info.context, resource, group)


@strawberry.type
class ResourceVersion(Node):
    """The common fields of one version; itself no type of the schema."""

    version: int = strawberry.field(description="Its number, from 1.")
    name: str = strawberry.field(description="The name at this version.")
    description: str | None = strawberry.field(description="What it was for, for people.")
    state: State = strawberry.field(description="Whether it could be used.")
    tags: list[Tag] = strawberry.field(
        description="The tags at this version; searches go by the latest."
    )
    groups: list[GroupPath] = strawberry.field(description="The grants as of this version.")
    created_at: DateTime = strawberry.field(description="When the first version was made.")
    created_by: str = strawberry.field(description="The id of the user who made the first version.")
    updated_at: DateTime = strawberry.field(description="When this version was made.")
    updated_by: str = strawberry.field(description="The id of the user who made this version.")


def versions_of(kind: Kind[R], type: Any) -> Any:
    """Make the field that lists the versions."""

    async def versions(
        resource: strawberry.Parent[records.Resource],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[R]:
        desk, of = info.context.desk(kind), cast("R", resource)
        asked = attributes_asked(info, kind.version_title)
        return await connect(
            info,
            ("versions", resource.id),
            page_of(first, after, last, before),
            lambda window: resources.versions(desk, of, window, asked),
        )

    return strawberry.field(
        resolver=versions,
        graphql_type=Connection[type],
        description="Every version, newest first.",
    )


def version_numbered(kind: Kind[R], type: Any) -> Any:
    """Make the field that gives one version."""

    async def version_numbered(
        resource: strawberry.Parent[records.Resource],
        info: Info,
        version: Annotated[int, strawberry.argument(description="The number, from 1.")],
    ) -> R | None:
        try:
            return await resources.version(info.context.desk(kind), cast("R", resource), version)
        except NotFound:
            return None

    return strawberry.field(
        resolver=version_numbered,
        graphql_type=type | None,
        description="The version of this number, if there is one.",
    )


def latest_of(kind: Kind[R], type: Any) -> Any:
    """Make the field of a version that leads back to what it is a version of."""

    @reads({kind.version_title: ("id",)})
    async def latest(version: strawberry.Parent[records.Resource], info: Info) -> R:
        asked = attributes_asked(info, kind.title)
        return await resources.by_id(info.context.desk(kind), version.id, asked)

    return strawberry.field(
        resolver=latest, graphql_type=type, description=f"The {kind.noun} as it is now."
    )
