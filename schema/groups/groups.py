"""Groups: type, query field and mutations."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.jobs.jobs import Job as JobRecord
from penstock.datastore.roles import GroupPath
from penstock.resolvers import groups
from penstock.schema.core.context import After, Before, First, Info, Last, given
from penstock.schema.core.failures import (
    IllegalState,
    NameTaken,
    NotFound,
    NotPermitted,
    ValidationProblem,
)
from penstock.schema.core.jobs import Job
from penstock.schema.core.relay import Connection, Node, connect, page_of, shows
from penstock.schema.core.scalars import DateTime


@strawberry.type(description="A node of the hierarchy in which resources are granted.")
class Group(Node):
    path: GroupPath = strawberry.field(description="The path from the root, in comparison form.")
    name: str = strawberry.field(description="How it is shown.")
    created_at: DateTime | None = strawberry.field(description="Absent for the root.")
    created_by: str | None = strawberry.field(description="Absent for the root.")

    is_type_of = shows(records.Group)

    @strawberry.field(
        graphql_type="Group | None", description="The group above; absent for the root."
    )
    @staticmethod
    async def parent(group: strawberry.Parent[records.Group], info: Info) -> records.Group | None:
        return await groups.parent_of(info.context, group)

    @strawberry.field(
        graphql_type=Connection["Group"],
        description="The groups just below that the caller may know, in the order of their paths.",
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
        return await connect(
            info,
            ("children", group.path),
            page_of(first, after, last, before),
            lambda window: info.context.session.groups.children(group, window),
        )


@strawberry.type(description="A group was created.")
class CreateGroupPayload:
    group: records.Group = strawberry.field(graphql_type=Group)


@strawberry.type(description="A group was deleted, or is from now on; `group` is what it was.")
class DeleteGroupPayload:
    group: records.Group = strawberry.field(graphql_type=Group)
    job: JobRecord | None = strawberry.field(
        graphql_type=Job | None,
        description="What deletes it with all that lies in it and below; absent where it is gone.",
    )


CreateGroupResult = Annotated[
    CreateGroupPayload | NotFound | NotPermitted | ValidationProblem | NameTaken,
    strawberry.union("CreateGroupResult", description="The new group, or why there is none."),
]
DeleteGroupResult = Annotated[
    DeleteGroupPayload | NotFound | NotPermitted | IllegalState,
    strawberry.union("DeleteGroupResult", description="The group that was, or why it still is."),
]


@strawberry.input(description="The group to create.")
class CreateGroupInput:
    path: GroupPath = strawberry.field(description="`/usa/northwest`; the parent exists.")
    name: str | None = strawberry.field(
        default=UNSET, description="How it is shown; the last name of the path if left out."
    )


@strawberry.input(description="The group to delete.")
class DeleteGroupInput:
    path: GroupPath = strawberry.field(description="Where it lies; not the root.")
    cascade: bool | None = strawberry.field(
        default=False,
        description="Whether to delete also what lies in it: the groups below and all that they "
        "own, which takes a job. What others granted to them is revoked.",
    )


@strawberry.type
class GroupQuery:
    @strawberry.field(
        graphql_type=Group | None, description="A group on one line with a group of the caller."
    )
    @staticmethod
    async def group(
        info: Info,
        path: Annotated[GroupPath, strawberry.argument(description="Where it lies.")],
    ) -> records.Group | None:
        return await groups.by_path(info.context, path)


@strawberry.type
class GroupMutation:
    @strawberry.mutation(
        graphql_type=CreateGroupResult,
        description="Create a group below an existing one; the caller is admin at the new path.",
    )
    @staticmethod
    async def create_group(info: Info, input: CreateGroupInput) -> CreateGroupPayload:
        created = await groups.create(info.context, input.path, given(input.name))
        return CreateGroupPayload(group=created)

    @strawberry.mutation(
        graphql_type=DeleteGroupResult,
        description="Delete a group in which nothing lies, or with `cascade` any; the caller is "
        "admin there. Nothing more is let into a group that a job deletes.",
    )
    @staticmethod
    async def delete_group(info: Info, input: DeleteGroupInput) -> DeleteGroupPayload:
        deleted, job = await groups.delete(info.context, input.path, bool(input.cascade))
        return DeleteGroupPayload(group=deleted, job=job)
