"""Moves and removals of entries in the caller's playlists, by their ids."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.playlists import ranks
from penstock.datastore.playlists.change_target import (
    ChangeTarget,
    check_distinct,
    check_several,
    require_room,
    total_duration,
)
from penstock.datastore.playlists.header import NOUN, PlaylistChange
from penstock.datastore.playlists.order import EntryOrder, move_writes
from penstock.datastore.playlists.records import MAX_CHANGED, MAX_MOVED, Playlist
from penstock.datastore.playlists.rows import key_of_entry
from penstock.datastore.playlists.write import commit_change
from penstock.datastore.table.commit import Write, retry_on_conflict
from penstock.datastore.table.port import Delete, Exists


@dataclass(frozen=True, slots=True)
class EntryMover:
    """Moves and removals of entries; concurrent ones of different entries do not conflict."""

    access: Access

    async def move(
        self, target: ChangeTarget, entry_ids: Sequence[str], after: str | None = None
    ) -> Playlist:
        """Move entries as one block, in their present order, after another entry or to the start.

        If they are already there, nothing changes.
        """
        check_several(entry_ids, "entryIds", MAX_MOVED, "entries moved at once")
        check_distinct(entry_ids, "entryIds")
        if after in entry_ids:
            raise Invalid([FieldProblem(["after"], "must not be one of those that move")])
        return await retry_on_conflict(NOUN, lambda: self._try_moving(target, entry_ids, after))

    async def remove(self, target: ChangeTarget, entry_ids: Sequence[str]) -> Playlist:
        """Remove entries; other entries of the same tracks stay."""
        check_several(entry_ids, "entryIds", MAX_CHANGED, "entries removed at once")
        check_distinct(entry_ids, "entryIds")
        return await retry_on_conflict(NOUN, lambda: self._try_removing(target, entry_ids))

    async def _try_moving(
        self, target: ChangeTarget, ids: Sequence[str], after: str | None
    ) -> Playlist:
        playlist = await target.read_playlist(self.access)
        order = EntryOrder(self.access, playlist)
        found = await order.find_entries(ids, target.hints, after)
        block = sorted((found[id] for id in ids), key=lambda entry: entry.position)
        gap = await order.gap_behind(None if after is None else found[after], ids)
        if gap.passed == tuple(entry.id for entry in block):
            return playlist
        await require_room(order, gap, after, len(block))
        writes: list[Write] = []
        for entry, rank in zip(block, ranks.new_ranks(gap.low, gap.high, len(block)), strict=True):
            writes += move_writes(entry, rank)
        change = PlaylistChange(at=self.access.clock.timestamp())
        return await commit_change(self.access, playlist, change, writes, target.version)

    async def _try_removing(self, target: ChangeTarget, ids: Sequence[str]) -> Playlist:
        playlist = await target.read_playlist(self.access)
        found = await EntryOrder(self.access, playlist).find_entries(ids, target.hints)
        change = PlaylistChange(
            at=self.access.clock.timestamp(),
            entries=-len(found),
            duration_ms=-total_duration(found.values()),
        )
        gone = [Write(Delete(key_of_entry(entry), Exists())) for entry in found.values()]
        return await commit_change(self.access, playlist, change, gone, target.version)
