"""Covers: stored once for each content among the objects of their owner, and swept when unused.

Each cover has a row in the owner's partition. A transaction that adds a track with the cover writes
`use` there. The sweep reads `use`, then all tracks, and marks the row of a cover that no track has,
if `use` is still the same. A marked name is never used again: the same picture then gets a new one.
"""

from base64 import b32encode
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from hashlib import sha256
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.audio.object_keys import artwork_key, artwork_prefix
from penstock.datastore.audio.tags.file_type import picture_type
from penstock.datastore.audio.upkeep.library_rows import note_upkeep
from penstock.datastore.audio.upkeep.swept_objects import SWEPT, sweep_object
from penstock.datastore.errors import Unavailable
from penstock.datastore.objects.chunks import single_chunk
from penstock.datastore.objects.own_keys import walk_keys
from penstock.datastore.periodic import finish_all
from penstock.datastore.table.commit import Write
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import COVER
from penstock.datastore.table.port import (
    Attributes,
    Check,
    Compare,
    Condition,
    Key,
    Missing,
    Update,
)

DIGEST_LETTERS: Final = 26
YOUNG: Final = timedelta(hours=1)
"""The age up to which a cover may belong to a track that is just being added."""

USE: Final = "use"


@dataclass(frozen=True, slots=True)
class CoverStore:
    """The covers of the caller, in the server's own bucket."""

    access: Access

    async def keep(self, picture: bytes | None) -> str | None:
        """Store the bytes if they are a picture; return the name of the cover."""
        kind = None if picture is None else picture_type(picture)
        if picture is None or kind is None:
            return None
        name = _digest(picture)
        row = self._key(name)
        held = await read_rows(self.access.table, [row], consistent=True)
        if SWEPT in held.get(row, {}):
            name = _digest(picture + self.access.clock.new_id().encode())
        key = artwork_key(self._user, name)
        if await self.access.files.stat(key) is None:
            await note_upkeep(self.access)
            await self.access.files.write(key, single_chunk(picture), content_type=kind)
        return name

    def use_writes(self, artworks: Iterable[str | None]) -> list[Write]:
        """The writes of a transaction that adds tracks with these covers."""
        token = self.access.clock.new_id()
        return [
            Write(
                Update(key=self._key(name), set={USE: token}, condition=Missing(SWEPT)),
                lambda _: Unavailable("The cover is just being swept; try again."),
            )
            for name in sorted({each for each in artworks if each is not None})
        ]

    async def read_use(self, name: str) -> str | None:
        """The latest use of a cover, None if none is known."""
        row = self._key(name)
        return _use_in((await read_rows(self.access.table, [row], consistent=True)).get(row, {}))

    def unused_check(self, name: str, use: str | None) -> Check:
        """The check that no track got a cover since its use was read."""
        return Check(self._key(name), _still(use))

    async def uses(self) -> dict[str, str | None]:
        """The covers that are stored, each with its latest use if one is known."""
        prefix, names = artwork_prefix(self._user), list[str]()
        async for keys in walk_keys(self.access.files, prefix):
            names += [key.removeprefix(prefix) for key in keys]
        rows = await read_rows(self.access.table, map(self._key, names), consistent=True)
        return {name: _use_in(rows.get(self._key(name), {})) for name in names}

    async def sweep(self, uses: dict[str, str | None], used: Collection[str]) -> bool:
        """Delete the covers that were not used when `uses` was read; True if none is left over.

        A young cover is left over: its track may not be written yet.
        """
        unused = [(name, use) for name, use in uses.items() if name not in used]
        swept = await finish_all(partial(self._sweep_cover, *each) for each in unused)
        return swept == len(unused)

    async def _sweep_cover(self, name: str, use: str | None) -> bool:
        """Delete a cover unless a track took it by now; False if it is too young for that."""
        key, row = artwork_key(self._user, name), self._key(name)
        stat = await self.access.files.stat(key)
        if stat is None:
            return True
        if stat.modified > self.access.clock.now() - YOUNG:
            return False
        await sweep_object(self.access, row, _still(use), key)
        return True

    def _key(self, name: str) -> Key:
        return COVER.key(user=self._user, artwork=name)

    @property
    def _user(self) -> str:
        return self.access.caller.user_id


def _still(use: str | None) -> Condition:
    return Missing(USE) if use is None else Compare(USE, "=", use)


def _use_in(row: Attributes) -> str | None:
    return str(row[USE]) if USE in row else None


def _digest(content: bytes) -> str:
    return b32encode(sha256(content).digest())[:DIGEST_LETTERS].decode().lower()
