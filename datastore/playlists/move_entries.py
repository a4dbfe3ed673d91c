"""Moves and removals of entries in the caller's playlists, by their ids."""

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.playlists import ranks
from penstock.datastore.playlists.change_target import (
    Target,
    check_distinct,
    check_several,
    duration,
    require_room,
)
from penstock.datastore.playlists.header import Change, until_settled
from penstock.datastore.playlists.order import Order, moves
from penstock.datastore.playlists.records import MAX_CHANGED, MAX_MOVED, Playlist
from penstock.datastore.playlists.rows import key_of_entry
from penstock.datastore.playlists.write import change_made
from penstock.datastore.table.port import Delete, Exists
from penstock.datastore.table.transaction import Write


@dataclass(frozen=True, slots=True)
class Moving:
    """Moves and removals of entries; concurrent ones of different entries do not conflict."""

    access: Access

    async def move(
        self, target: Target, entry_ids: Sequence[str], after: str | None = None
    ) -> Playlist:
        """Move entries as one block, in their present order, after another entry or to the start.

        If they are already there, nothing changes.
        """
        check_several(entry_ids, "entryIds", MAX_MOVED, "entries moved at once")
        check_distinct(entry_ids, "entryIds")
        if after in entry_ids:
            raise Invalid([FieldProblem(["after"], "must not be one of those that move")])
        return await until_settled(lambda: self._move(target, entry_ids, after))

    async def remove(self, target: Target, entry_ids: Sequence[str]) -> Playlist:
        """Remove entries; other entries of the same tracks stay."""
        check_several(entry_ids, "entryIds", MAX_CHANGED, "entries removed at once")
        check_distinct(entry_ids, "entryIds")
        return await until_settled(lambda: self._remove(target, entry_ids))

    async def _move(self, target: Target, ids: Sequence[str], after: str | None) -> Playlist:
        playlist = await target.playlist(self.access)
        order = Order(self.access, playlist)
        named = [*ids, *([] if after is None else [after])]
        found = await order.find(named, target.hints)
        block = sorted((found[id] for id in ids), key=lambda entry: entry.position)
        gap = await order.behind(None if after is None else found[after], ids)
        if gap.passed == tuple(entry.id for entry in block):
            return playlist
        await require_room(order, gap, after, len(block))
        writes: list[Write] = []
        for entry, rank in zip(block, ranks.between(gap.low, gap.high, len(block)), strict=True):
            writes += moves(entry, rank)
        change = Change(at=self.access.clock.timestamp())
        return await change_made(self.access, playlist, change, writes, target.version)

    async def _remove(self, target: Target, ids: Sequence[str]) -> Playlist:
        playlist = await target.playlist(self.access)
        found = await Order(self.access, playlist).find(ids, target.hints)
        change = Change(
            at=self.access.clock.timestamp(),
            entries=-len(found),
            duration_ms=-duration(found.values()),
        )
        gone = [Write(Delete(key_of_entry(entry), Exists())) for entry in found.values()]
        return await change_made(self.access, playlist, change, gone, target.version)
