"""Lending the rights of users' roles, of which each must ask for the external id we made for it."""

from typing import Final, NamedTuple, Protocol

from penstock.datastore.aws_credentials import Credentials
from penstock.datastore.errors import Unavailable


class Lent(NamedTuple):
    """Rights of a role, and until when they last, in seconds since the epoch."""

    credentials: Credentials
    expires: float


class Roles(Protocol):
    """Lends the rights of roles."""

    async def assume(self, role_arn: str, external_id: str, user: str) -> Lent:
        """Assume a role for a user.

        Raises IllegalState where the role does not let us, or would also do it without the external
        id, and Unavailable.
        """

    async def close(self) -> None:
        """Let go of connections."""


class NoRoles:
    """What a server has that knows nothing of AWS."""

    async def assume(self, role_arn: str, external_id: str, user: str) -> Lent:
        raise Unavailable("This server cannot assume roles of AWS.")

    async def close(self) -> None:
        """Let go of nothing."""


NO_ROLES: Final[Roles] = NoRoles()
