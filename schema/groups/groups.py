"""The type of groups, the field that queries a group, and the mutations of groups."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.access import quota_report
from penstock.datastore.groups.repository import MAX_NAME
from penstock.datastore.history.rows import HistoryEntry as EntryRecord
from penstock.datastore.jobs.jobs import Job as JobRecord
from penstock.datastore.roles import GroupPath
from penstock.resolvers import groups
from penstock.schema.core.context import After, Before, First, Info, Last, unset_to_none
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import (
    IllegalState,
    NameTaken,
    NotFound,
    NotPermitted,
    ValidationProblem,
)
from penstock.schema.core.history import HistoryEntry, read_history
from penstock.schema.core.jobs import Job
from penstock.schema.core.quotas import Quota
from penstock.schema.core.relay import (
    Connection,
    Node,
    page_from_arguments,
    read_connection,
    record_type_check,
)
from penstock.schema.core.scalars import DateTime
from penstock.schema.engine.cost import price_metadata


@strawberry.type(
    description="A group: a node of the hierarchy in which users have roles and resources are "
    "owned and granted."
)
class Group(Node):
    path: GroupPath = strawberry.field(
        description="The path of the group from the root, in the normalized form in which paths "
        "are compared."
    )
    name: str = strawberry.field(description="The display name of the group.")
    created_at: DateTime | None = strawberry.field(
        description="The time when the group was created, in UTC; null for the root."
    )
    created_by: str | None = strawberry.field(
        description="The id of the user who created the group; null for the root."
    )

    is_type_of = record_type_check(records.Group)

    @strawberry.field(
        graphql_type="Group | None", description="The group directly above; null for the root."
    )
    @staticmethod
    async def parent(group: strawberry.Parent[records.Group], info: Info) -> records.Group | None:
        return await groups.load_parent(info.context, group)

    @strawberry.field(
        graphql_type=Connection["Group"],
        description="The groups directly below that the caller can see, sorted by path.",
    )
    @staticmethod
    async def children(
        group: strawberry.Parent[records.Group],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Group]:
        return await read_connection(
            info,
            ("children", group.path),
            page_from_arguments(first, after, last, before),
            lambda window: info.context.session.groups.children(group, window),
        )

    @strawberry.field(
        graphql_type=list[Quota] | None,
        description="The quotas of the group with all groups below it, and their use; null unless "
        "the caller has a role at the group. For the root it is added up group by group.",
        metadata=price_metadata(10),
    )
    @staticmethod
    async def quotas(
        group: strawberry.Parent[records.Group], info: Info
    ) -> Sequence[quota_report.Quota] | None:
        return await info.context.session.quotas.of_group(group.path)

    @strawberry.field(
        graphql_type=Connection[HistoryEntry] | None,
        description="The changes of rights and states, and the deletions, of resources of the "
        "group and of those granted to it, of child groups, and of API keys with a role at it, "
        "with their users, times and addresses; the newest first. Null unless the caller is an "
        "administrator of the group.",
    )
    @staticmethod
    async def history(
        group: strawberry.Parent[records.Group],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[EntryRecord] | None:
        return await read_history(
            info,
            ("group", group.path),
            group.path,
            page_from_arguments(first, after, last, before),
            partial(info.context.session.history.of_group, group.path),
        )


@strawberry.type(description="The result of creating a group.")
class CreateGroupPayload:
    group: records.Group = strawberry.field(
        graphql_type=Group, description="The group that was created."
    )


@strawberry.type(description="The result of deleting a group.")
class DeleteGroupPayload:
    group: records.Group = strawberry.field(
        graphql_type=Group, description="The group as it was before the deletion."
    )
    job: JobRecord | None = strawberry.field(
        graphql_type=Job | None,
        description="The job that deletes the group with everything in and below it; null if the "
        "group is already deleted.",
    )


CreateGroupResult = Annotated[
    CreateGroupPayload | NotFound | NotPermitted | ValidationProblem | NameTaken,
    strawberry.union(
        "CreateGroupResult", description="The new group, or the reason why it was not created."
    ),
]
DeleteGroupResult = Annotated[
    DeleteGroupPayload | NotFound | NotPermitted | IllegalState,
    strawberry.union(
        "DeleteGroupResult", description="The deleted group, or the reason why it was not deleted."
    ),
]


@strawberry.input(description="The group to create.")
class CreateGroupInput:
    path: GroupPath = strawberry.field(
        description="The path of the new group, such as `/usa/northwest`; its parent must exist."
    )
    name: str | None = strawberry.field(
        default=UNSET,
        description=f"The display name of the group: 1 to {MAX_NAME} characters; the last "
        "part of the path if left out.",
    )


@strawberry.input(description="The group to delete.")
class DeleteGroupInput:
    path: GroupPath = strawberry.field(
        description="The path of the group; the root cannot be deleted."
    )
    cascade: bool | None = strawberry.field(
        default=False,
        description="True to delete also the groups below and all resources that these groups "
        "own, as a job in the background. Grants to the deleted groups are revoked.",
    )


@strawberry.type
class GroupQuery:
    @strawberry.field(
        graphql_type=Group | None,
        description="The group at a path; null unless it is above, below or equal to a group in "
        "which the caller has a role.",
    )
    @staticmethod
    async def group(
        info: Info,
        path: Annotated[
            GroupPath,
            strawberry.argument(description="The path of the group, such as `/usa/northwest`."),
        ],
    ) -> records.Group | None:
        return await groups.load_group(info.context, path)


@strawberry.type
class GroupMutation:
    @strawberry.mutation(
        graphql_type=CreateGroupResult,
        description="Create a group below an existing group. The caller must be an admin at the "
        "new path.",
    )
    @staticmethod
    async def create_group(info: Info, input: InputOf[CreateGroupInput]) -> CreateGroupPayload:
        created = await groups.create(info.context, input.path, unset_to_none(input.name))
        return CreateGroupPayload(group=created)

    @strawberry.mutation(
        graphql_type=DeleteGroupResult,
        description="Delete an empty group, or with `cascade` a group with everything in it. The "
        "caller must be an admin of the group. Nothing can be added to a group while a job "
        "deletes it.",
    )
    @staticmethod
    async def delete_group(info: Info, input: InputOf[DeleteGroupInput]) -> DeleteGroupPayload:
        deleted, job = await groups.delete(info.context, input.path, bool(input.cascade))
        return DeleteGroupPayload(group=deleted, job=job)
