"""The sources of audio: the server's own bucket, or a user's bucket.

A user's bucket is opened with the user's keys, or with a role that must require the external id
that the server made.
"""

from asyncio import to_thread
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from penstock.datastore.audio.buckets import BucketPool, OpenBucket, Rights, Source
from penstock.datastore.audio.connections import Connections
from penstock.datastore.audio.records import Connection, ConnectionKind
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.objects.port import Credentials, Files


class Lent(NamedTuple):
    """Credentials of a role, and their expiry in seconds since the epoch."""

    credentials: Credentials
    expires: float


class Roles(Protocol):
    """Assumes roles of users."""

    async def assume(self, role_arn: str, external_id: str, user: str) -> Lent:
        """Assume a role for a user.

        Raises IllegalState if the role refuses, or if it would also accept a different
        external id, and Unavailable.
        """

    async def close(self) -> None:
        """Close connections."""


class NoRoles:
    """The roles of a server without access to AWS: assuming one raises Unavailable."""

    async def assume(self, role_arn: str, external_id: str, user: str) -> Lent:
        raise Unavailable("This server cannot assume roles of AWS.")

    async def close(self) -> None:
        """Do nothing: no connection is open."""


NO_ROLES: Final[Roles] = NoRoles()


@dataclass(frozen=True, slots=True)
class Sources:
    """The buckets that may hold the caller's audio; `files` is the server's own."""

    files: Files
    connections: Connections
    pool: BucketPool
    roles: Roles

    @asynccontextmanager
    async def of(self, connection_id: str | None) -> AsyncIterator[Source]:
        """Open a bucket: the server's own if there is no connection.

        Raises NotFound for a connection that the caller does not have, IllegalState if its
        bucket denies access.
        """
        if connection_id is None:
            yield self.files
            return
        (found,) = await self.connections.many([connection_id])
        if isinstance(found, NotFound):
            raise NotFound("There is no connection with this id.", ("storageId",))
        async with self.connected(found) as source:
            yield source

    async def disconnect(self, connection_id: str) -> Connection:
        """Delete a connection, and stop using its credentials."""
        deleted = await self.connections.delete(connection_id)
        await self.pool.forget((self._user, deleted.id))
        return deleted

    @asynccontextmanager
    async def connected(self, connection: Connection) -> AsyncIterator[Source]:
        """Open the bucket of a connection record that was just read."""
        who = (self._user, connection.id)
        async with self.pool.opened(who, lambda: self._rights(connection)) as rights:
            yield rights.source

    async def _rights(self, connection: Connection) -> Rights:
        rules = self.connections.rules
        if connection.endpoint is not None:
            await rules.check_host(connection.endpoint)
        until = None
        if connection.kind is ConnectionKind.ROLE:
            arn, external_id = str(connection.role_arn), str(connection.external_id)
            credentials, until = await self.roles.assume(arn, external_id, self._user)
        else:
            credentials = await self.connections.unsealed(connection.id)
        open_bucket = await to_thread(_opener)
        clock = self.pool.clock
        source = await open_bucket(connection, credentials, rules.socket_for, until, clock)
        return Rights(source, until)

    @property
    def _user(self) -> str:
        return self.connections.access.caller.user_id


def _opener() -> OpenBucket:
    """Import the function that opens buckets; AWS's library takes half a second to load."""
    from penstock.datastore.audio.user_buckets import open_bucket  # noqa: PLC0415 - see above

    return open_bucket
