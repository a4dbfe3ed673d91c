"""Roles of users, assumed by STS with the server's own credentials."""

import secrets
from contextlib import AsyncExitStack
from hashlib import sha256
from typing import Any, Final, Self

from botocore.exceptions import BotoCoreError, ClientError

from penstock.datastore.audio.sources import RoleCredentials
from penstock.datastore.aws.session import aws_session, client_config
from penstock.datastore.dynamodb.failures import LOST_ANSWER, STRANGE_ANSWER, error_code
from penstock.datastore.errors import IllegalState, Unavailable
from penstock.datastore.objects.port import Credentials

STS_TIMEOUT_SECONDS: Final = 3.0
SESSION_SECONDS: Final = 3600


class StsRoles:
    """Assumes roles of AWS with the server's own credentials."""

    def __init__(self, client: Any, held: AsyncExitStack) -> None:
        self._client = client
        self._exit_stack = held

    @classmethod
    async def open(cls, *, region: str | None = None, endpoint_url: str | None = None) -> Self:
        """Make the client without sending a request; credentials come from AWS's default chain."""
        config = client_config(
            connect_timeout=STS_TIMEOUT_SECONDS, read_timeout=STS_TIMEOUT_SECONDS
        )
        held = AsyncExitStack()
        client = aws_session().client(
            "sts", region_name=region, endpoint_url=endpoint_url, config=config
        )
        return cls(await held.enter_async_context(client), held)

    async def assume(self, role_arn: str, external_id: str, user: str) -> RoleCredentials:
        # A role that trusts us without an external id was not made for this user: it may be one of
        # the operator's own roles.
        if await self._call_sts(role_arn, secrets.token_urlsafe(16), user) is not None:
            words = "The role does not ask for the external id: anybody could have us use it."
            raise IllegalState(words, "ROLE_WITHOUT_EXTERNAL_ID")
        role = await self._call_sts(role_arn, external_id, user)
        if role is None:
            raise _refusal()
        return role

    async def close(self) -> None:
        await self._exit_stack.aclose()

    async def _call_sts(self, role_arn: str, external_id: str, user: str) -> RoleCredentials | None:
        """The role; None only if STS says that it lets nobody in with this external id.

        Any other refusal says nothing about the external id: it may be of the server's own
        credentials, or of too many calls.
        """
        try:
            answer = await self._client.assume_role(
                RoleArn=role_arn,
                RoleSessionName=f"penstock-{sha256(user.encode()).hexdigest()[:32]}",
                ExternalId=external_id,
                DurationSeconds=SESSION_SECONDS,
            )
            return _role_credentials(answer["Credentials"])
        except ClientError as error:
            match error_code(error):
                case "AccessDenied":
                    return None
                case "ValidationError":
                    raise _refusal() from error
            raise Unavailable("The roles of AWS cannot be assumed for now.") from error
        except (BotoCoreError, *LOST_ANSWER, *STRANGE_ANSWER) as error:
            raise Unavailable("This server cannot assume roles of AWS.") from error


def _role_credentials(found: Any) -> RoleCredentials:
    keys = Credentials(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])
    return RoleCredentials(keys, found["Expiration"].timestamp())


def _refusal() -> IllegalState:
    return IllegalState("The role does not let the server assume it.", "ROLE_REFUSED")
