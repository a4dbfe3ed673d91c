"""The fields of resources and versions of every kind, and the changes between two versions."""

from functools import partial
from typing import Annotated, Final

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.history.rows import HistoryEntry as EntryRecord
from penstock.datastore.records import State
from penstock.datastore.resources.rules import MAX_DESCRIPTION, MAX_NAME
from penstock.datastore.resources.version_dates.active_from import active_since
from penstock.datastore.resources.version_diff import ChangeOperation
from penstock.datastore.resources.version_labels.labels import MAX_LABEL
from penstock.datastore.roles import MAX_USER_ID, GroupPath
from penstock.graphql_jit import reads_attributes
from penstock.resolvers import resources
from penstock.schema.core.context import After, Before, First, Info, Last, Tag
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.history import HistoryEntry, read_history
from penstock.schema.core.relay import Connection, Node, page_from_arguments
from penstock.schema.core.scalars import JSON, DateTime
from penstock.schema.core.text_bounds import text_metadata
from penstock.schema.engine.cost import price_metadata
from penstock.schema.groups.groups import Group

strawberry.enum(
    ChangeOperation,
    name="ChangeOperation",
    description="The kind of change to a value, with the operation names of JSON Patch (RFC 6902).",
)
describe_values(
    ChangeOperation,
    {
        ChangeOperation.ADD: "The value was added in the second version.",
        ChangeOperation.REMOVE: "The value was removed in the second version.",
        ChangeOperation.REPLACE: (
            "The value of the first version was replaced in the second version."
        ),
    },
)


@strawberry.type(description="A value that differs between two versions.")
class Change:
    op: ChangeOperation = strawberry.field(description="The kind of change to the value.")
    path: str = strawberry.field(
        description=(
            "The place of the value in the content, as a JSON pointer (RFC 6901) such as "
            "`/transformer/transforms/0/formula`."
        )
    )
    before: JSON | None = strawberry.field(
        description="The value in the first version; null if the value was added."
    )
    after: JSON | None = strawberry.field(
        description="The value in the second version; null if the value was removed."
    )


RESOURCE_TYPES: Final = ("Pipeline", "Calculation", "ReferenceDataset", "Metric")


@strawberry.type(description="A label of a version. It is on one version of the resource.")
class VersionLabel:
    label: str = strawberry.field(
        metadata=text_metadata(MAX_LABEL), description="The label, as it was set last."
    )
    version: int = strawberry.field(description="The number of the version that has it.")
    set_at: DateTime = strawberry.field(description="The time when it was set, in UTC.")
    set_by: str = strawberry.field(
        metadata=text_metadata(MAX_USER_ID), description="The id of the user who set it."
    )


@strawberry.type
class Resource(Node):
    """The common fields of the latest version; not a type of the schema itself."""

    name: str = strawberry.field(
        metadata=text_metadata(MAX_NAME),
        description=(
            "The name. No other resource of the same kind has it in a group that has access, or "
            "in a group above or below that one."
        ),
    )
    description: str | None = strawberry.field(
        metadata=text_metadata(MAX_DESCRIPTION),
        description="The purpose of the resource, for people.",
    )
    state: State = strawberry.field(
        description="The state, which decides whether the resource can be used and changed."
    )
    tags: list[Tag] = strawberry.field(description="The tags by which the resource is found.")
    owner: GroupPath = strawberry.field(
        description="The path of the group in which the resource was created."
    )
    version: int = strawberry.field(description="The number of the latest version, counted from 1.")
    created_at: DateTime = strawberry.field(
        description="The time when the first version was created, in UTC."
    )
    created_by: str = strawberry.field(
        metadata=text_metadata(MAX_USER_ID),
        description="The id of the user who created the resource.",
    )
    updated_at: DateTime = strawberry.field(
        description="The time when the latest version was created, in UTC."
    )
    updated_by: str = strawberry.field(
        metadata=text_metadata(MAX_USER_ID),
        description="The id of the user who created the latest version.",
    )

    labels: list[VersionLabel] = strawberry.field(
        description="The labels of all versions, in their order by text; with `asAt`, those that "
        "the version and the earlier ones have now."
    )

    @strawberry.field(
        metadata=price_metadata(0),
        description="The time from which on `asAt` gives the latest version, in UTC: that of its "
        "creation, unless it names another one.",
    )
    @reads_attributes(dict.fromkeys(RESOURCE_TYPES, ("active_from", "updated_at")))
    @staticmethod
    def active_from(resource: strawberry.Parent[records.Resource]) -> DateTime:
        return DateTime(active_since(resource))

    @strawberry.field(
        metadata=price_metadata(0),
        description=(
            "The paths of the groups that have a grant, as far as the caller may know them. All "
            "groups below them inherit it."
        ),
    )
    @reads_attributes(dict.fromkeys(RESOURCE_TYPES, ("groups", "owner")))
    @staticmethod
    def groups(resource: strawberry.Parent[records.Resource], info: Info) -> list[GroupPath]:
        return resources.known_groups(info.context, resource)

    @strawberry.field(
        graphql_type=Group | None,
        description=(
            "The group in which the resource was created; null if the caller may not know it."
        ),
    )
    @staticmethod
    async def owner_group(
        resource: strawberry.Parent[records.Resource], info: Info
    ) -> records.Group | None:
        return await resources.load_owner_group(info.context, resource)

    @strawberry.field(
        metadata=price_metadata(1),
        description=(
            "The path of the group whose grant lets a given group see the resource: the "
            "given group itself or a group above it. It is null if the given group does not "
            "see the resource."
        ),
    )
    @staticmethod
    async def granted_through(
        resource: strawberry.Parent[records.Resource],
        info: Info,
        group: Annotated[
            GroupPath, strawberry.argument(description="The path of the group to check.")
        ],
    ) -> GroupPath | None:
        return await resources.find_granting_group(info.context, resource, group)

    @strawberry.field(
        graphql_type=Connection[HistoryEntry] | None,
        description=(
            "The grants, revokes and changes of state with their users, times and addresses; the "
            "newest first. Null unless the caller is an administrator of the owner group."
        ),
    )
    @reads_attributes(dict.fromkeys(RESOURCE_TYPES, ("id", "owner")))
    @staticmethod
    async def history(
        resource: strawberry.Parent[records.Resource],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[EntryRecord] | None:
        return await read_history(
            info,
            ("resource", resource.id),
            resource.owner,
            page_from_arguments(first, after, last, before),
            partial(info.context.session.history.of_resource, resource),
        )


@strawberry.type
class ResourceVersion(Node):
    """The common fields of one version; not a type of the schema itself."""

    version: int = strawberry.field(description="The number of the version, counted from 1.")
    name: str = strawberry.field(description="The name that the resource had in this version.")
    description: str | None = strawberry.field(
        description="The purpose of the resource, for people, as this version states it."
    )
    state: State = strawberry.field(description="The state that the resource had in this version.")
    tags: list[Tag] = strawberry.field(
        description=(
            "The tags of this version. A search compares the tags of the latest version only."
        )
    )
    created_at: DateTime = strawberry.field(
        description="The time when the first version was created, in UTC."
    )
    created_by: str = strawberry.field(
        description="The id of the user who created the first version."
    )
    updated_at: DateTime = strawberry.field(
        description="The time when this version was created, in UTC."
    )
    updated_by: str = strawberry.field(description="The id of the user who created this version.")

    @strawberry.field(description="The labels that the version has now, in their order by text.")
    @reads_attributes({f"{name}Version": ("id", "version") for name in RESOURCE_TYPES})
    @staticmethod
    async def labels(version: strawberry.Parent[records.Resource], info: Info) -> list[str]:
        return await resources.load_labels(info.context, version)

    @strawberry.field(
        metadata=price_metadata(0),
        description="The time from which on `asAt` gives this version, in UTC: that of its "
        "creation, unless it names another one.",
    )
    @reads_attributes({f"{name}Version": ("active_from", "updated_at") for name in RESOURCE_TYPES})
    @staticmethod
    def active_from(version: strawberry.Parent[records.Resource]) -> DateTime:
        return DateTime(active_since(version))

    @strawberry.field(
        metadata=price_metadata(0),
        description=(
            "The paths of the groups that had a grant in this version, as far as the caller may "
            "know them."
        ),
    )
    @reads_attributes({f"{name}Version": ("groups", "owner") for name in RESOURCE_TYPES})
    @staticmethod
    def groups(version: strawberry.Parent[records.Resource], info: Info) -> list[GroupPath]:
        return resources.known_groups(info.context, version)
