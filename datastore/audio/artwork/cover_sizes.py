"""Covers of the sizes that screens need, which are made once and swept weeks after their use."""

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import cpu_units
from penstock.datastore.audio.artwork.smaller_pictures import (
    choose_size,
    is_available,
    make_smaller,
)
from penstock.datastore.audio.object_keys import artwork_key, resized_key
from penstock.datastore.audio.stream_urls import LEAST_SECONDS
from penstock.datastore.audio.tags.tag_parser import MAX_PICTURE
from penstock.datastore.audio.upkeep.counted_copies import CopyKind
from penstock.datastore.audio.upkeep.made_copies import CopyRules, MadeCopies
from penstock.datastore.errors import NotFound
from penstock.datastore.objects.chunks import read_bounded, single_chunk
from penstock.datastore.objects.lasting_copies import run_lasting
from penstock.datastore.objects.port import Download

KEPT: Final = timedelta(days=30)
"""The time for which a smaller cover is kept after its last use, but for RENEWED."""

RENEWED: Final = timedelta(days=7)
"""The time after which another use keeps a smaller cover longer."""

COPIES: Final = CopyKind("C", 20_000, 1024**3)
"""The most smaller covers of a user, and the most bytes of them."""


class SizedCover(NamedTuple):
    """The name of a cover, and the size in pixels that is enough; None for the picture itself."""

    artwork: str
    size: int | None = None


@dataclass(frozen=True, slots=True)
class CoverSizes:
    """The covers of the caller in several sizes, in the server's own bucket."""

    access: Access

    async def sign_many(self, wanted: Sequence[SizedCover]) -> list[Download]:
        """Sign GETs of covers: `LO:<hash of the name>` tells which sizes are there, batched.

        Those that are missing are made. A picture that is as small, or cannot be made smaller, is
        itself the answer. Raises BadArgument for no size.
        """
        sizes = [self._size_of(cover) for cover in wanted]
        names = [
            None if size is None else resized_key(self._user, cover.artwork, size)
            for cover, size in zip(wanted, sizes, strict=True)
        ]
        named = [name for name in names if name is not None]
        found = await self._copies.find_many(named)
        ready = dict(zip(named, found, strict=True))
        missing = {
            name: (cover.artwork, size)
            for cover, size, name in zip(wanted, sizes, names, strict=True)
            if name is not None and size is not None and ready[name] is None
        }
        # One after another: each is in memory while it is made.
        for name, (artwork, pixels) in missing.items():
            ready[name] = await self._make(name, artwork, pixels)
        keys = [
            artwork_key(self._user, cover.artwork) if name is None else str(ready[name])
            for cover, name in zip(wanted, names, strict=True)
        ]
        sign = partial(self.access.files.presign_download, expires_in=LEAST_SECONDS)
        return list(await gather(*(sign(key) for key in keys)))

    async def sign(self, artwork: str, size: int | None = None) -> Download:
        """Sign a GET of one cover."""
        (download,) = await self.sign_many([SizedCover(artwork, size)])
        return download

    def _size_of(self, cover: SizedCover) -> int | None:
        size = None if cover.size is None else choose_size(cover.size)
        return size if is_available() else None

    async def _make(self, name: str, artwork: str, size: int) -> str:
        """Make a smaller cover; return the key of the picture to show."""
        await run_lasting(self.access.files, name, partial(self._make_once, name, artwork, size))
        return await self._copies.find(name) or artwork_key(self._user, artwork)

    async def _make_once(self, name: str, artwork: str, size: int) -> None:
        original = artwork_key(self._user, artwork)
        content = await self._read(original)
        if content is None:
            return
        picture, seconds = await make_smaller(content, size, self._user)
        self.access.work.owe(cpu_units(seconds))
        if picture is None:
            await self._copies.note_itself(name, original)
            return
        content = picture.content
        await self._copies.store(name, single_chunk(content), len(content), picture.media_type)

    async def _read(self, key: str) -> bytes | None:
        """Read a cover; None for one that is gone, or larger than covers are."""
        try:
            return await read_bounded(self.access.files.read(key, end=MAX_PICTURE + 1), MAX_PICTURE)
        except NotFound:
            return None

    @property
    def _copies(self) -> MadeCopies:
        return MadeCopies(self.access, CopyRules(COPIES, KEPT, RENEWED))

    @property
    def _user(self) -> str:
        return self.access.caller.user_id
