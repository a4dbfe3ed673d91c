"""Read-only sources of audio, and a pool of open clients for users' buckets.

Opening a client is slow, so the pool keeps each one open for a few minutes.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, TypeAlias

from penstock.datastore.audio.records import BucketConnection
from penstock.datastore.objects.port import (
    LISTING,
    Chunks,
    Credentials,
    Download,
    FileEntry,
    SocketFactory,
    Stat,
)


class AudioSource(Protocol):
    """A bucket for reading: a part of the files port."""

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

    async def list_entries(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[FileEntry, ...]: ...


class OpenAudioSource(AudioSource, Protocol):
    """A source that stays open between uses, and must be closed."""

    async def close(self) -> None: ...


class OpenBucket(Protocol):
    """Opens the bucket of a connection with credentials that expire at `until` by the clock."""

    async def __call__(
        self,
        connection: BucketConnection,
        credentials: Credentials,
        sockets: SocketFactory,
        until: float | None,
        clock: Callable[[], float],
    ) -> OpenAudioSource: ...


POOLED_SECONDS: Final = 300
MAX_POOLED: Final = 100
SPARE_SECONDS: Final = 600

ConnectionKey: TypeAlias = tuple[str, str]
"""A user's id, and the id of one of the user's connections."""


class OpenedBucket(NamedTuple):
    """An open bucket, and the expiry of its credentials in epoch seconds, if they expire."""

    source: OpenAudioSource
    until: float | None


@dataclass(slots=True)
class _PooledBucket:
    rights: OpenedBucket
    opened_at: float
    users: int = 0
    retired: bool = False


class BucketPool:
    """Open buckets by user and connection; unused old ones are closed."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        self._pooled: dict[ConnectionKey, _PooledBucket] = {}

    @asynccontextmanager
    async def use_bucket(
        self, who: ConnectionKey, open_it: Callable[[], Awaitable[OpenedBucket]]
    ) -> AsyncIterator[OpenedBucket]:
        """Use the bucket; open it first if it is not open or was opened too long ago."""
        kept = self._pooled.get(who)
        if kept is None or self._is_old(kept):
            rights = await open_it()
            await self.retire_bucket(who)
            kept = self._pooled[who] = _PooledBucket(rights, self.clock())
        kept.users += 1
        try:
            yield kept.rights
        finally:
            kept.users -= 1
            await self._close_unused(kept)
            await self._close_old()

    async def retire_bucket(self, who: ConnectionKey) -> None:
        """Take the bucket out of the pool; it closes when its last use ends."""
        kept = self._pooled.pop(who, None)
        if kept is not None:
            kept.retired = True
            await self._close_unused(kept)

    async def close(self) -> None:
        """Close every unused bucket, and the others at the end of their use."""
        for who in tuple(self._pooled):
            await self.retire_bucket(who)

    def _is_old(self, kept: _PooledBucket) -> bool:
        now, until = self.clock(), kept.rights.until
        ends_soon = until is not None and until - now < SPARE_SECONDS
        return ends_soon or now - kept.opened_at >= POOLED_SECONDS

    async def _close_old(self) -> None:
        for who in tuple(self._pooled):
            # While another bucket closed, this one may have been closed or used by others.
            kept = self._pooled.get(who)
            if kept is None or kept.users:
                continue
            if self._is_old(kept) or len(self._pooled) > MAX_POOLED:
                await self.retire_bucket(who)

    async def _close_unused(self, kept: _PooledBucket) -> None:
        if kept.retired and not kept.users:
            await kept.rights.source.close()
