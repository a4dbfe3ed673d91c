"""Deletes of playlists of any length: hidden at once, then removed entry by entry.

One transaction turns the header into a tombstone, listed under `X:PL`, and takes the playlist out
of its owner's list. The entries are then deleted in batches; any process that finds a tombstone may
continue. An import uses the same state: its playlist stays hidden until it is complete.
"""

from asyncio import gather
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice

from penstock.datastore.access.access import Access
from penstock.datastore.audio.upkeep.library_rows import upkeep_update
from penstock.datastore.errors import VersionConflict
from penstock.datastore.periodic import finish_all
from penstock.datastore.playlists.header import NOUN, require_version
from penstock.datastore.playlists.order import EntryOrder
from penstock.datastore.playlists.reading import PlaylistReader
from penstock.datastore.playlists.records import Playlist
from penstock.datastore.playlists.rows import (
    count_of,
    header_key,
    key_of_entry,
    member_key,
    no_playlist,
    playlist_of,
    tombstone_partition,
)
from penstock.datastore.table.commit import StaleRead, Write, commit, retry_on_conflict
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
from penstock.datastore.table.tombstones import DELETED_AT, IS_ALIVE, is_alive

CONCURRENT_BATCHES = 4
HELD_UNTIL = "heldUntil"


@dataclass(frozen=True, slots=True)
class PlaylistDeleter:
    """Deletes of the caller's playlists."""

    access: Access

    async def delete(self, id: str, expected_version: int | None = None) -> Playlist:
        """Delete a playlist: one transaction, then its entries in batches; return its header."""

        async def attempt() -> Playlist:
            playlist = await PlaylistReader(self.access).one(id)
            require_version(playlist, expected_version)
            await commit(self.access.table, self._tombstone_writes(playlist, expected_version))
            return playlist

        playlist = await retry_on_conflict(NOUN, attempt)
        await self.finish_delete(playlist)
        return playlist

    async def sweep(self) -> int:
        """Finish all interrupted deletes; return their number."""
        items = await self._tombstones()

        async def finish(item: Attributes) -> int:
            with suppress(StaleRead):  # the import has published its playlist
                await self._release_hold(item)
                await self.finish_delete(playlist_of(item))
            return 1

        return await finish_all(partial(finish, item) for item in items)

    async def pending(self) -> int:
        """Count the interrupted deletes, up to one page of them."""
        return len(await self._tombstones())

    async def _tombstones(self) -> Sequence[Attributes]:
        """The headers of deleted playlists, without those that a living import still hides."""
        page = await self.access.table.query(Query(partition=tombstone_partition(), index=True))
        now = self.access.clock.timestamp()
        return [item for item in page.items if str(item.get(HELD_UNTIL, "")) <= now]

    async def _release_hold(self, item: Attributes) -> None:
        """Make sure that an import cannot publish its playlist while the entries are deleted."""
        if HELD_UNTIL in item:
            ours = Compare(HELD_UNTIL, "=", str(item[HELD_UNTIL]))
            update = Update(
                key=header_key(playlist_of(item).id), remove=(HELD_UNTIL,), condition=ours
            )
            await commit(self.access.table, [Write(update)])

    async def finish_delete(self, playlist: Playlist) -> None:
        """Delete the entries until none is left, then the tombstone.

        No new entries are added, but entries of a very recent transaction may become
        visible late.
        """
        while entries := await EntryOrder(self.access, playlist).read_entries():
            await write_in_batches(self.access, (Delete(key_of_entry(entry)) for entry in entries))
        await self.access.table.write([Delete(header_key(playlist.id))])

    def _tombstone_writes(self, playlist: Playlist, expected: int | None) -> list[Write]:
        version = () if expected is None else (Compare("version", "=", expected),)

        def describe_conflict(standing: Attributes | None) -> Exception:
            if not is_alive(standing):
                return no_playlist()
            return VersionConflict(count_of(standing, "version"))

        header = Update(
            key=header_key(playlist.id),
            set={INDEX_HASH: tombstone_partition(), DELETED_AT: self.access.clock.timestamp()},
            condition=AllOf((*IS_ALIVE, *version)),
        )
        member = Delete(member_key(playlist.owner, playlist.id), Exists())
        upkeep = upkeep_update(self.access)
        return [Write(header, describe_conflict), Write(member), Write(upkeep)]


async def write_in_batches(access: Access, operations: Iterable[Put | Delete]) -> None:
    """Do any number of unconditional writes, a few batches at a time."""
    left = iter(operations)
    while part := list(islice(left, WRITE_OPERATIONS * CONCURRENT_BATCHES)):
        batches = range(0, len(part), WRITE_OPERATIONS)
        await gather(*(access.table.write(part[n : n + WRITE_OPERATIONS]) for n in batches))
