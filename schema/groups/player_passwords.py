"""The type of passwords of music players, the viewer's list of them, and their mutations."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.player_passwords import MAX_NAME, MAX_PASSWORDS
from penstock.schema.core.context import After, Before, First, Info, Last
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import LimitExceeded, NotFound, NotPermitted, ValidationProblem
from penstock.schema.core.relay import Connection, page_from_arguments, read_connection
from penstock.schema.core.scalars import DateTime


@strawberry.type(
    description="A password with which a music player uses the audio library of the user who made "
    "it, and nothing else."
)
class PlayerPassword:
    id: strawberry.ID = strawberry.field(description="The id of the password.")
    name: str = strawberry.field(
        description="The name that the user gave it, such as that of the player; several may have "
        "the same name."
    )
    created_at: DateTime = strawberry.field(description="The time when it was made, in UTC.")


@strawberry.type
class PlayerPasswordViewer:
    @strawberry.field(
        graphql_type=Connection[PlayerPassword] | None,
        description="The caller's passwords of music players, newest first; null for a caller who "
        "uses an API key.",
    )
    @staticmethod
    async def player_passwords(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.PlayerPassword]:
        return await read_connection(
            info,
            ("playerPasswords",),
            page_from_arguments(first, after, last, before),
            info.context.session.player_passwords.page,
        )


@strawberry.type(description="The result of making a password of a music player.")
class CreatePlayerPasswordPayload:
    player_password: records.PlayerPassword = strawberry.field(
        graphql_type=PlayerPassword, description="The new password, without its text."
    )
    secret: str = strawberry.field(
        description="The password, to be entered into the player together with the id of the user. "
        "It is shown only this once."
    )


@strawberry.type(description="The result of revoking a password of a music player.")
class RevokePlayerPasswordPayload:
    player_password: records.PlayerPassword = strawberry.field(
        graphql_type=PlayerPassword, description="The password as it was before it was revoked."
    )


CreatePlayerPasswordResult = Annotated[
    CreatePlayerPasswordPayload | NotPermitted | ValidationProblem | LimitExceeded,
    strawberry.union(
        "CreatePlayerPasswordResult",
        description="The new password, or the reason why it was not made.",
    ),
]
RevokePlayerPasswordResult = Annotated[
    RevokePlayerPasswordPayload | NotFound | NotPermitted,
    strawberry.union(
        "RevokePlayerPasswordResult",
        description="The revoked password, or the reason why it was not revoked.",
    ),
]


@strawberry.input(description="The password of a music player to make.")
class CreatePlayerPasswordInput:
    name: str = strawberry.field(
        description=f"A name for it, such as that of the player: 1 to {MAX_NAME} characters."
    )


@strawberry.input(description="The password of a music player to revoke.")
class RevokePlayerPasswordInput:
    id: strawberry.ID = strawberry.field(description="The id of the password.")


@strawberry.type
class PlayerPasswordMutation:
    @strawberry.mutation(
        graphql_type=CreatePlayerPasswordResult,
        description="Make a password for a music player of the caller, who must use an access "
        f"token and not an API key. A user may have {MAX_PASSWORDS}.",
    )
    @staticmethod
    async def create_player_password(
        info: Info, input: InputOf[CreatePlayerPasswordInput]
    ) -> CreatePlayerPasswordPayload:
        made = await info.context.session.player_passwords.create(input.name)
        return CreatePlayerPasswordPayload(player_password=made.password, secret=made.text)

    @strawberry.mutation(
        graphql_type=RevokePlayerPasswordResult,
        description="Revoke a password of a music player of the caller, who must use an access "
        "token and not an API key. All servers reject it within seconds.",
    )
    @staticmethod
    async def revoke_player_password(
        info: Info, input: InputOf[RevokePlayerPasswordInput]
    ) -> RevokePlayerPasswordPayload:
        revoked = await info.context.session.player_passwords.revoke(input.id)
        return RevokePlayerPasswordPayload(player_password=revoked)
