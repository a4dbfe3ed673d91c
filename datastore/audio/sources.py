"""Where audio lies: the server's own bucket, or one of the user's, opened with their rights."""

from asyncio import to_thread
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from penstock.datastore.audio.bucket_pool import BucketPool, Rights
from penstock.datastore.audio.connections import Connections
from penstock.datastore.audio.records import Connection, ConnectionKind
from penstock.datastore.audio.roles import Roles
from penstock.datastore.audio.source import OpenBucket, Source
from penstock.datastore.errors import NotFound
from penstock.datastore.files import Files


@dataclass(frozen=True, slots=True)
class Sources:
    """The buckets that the caller's audio may lie in; `files` is the server's own."""

    files: Files
    connections: Connections
    pool: BucketPool
    roles: Roles

    @asynccontextmanager
    async def of(self, connection_id: str | None) -> AsyncIterator[Source]:
        """Open a bucket for use: the server's own where there is no connection.

        Raises NotFound for a connection that the caller does not have, IllegalState where its
        bucket does not let us in.
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
        """Delete a connection, and use its rights no more."""
        deleted = await self.connections.delete(connection_id)
        await self.pool.forget((self._user, deleted.id))
        return deleted

    @asynccontextmanager
    async def connected(self, connection: Connection) -> AsyncIterator[Source]:
        """Open the bucket of a connection that was just read."""
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
        return self.connections.scope.caller.user_id


def _opener() -> OpenBucket:
    """What opens buckets; it loads AWS's library, for half a second that no server starts with."""
    from penstock.datastore.audio.user_buckets import open_bucket  # noqa: PLC0415 - see above

    return open_bucket
