"""The sources of audio: the server's own bucket, or a user's bucket.

A user's bucket is opened with the user's keys, or with a role that must require the external id
that the server made.
"""

import logging
from asyncio import to_thread
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from penstock.datastore.access.vault import TamperedSecret
from penstock.datastore.audio.buckets import AudioSource, BucketPool, OpenBucket, OpenedBucket
from penstock.datastore.audio.connections import BucketConnections
from penstock.datastore.audio.records import BucketConnection, ConnectionKind
from penstock.datastore.errors import IllegalState, NotFound, Unavailable
from penstock.datastore.objects.port import Credentials, Files

logger = logging.getLogger("penstock.audio")


class RoleCredentials(NamedTuple):
    """Credentials of a role, and their expiry in seconds since the epoch."""

    credentials: Credentials
    expires: float


class Roles(Protocol):
    """Assumes roles of users."""

    async def assume(self, role_arn: str, external_id: str, user: str) -> RoleCredentials:
        """Assume a role for a user.

        Raises IllegalState if the role refuses, or if it would also accept a different
        external id, and Unavailable.
        """

    async def close(self) -> None:
        """Close connections."""


class NoRoles:
    """The roles of a server without access to AWS: assuming one raises Unavailable."""

    async def assume(self, role_arn: str, external_id: str, user: str) -> RoleCredentials:
        raise Unavailable("This server cannot assume roles of AWS.")

    async def close(self) -> None:
        """Do nothing: no connection is open."""


LOST_KEYS: Final = (
    "The server can no longer read the keys of this connection: connect the bucket again with them."
)
NO_ROLES: Final[Roles] = NoRoles()


@dataclass(frozen=True, slots=True)
class AudioSources:
    """The buckets that may hold the caller's audio; `files` is the server's own."""

    files: Files
    connections: BucketConnections
    pool: BucketPool
    roles: Roles
    lost_keys: set[str] = field(default_factory=set)
    """The connections whose lost keys the log names already."""

    @asynccontextmanager
    async def open_source(self, connection_id: str | None) -> AsyncIterator[AudioSource]:
        """Open a bucket: the server's own if there is no connection.

        Raises NotFound for a connection that the caller does not have, IllegalState if its
        bucket denies access or its keys do not open.
        """
        if connection_id is None:
            yield self.files
            return
        (found,) = await self.connections.many([connection_id])
        if isinstance(found, NotFound):
            raise NotFound("There is no connection with this id.", ("storageId",))
        async with self.open_connection(found) as source:
            yield source

    async def disconnect(self, connection_id: str) -> BucketConnection:
        """Delete a connection, and stop using its credentials."""
        deleted = await self.connections.delete(connection_id)
        await self.pool.retire_bucket((self._user, deleted.id))
        return deleted

    @asynccontextmanager
    async def open_connection(self, connection: BucketConnection) -> AsyncIterator[AudioSource]:
        """Open the bucket of a connection record that was just read."""
        who = (self._user, connection.id)
        async with self.pool.use_bucket(who, lambda: self._obtain_rights(connection)) as rights:
            yield rights.source

    async def _obtain_rights(self, connection: BucketConnection) -> OpenedBucket:
        rules = self.connections.rules
        if connection.endpoint is not None:
            await rules.check_host(connection.endpoint)
        until = None
        if connection.kind is ConnectionKind.ROLE:
            arn, external_id = str(connection.role_arn), str(connection.external_id)
            credentials, until = await self.roles.assume(arn, external_id, self._user)
        else:
            credentials = await self._unseal_keys(connection.id)
        open_bucket = await to_thread(_load_bucket_opener)
        clock = self.pool.clock
        source = await open_bucket(connection, credentials, rules.socket_for, until, clock)
        return OpenedBucket(source, until)

    async def _unseal_keys(self, id: str) -> Credentials:
        try:
            return await self.connections.unseal_keys(id)
        except TamperedSecret:
            # A call may sign the URLs of many tracks.
            if id not in self.lost_keys:
                self.lost_keys.add(id)
                logger.warning("the keys of the connection %s do not open with this vault", id)
            raise IllegalState(LOST_KEYS, "KEYS_LOST") from None

    @property
    def _user(self) -> str:
        return self.connections.access.caller.user_id


def _load_bucket_opener() -> OpenBucket:
    """Import the function that opens buckets; AWS's library takes half a second to load."""
    from penstock.datastore.audio.user_buckets import open_bucket  # noqa: PLC0415 - see above

    return open_bucket
