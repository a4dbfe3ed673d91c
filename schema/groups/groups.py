"""The type of groups, the field that queries a group, and the mutations of groups."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.access import quota_report
from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.groups.content import MAX_DESCRIPTION, MAX_NAME, MAX_TAGS, GroupContent
from penstock.datastore.history.rows import HistoryEntry as EntryRecord
from penstock.datastore.jobs.jobs import Job as JobRecord
from penstock.datastore.records import GroupState
from penstock.datastore.roles import GroupPath
from penstock.resolvers import groups
from penstock.schema.core.context import (
    After,
    Before,
    First,
    Info,
    Last,
    Tag,
    TagInput,
    input_records,
    unset_to_none,
)
from penstock.schema.core.descriptions import InputOf, describe_values
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

_DESCRIPTION = f"The purpose of the group, of at most {MAX_DESCRIPTION} characters."
_TAGS = f"The tags that mark the group: at most {MAX_TAGS}, with different keys."

strawberry.enum(GroupState, description="The state of a group.")
describe_values(
    GroupState,
    {
        GroupState.ENABLED: "The group is in use.",
        GroupState.DISABLED: (
            "In the group and in those below it nothing is made, changed or started. Everything "
            "can be read, and resources can be deleted and change their states and grants."
        ),
    },
)


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
    description: str | None = strawberry.field(description="The purpose of the group, for people.")
    tags: list[Tag] = strawberry.field(description="The tags that mark the group, for people.")
    state: GroupState = strawberry.field(
        description="The state that was set for the group itself; `disabledThrough` says whether "
        "it takes anything new."
    )
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
        description="The path of the group by which this one is disabled: itself, or the nearest "
        "one above. Null if resources can be made and executions be started in it.",
        metadata=price_metadata(1),
    )
    @staticmethod
    async def disabled_through(
        group: strawberry.Parent[records.Group], info: Info
    ) -> GroupPath | None:
        return await info.context.session.groups.disabled_through(group)

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


@strawberry.type(description="The result of changing a group.")
class UpdateGroupPayload:
    group: records.Group = strawberry.field(
        graphql_type=Group, description="The group after the change."
    )


CreateGroupResult = Annotated[
    CreateGroupPayload | NotFound | NotPermitted | ValidationProblem | NameTaken | IllegalState,
    strawberry.union(
        "CreateGroupResult", description="The new group, or the reason why it was not created."
    ),
]
UpdateGroupResult = Annotated[
    UpdateGroupPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union(
        "UpdateGroupResult", description="The changed group, or the reason why nothing changed."
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
    description: str | None = strawberry.field(default=UNSET, description=_DESCRIPTION)
    tags: list[TagInput] | None = strawberry.field(default=UNSET, description=_TAGS)


@strawberry.input(
    description="The group to change. Fields that are left out stay as they are; null removes the "
    "description or the tags."
)
class UpdateGroupInput:
    path: GroupPath = strawberry.field(
        description="The path of the group; the root cannot be changed."
    )
    name: str | None = strawberry.field(
        default=UNSET, description=f"The display name of the group: 1 to {MAX_NAME} characters."
    )
    description: str | None = strawberry.field(default=UNSET, description=_DESCRIPTION)
    tags: list[TagInput] | None = strawberry.field(default=UNSET, description=_TAGS)
    state: GroupState | None = strawberry.field(
        default=UNSET, description="The new state of the group."
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


def _read_changes(input: UpdateGroupInput) -> GroupContent:
    """Read the fields that the input contains; a null removes what can be removed."""
    nulls = [name for name in ("name", "state") if getattr(input, name) is None]
    if nulls:
        raise Invalid([FieldProblem([name], "must not be null") for name in nulls])
    return GroupContent(
        name=unset_to_none(input.name),
        description=None if input.description is UNSET else input.description or "",
        tags=None if input.tags is UNSET else input_records(input.tags),
        state=unset_to_none(input.state),
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
        created = await groups.create(
            info.context,
            input.path,
            unset_to_none(input.name),
            unset_to_none(input.description),
            input_records(unset_to_none(input.tags)),
        )
        return CreateGroupPayload(group=created)

    @strawberry.mutation(
        graphql_type=UpdateGroupResult,
        description="Change the name, description, tags or state of a group. The caller must be an "
        "admin of the group.",
    )
    @staticmethod
    async def update_group(info: Info, input: InputOf[UpdateGroupInput]) -> UpdateGroupPayload:
        changed = await groups.update(info.context, input.path, _read_changes(input))
        return UpdateGroupPayload(group=changed)

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
