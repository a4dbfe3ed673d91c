"""What audio is read from: a bucket of which nothing may be changed."""

from collections.abc import Callable
from typing import Protocol

from penstock.datastore.audio.records import Connection
from penstock.datastore.aws_credentials import Credentials, SocketFactory
from penstock.datastore.files import LISTING, Chunks, Download, Stat


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


class OpenSource(Source, Protocol):
    """One that is kept open between its uses."""

    async def close(self) -> None: ...


class OpenBucket(Protocol):
    """Opens the bucket of a connection with the credentials, which last until then by the clock."""

    async def __call__(
        self,
        connection: Connection,
        credentials: Credentials,
        sockets: SocketFactory,
        until: float | None,
        clock: Callable[[], float],
    ) -> OpenSource: ...
