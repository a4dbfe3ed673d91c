"""API keys: type, the viewer's list and mutations."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.roles import GroupPath, Role
from penstock.schema.core.context import After, Before, First, GroupRole, Info, Last
from penstock.schema.core.failures import LimitExceeded, NotFound, NotPermitted, ValidationProblem
from penstock.schema.core.relay import Connection, connect, page_of
from penstock.schema.core.scalars import DateTime


@strawberry.type(description="A key by which a program acts for the user who made it.")
class ApiKey:
    id: strawberry.ID = strawberry.field(description="The middle part of the key itself.")
    name: str = strawberry.field(description="For the user, who may have given it twice.")
    roles: list[GroupRole] = strawberry.field(
        description="What the key may do, whatever becomes of the user's own roles."
    )
    created_at: DateTime = strawberry.field(description="When it was made.")
    expires_at: DateTime = strawberry.field(description="From then on it is not accepted.")


@strawberry.type
class ApiKeyViewer:
    @strawberry.field(
        graphql_type=Connection[ApiKey] | None,
        description="The caller's API keys, newest first; one just made may be missing for a "
        "moment, an expired one may still be there. Not shown to who uses an API key.",
    )
    @staticmethod
    async def api_keys(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.ApiKey]:
        return await connect(
            info,
            ("apiKeys",),
            page_of(first, after, last, before),
            info.context.session.api_keys.page,
        )


@strawberry.type(description="An API key was made.")
class CreateApiKeyPayload:
    api_key: records.ApiKey = strawberry.field(graphql_type=ApiKey)
    secret: str = strawberry.field(
        description="The key as it is sent behind `Authorization: Bearer`. It is shown this once."
    )


@strawberry.type(description="An API key was revoked; `apiKey` is what it was.")
class RevokeApiKeyPayload:
    api_key: records.ApiKey = strawberry.field(graphql_type=ApiKey)


CreateApiKeyResult = Annotated[
    CreateApiKeyPayload | NotFound | NotPermitted | ValidationProblem | LimitExceeded,
    strawberry.union("CreateApiKeyResult", description="The new key, or why there is none."),
]
RevokeApiKeyResult = Annotated[
    RevokeApiKeyPayload | NotFound | NotPermitted,
    strawberry.union("RevokeApiKeyResult", description="The key that was, or why it still is."),
]


@strawberry.input(description="A role at a group and below it.")
class GroupRoleInput:
    group: GroupPath = strawberry.field(description="The topmost group where it holds.")
    role: Role = strawberry.field(description="What it allows.")

    def record(self) -> records.GroupRole:
        return records.GroupRole(group=self.group, role=self.role)


@strawberry.input(description="The API key to make.")
class CreateApiKeyInput:
    name: str = strawberry.field(description="For the user, who may give it twice.")
    roles: list[GroupRoleInput] = strawberry.field(
        description="At least one, and nowhere more than the caller's own. Where the caller's role "
        "at a deeper group is the lower one, that group is named as well."
    )
    expires_at: DateTime = strawberry.field(
        description="In whole seconds; at most a year ahead, or as the server is set."
    )


@strawberry.input(description="The API key to revoke.")
class RevokeApiKeyInput:
    id: strawberry.ID = strawberry.field(description="The middle part of the key itself.")


@strawberry.type
class ApiKeyMutation:
    @strawberry.mutation(
        graphql_type=CreateApiKeyResult,
        description="Make an API key for the caller, who themselves uses a token and no API key.",
    )
    @staticmethod
    async def create_api_key(info: Info, input: CreateApiKeyInput) -> CreateApiKeyPayload:
        roles = [role.record() for role in input.roles]
        made = await info.context.session.api_keys.create(input.name, roles, input.expires_at)
        return CreateApiKeyPayload(api_key=made.key, secret=str(made.text))

    @strawberry.mutation(
        graphql_type=RevokeApiKeyResult,
        description="End an API key of the caller, who themselves uses a token and no API key. "
        "Within seconds no server accepts it.",
    )
    @staticmethod
    async def revoke_api_key(info: Info, input: RevokeApiKeyInput) -> RevokeApiKeyPayload:
        revoked = await info.context.session.api_keys.revoke(input.id)
        return RevokeApiKeyPayload(api_key=revoked)
