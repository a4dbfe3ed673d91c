"""Deletes of playlists of any length: hidden at once, then removed entry by entry.

One transaction turns the header into a tombstone, listed under `X:PL`, and takes the playlist out
of its owner's list. The entries are then deleted in batches; any process that finds a tombstone may
continue. An import uses the same state: its playlist stays hidden until it is complete.
"""

from asyncio import gather
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from penstock.datastore.access.access import Access
from penstock.datastore.errors import VersionConflict
from penstock.datastore.playlists.header import ALIVE, require_version, until_settled
from penstock.datastore.playlists.order import Order
from penstock.datastore.playlists.reading import Reading
from penstock.datastore.playlists.records import Playlist
from penstock.datastore.playlists.rows import (
    buried_in,
    count_of,
    header_key,
    is_gone,
    key_of_entry,
    member_key,
    no_playlist,
    playlist_of,
)
from penstock.datastore.table.limits import WRITE_OPERATIONS
from penstock.datastore.table.port import (
    INDEX_HASH,
    AllOf,
    Attributes,
    Compare,
    Delete,
    Exists,
    Put,
    Query,
    Update,
)
from penstock.datastore.table.transaction import Moved, Write, commit

AT_ONCE = 4
HELD = "heldUntil"


@dataclass(frozen=True, slots=True)
class Deleting:
    """Deletes of the caller's playlists."""

    access: Access

    async def delete(self, id: str, expected_version: int | None = None) -> Playlist:
        """Delete a playlist: one transaction, then its entries in batches; return its header."""

        async def attempt() -> Playlist:
            playlist = await Reading(self.access).one(id, consistent=True)
            require_version(playlist, expected_version)
            await commit(self.access.table, self._buried(playlist, expected_version))
            return playlist

        playlist = await until_settled(attempt)
        await self.finish(playlist)
        return playlist

    async def sweep(self) -> int:
        """Finish all interrupted deletes; return their number."""
        items = await self._tombstones()
        for item in items:
            with suppress(Moved):  # the import has published its playlist
                await self._let_go(item)
                await self.finish(playlist_of(item))
        return len(items)

    async def pending(self) -> int:
        """Count the interrupted deletes, up to one page of them."""
        return len(await self._tombstones())

    async def _tombstones(self) -> Sequence[Attributes]:
        """The headers of deleted playlists, without those that a living import still hides."""
        page = await self.access.table.query(Query(partition=buried_in(), index=True))
        now = self.access.clock.timestamp()
        return [item for item in page.items if str(item.get(HELD, "")) <= now]

    async def _let_go(self, item: Attributes) -> None:
        """Make sure that an import cannot publish its playlist while the entries are deleted."""
        if HELD in item:
            ours = Compare(HELD, "=", str(item[HELD]))
            update = Update(key=header_key(playlist_of(item).id), remove=(HELD,), condition=ours)
            await commit(self.access.table, [Write(update)])

    async def finish(self, playlist: Playlist) -> None:
        """Delete the entries until none is left, then the tombstone.

        No new entries are added, but entries of a very recent transaction may become
        visible late.
        """
        while entries := await Order(self.access, playlist).entries():
            await written(self.access, (Delete(key_of_entry(entry)) for entry in entries))
        await self.access.table.write([Delete(header_key(playlist.id))])

    def _buried(self, playlist: Playlist, expected: int | None) -> list[Write]:
        version = () if expected is None else (Compare("version", "=", expected),)

        def refused(standing: Attributes | None) -> Exception:
            if standing is None or is_gone(standing):
                return no_playlist()
            return VersionConflict(count_of(standing, "version"))

        header = Update(
            key=header_key(playlist.id),
            set={INDEX_HASH: buried_in(), "deletedAt": self.access.clock.timestamp()},
            condition=AllOf((*ALIVE, *version)),
        )
        member = Delete(member_key(playlist.owner, playlist.id), Exists())
        return [Write(header, refused), Write(member)]


async def written(access: Access, operations: Iterable[Put | Delete]) -> None:
    """Do any number of unconditional writes, a few batches at a time."""
    left = iter(operations)
    while part := list(islice(left, WRITE_OPERATIONS * AT_ONCE)):
        batches = range(0, len(part), WRITE_OPERATIONS)
        await gather(*(access.table.write(part[n : n + WRITE_OPERATIONS]) for n in batches))
