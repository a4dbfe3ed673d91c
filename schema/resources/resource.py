"""The changes between two versions of a resource, of whatever kind.

The fields that the types of every kind of resource share, and the work of those of versions.
"""

from typing import Annotated, Final, TypeAlias, TypeVar

import strawberry

from penstock.datastore import records
from penstock.datastore.errors import NotFound
from penstock.datastore.records import State
from penstock.datastore.resources.version_diff import MAX_CHANGES, Operation
from penstock.datastore.resources.versions import Wanted
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import Kind
from penstock.graphql_jit import attributes_asked
from penstock.resolvers import resources
from penstock.schema.core.context import Info, PageArguments, Tag
from penstock.schema.core.relay import Connection, Node, connect
from penstock.schema.core.scalars import JSON, DateTime
from penstock.schema.engine.cost import costs
from penstock.schema.groups.groups import Group

strawberry.enum(
    Operation,
    name="ChangeOperation",
    description="What happened to a value, as JSON Patch (RFC 6902) calls it.",
)


@strawberry.type(description="A value that differs between two versions.")
class Change:
    op: Operation = strawberry.field(description="What happened to it.")
    path: str = strawberry.field(
        description="Where it is in the content: a JSON pointer (RFC 6901) like "
        "`/transformer/transforms/0/formula`."
    )
    before: JSON | None = strawberry.field(description="What it was; null for what was added.")
    after: JSON | None = strawberry.field(description="What it is; null for what is gone.")


FromVersion: TypeAlias = Annotated[
    int, strawberry.argument(name="from", description="The number of the one version.")
]
ToVersion: TypeAlias = Annotated[
    int, strawberry.argument(description="The number of the other version.")
]

DIFF: Final = (
    "The changes that turn the content of one version into that of another, in the order of the "
    "fields. Entries of lists are compared by their places. A field with more than "
    f"{MAX_CHANGES} changes is shown as one change."
)

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


VERSIONS: Final = "Every version, the newest first."
VERSION_NUMBERED: Final = "The version with this number; null if there is none."
VersionNumber: TypeAlias = Annotated[
    int, strawberry.argument(description="The number of the version, from 1.")
]


async def list_versions(
    info: Info, kind: Kind[R], resource: R, page: PageArguments
) -> Connection[R]:
    """Read a page of the versions of a resource."""
    pages, asked = (
        info.context.loaders.of(kind).version_pages,
        attributes_asked(info, kind.version_title),
    )
    return await connect(
        info,
        ("versions", resource.id),
        page,
        lambda window: pages.load((resource, Wanted(window, asked))),
    )


async def find_version(info: Info, kind: Kind[R], resource: R, number: int) -> R | None:
    """Read the version of a number; None where there is none."""
    try:
        return await info.context.loaders.of(kind).versions.load((resource, number))
    except NotFound:
        return None
