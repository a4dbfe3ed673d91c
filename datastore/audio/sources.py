"""Where audio lies: the server's own bucket, or one of the user's, opened with their rights."""

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from botocore.exceptions import BotoCoreError

from datastore.audio.bucket_pool import BucketPool, Rights
from datastore.audio.connections import Connections
from datastore.audio.records import Connection, ConnectionKind
from datastore.audio.roles import Roles
from datastore.aws_sessions import warm_up
from datastore.dynamodb.failures import Refused
from datastore.errors import IllegalState, NotFound
from datastore.files import LISTING, Chunks, Download, Files, Stat
from datastore.s3_files import S3Files


class Source(Protocol):
    """What of the files port serves to read a bucket of which nothing may be changed."""

    @property
    def bucket(self) -> str: ...

    async def presign_download(
        self,
        key: str,
        *,
        expires_in: int,
        filename: str | None = None,
        content_type: str | None = None,
    ) -> Download: ...

    async def stat(self, key: str) -> Stat | None: ...

    def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks: ...

    async def list(self, prefix: str, after: str = "", limit: int = LISTING) -> tuple[str, ...]: ...


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
        async with self.pool.opened(who, lambda: self._rights(connection)) as (files, until):
            yield _Connected(files, connection, self.pool, until)

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
        await warm_up("s3")
        files = await S3Files.open(
            connection.bucket,
            region=connection.region,
            endpoint_url=connection.endpoint,
            credentials=credentials,
            sockets=rules.socket_for,
        )
        return Rights(files, until)

    @property
    def _user(self) -> str:
        return self.connections.scope.caller.user_id


@dataclass(frozen=True, slots=True)
class _Connected:
    """A bucket of the user's: what it refuses is no failure of ours, and its words are not told."""

    files: S3Files
    connection: Connection
    pool: BucketPool
    until: float | None

    @property
    def bucket(self) -> str:
        return self.files.bucket

    async def presign_download(
        self,
        key: str,
        *,
        expires_in: int,
        filename: str | None = None,
        content_type: str | None = None,
    ) -> Download:
        """Sign for no longer than the rights last that sign."""
        if self.until is not None:
            expires_in = max(1, min(expires_in, int(self.until - self.pool.clock())))
        return await self.files.presign_download(
            key, expires_in=expires_in, filename=filename, content_type=content_type
        )

    async def stat(self, key: str) -> Stat | None:
        with _told():
            return await self.files.stat(key)

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        with _told():
            async with aclosing(self.files.read(key, start=start, end=end)) as chunks:
                async for chunk in chunks:
                    yield chunk

    async def list(self, prefix: str, after: str = "", limit: int = LISTING) -> tuple[str, ...]:
        with _told():
            return await self.files.list(prefix, after, limit)


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except Refused as refused:
        raise IllegalState("The bucket does not let the server in.", refused.code) from refused
    except BotoCoreError as error:
        raise IllegalState("The bucket cannot be used.", type(error).__name__) from error
