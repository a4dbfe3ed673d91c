"""What audio is read from: a bucket of which nothing may be changed.

Clients of users' buckets, each kept open for a few minutes: making one takes a while.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeAlias

from penstock.datastore.audio.records import Connection
from penstock.datastore.objects.port import (
    LISTING,
    Chunks,
    Credentials,
    Download,
    SocketFactory,
    Stat,
)


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


KEPT_SECONDS: Final = 300
MOST: Final = 100
SPARE_SECONDS: Final = 600

Who: TypeAlias = tuple[str, str]
"""A user, and the id of one of their connections."""


class Rights(NamedTuple):
    """An open bucket, and when the rights end with which it is (epoch seconds), if they do."""

    source: OpenSource
    until: float | None


@dataclass(slots=True)
class _Kept:
    rights: Rights
    opened_at: float
    users: int = 0
    retired: bool = False


class BucketPool:
    """Open buckets by user and connection; what nobody uses any more is closed."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._kept: dict[Who, _Kept] = {}

    @asynccontextmanager
    async def opened(
        self, who: Who, open_it: Callable[[], Awaitable[Rights]]
    ) -> AsyncIterator[Rights]:
        """Use the bucket, opened now where it is not open or was not opened lately."""
        kept = self._kept.get(who)
        if kept is None or self._is_old(kept):
            rights = await open_it()
            await self.forget(who)
            kept = self._kept[who] = _Kept(rights, self.clock())
        kept.users += 1
        try:
            yield kept.rights
        finally:
            kept.users -= 1
            await self._close_unused(kept)
            await self._shrink()

    async def forget(self, who: Who) -> None:
        """Let nobody begin to use the bucket any more as it was opened."""
        kept = self._kept.pop(who, None)
        if kept is not None:
            kept.retired = True
            await self._close_unused(kept)

    async def close(self) -> None:
        """Close what is open."""
        for who in tuple(self._kept):
            await self.forget(who)

    def _is_old(self, kept: _Kept) -> bool:
        now, until = self.clock(), kept.rights.until
        ends_soon = until is not None and until - now < SPARE_SECONDS
        return ends_soon or now - kept.opened_at >= KEPT_SECONDS

    async def _shrink(self) -> None:
        unused = [who for who, kept in self._kept.items() if not kept.users]
        for who in unused:
            if self._is_old(self._kept[who]) or len(self._kept) > MOST:
                await self.forget(who)

    async def _close_unused(self, kept: _Kept) -> None:
        if kept.retired and not kept.users:
            await kept.rights.source.close()
