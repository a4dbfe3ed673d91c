"""The type of API keys, the viewer's list of them, and their mutations."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.api_keys import MAX_NAME
from penstock.datastore.roles import GroupPath, Role
from penstock.schema.core.context import After, Before, First, GroupRole, Info, Last
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import LimitExceeded, NotFound, NotPermitted, ValidationProblem
from penstock.schema.core.relay import Connection, page_from_arguments, read_connection
from penstock.schema.core.scalars import DateTime


@strawberry.type(
    description="A key with which a program acts on behalf of the user who created it."
)
class ApiKey:
    id: strawberry.ID = strawberry.field(
        description="The id of the key, which is also the middle part of the key itself."
    )
    name: str = strawberry.field(
        description="The name that the user gave the key; several keys may have the same name."
    )
    roles: list[GroupRole] = strawberry.field(
        description="The roles that the key was given; they stay the same if the roles of the user "
        "change. One that ended with its group stays in the list."
    )
    created_at: DateTime = strawberry.field(
        description="The time when the key was created, in UTC."
    )
    expires_at: DateTime = strawberry.field(
        description="The time from which the key is no longer accepted, in UTC."
    )


@strawberry.type
class ApiKeyViewer:
    @strawberry.field(
        graphql_type=Connection[ApiKey] | None,
        description="The caller's API keys, newest first; null for a caller who uses an API key. "
        "A new key may take a moment to appear, and an expired key may still be listed.",
    )
    @staticmethod
    async def api_keys(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.ApiKey]:
        return await read_connection(
            info,
            ("apiKeys",),
            page_from_arguments(first, after, last, before),
            info.context.session.api_keys.page,
        )


@strawberry.type(description="The result of creating an API key.")
class CreateApiKeyPayload:
    api_key: records.ApiKey = strawberry.field(
        graphql_type=ApiKey, description="The new API key, without its secret."
    )
    secret: str = strawberry.field(
        description="The complete key, to be sent in the header `Authorization: Bearer`. It is "
        "shown only this once."
    )


@strawberry.type(description="The result of revoking an API key.")
class RevokeApiKeyPayload:
    api_key: records.ApiKey = strawberry.field(
        graphql_type=ApiKey, description="The API key as it was before it was revoked."
    )


CreateApiKeyResult = Annotated[
    CreateApiKeyPayload | NotFound | NotPermitted | ValidationProblem | LimitExceeded,
    strawberry.union(
        "CreateApiKeyResult", description="The new API key, or the reason why it was not created."
    ),
]
RevokeApiKeyResult = Annotated[
    RevokeApiKeyPayload | NotFound | NotPermitted,
    strawberry.union(
        "RevokeApiKeyResult",
        description="The revoked API key, or the reason why it was not revoked.",
    ),
]


@strawberry.input(description="A role in a group and in all groups below it.")
class GroupRoleInput:
    group: GroupPath = strawberry.field(
        description="The path of the group at and below which the role applies."
    )
    role: Role = strawberry.field(description="The role in this group and the groups below it.")

    def record(self) -> records.GroupRole:
        return records.GroupRole(group=self.group, role=self.role)


@strawberry.input(description="The API key to create, with its roles and its expiry.")
class CreateApiKeyInput:
    name: str = strawberry.field(
        description=f"The name of the key: 1 to {MAX_NAME} characters. Several keys may have the "
        "same name."
    )
    roles: list[GroupRoleInput] = strawberry.field(
        description="The roles of the key: at least one, and in no group more than the caller's "
        "own role. A deeper group in which the caller has a lower role must be listed as well."
    )
    expires_at: DateTime = strawberry.field(
        description="The time at which the key expires, in whole seconds; by default it can be at "
        "most one year ahead, and the server's settings can change this limit."
    )


@strawberry.input(description="The API key to revoke.")
class RevokeApiKeyInput:
    id: strawberry.ID = strawberry.field(
        description="The id of the key, which is also the middle part of the key itself."
    )


@strawberry.type
class ApiKeyMutation:
    @strawberry.mutation(
        graphql_type=CreateApiKeyResult,
        description="Create an API key for the caller, who must use an access token and not an "
        "API key.",
    )
    @staticmethod
    async def create_api_key(info: Info, input: InputOf[CreateApiKeyInput]) -> CreateApiKeyPayload:
        roles = [role.record() for role in input.roles]
        made = await info.context.session.api_keys.create(input.name, roles, input.expires_at)
        return CreateApiKeyPayload(api_key=made.key, secret=str(made.text))

    @strawberry.mutation(
        graphql_type=RevokeApiKeyResult,
        description="Revoke an API key of the caller, who must use an access token and not an API "
        "key. All servers reject the key within seconds.",
    )
    @staticmethod
    async def revoke_api_key(info: Info, input: InputOf[RevokeApiKeyInput]) -> RevokeApiKeyPayload:
        revoked = await info.context.session.api_keys.revoke(input.id)
        return RevokeApiKeyPayload(api_key=revoked)
