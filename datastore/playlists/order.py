"""The order of a playlist's entries: finding entries and gaps, and making room for more."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.errors import NotFound
from penstock.datastore.playlists import ranks
from penstock.datastore.playlists.header import rerank_write
from penstock.datastore.playlists.reading import PlaylistReader
from penstock.datastore.playlists.records import MAX_MOVED, Entry, Playlist
from penstock.datastore.playlists.rows import (
    PREFIX,
    entry_item,
    entry_of,
    key_at_position,
    key_of_entry,
    movable_entry_of,
)
from penstock.datastore.table.commit import StaleRead, Write, already_done, commit
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import PLAYLIST_ENTRY
from penstock.datastore.table.port import (
    Attributes,
    Delete,
    Exists,
    Key,
    Missing,
    Put,
    Query,
    Range,
)

PAGE = 1_000
"""The number of rows that become entries before other work has its turn."""


class Gap(NamedTuple):
    """The place between two entries, given by their ranks; None is an end of the list.

    `passed` are the ids of the ignored entries inside it, in order.
    """

    low: str | None
    high: str | None
    passed: tuple[str, ...] = ()


def gap_among(entries: Sequence[Entry], after: str | None) -> Gap | None:
    """The gap after one of all entries of a playlist, or at the end; None if it is not there."""
    if after is None:
        return Gap(entries[-1].rank if entries else None, None)
    at = next((n for n, entry in enumerate(entries) if entry.id == after), None)
    if at is None:
        return None
    return Gap(entries[at].rank, entries[at + 1].rank if at + 1 < len(entries) else None)


@dataclass(frozen=True, slots=True)
class EntryOrder:
    """The order of one playlist; `playlist` is its header as it was read before."""

    access: Access
    playlist: Playlist

    async def read_entries(self) -> list[Entry]:
        """Read every entry in order, consistently."""
        return await self._read_all(entry_of)

    async def _read_all(self, read: Callable[[Attributes], Entry]) -> list[Entry]:
        found: list[Entry] = []
        after: Key | None = None
        while True:
            page = await self.access.paid_rows.query(self._query(after, PAGE))
            found += map(read, page.items)
            if (after := page.last) is None:
                return found

    async def find_entries(
        self, ids: Sequence[str], hints: Iterable[str] = (), after: str | None = None
    ) -> dict[str, Entry]:
        """The entries with these ids and the entry `after`, by id; NotFound if one is missing.

        A hint is a former position of an entry; if every hint is right, nothing more is
        read.
        """
        wanted = {*ids, *([] if after is None else [after])}
        keys = [key_at_position(self.playlist.id, hint) for hint in hints]
        rows = await read_rows(self.access.table, keys, consistent=True)
        read: Sequence[Entry] = [movable_entry_of(row) for row in rows.values()]
        found = {entry.id: entry for entry in read if entry.id in wanted}
        if len(found) < len(wanted):
            read = await self._read_all(movable_entry_of)
            found = {entry.id: entry for entry in read if entry.id in wanted}
        if len(found) < len(wanted):
            await self._require_unchanged()
            missing = [n for n, id in enumerate(ids) if id not in found]
            if not missing:
                raise NotFound("There is no entry with this id in the playlist.", ("after",))
            raise NotFound.in_list("entry of the playlist", "entryIds", missing)
        return found

    async def end_gap(self) -> Gap:
        """The gap after the last entry."""
        page = await self.access.table.query(self._query(None, 1, descending=True))
        return Gap(entry_of(page.items[0]).rank if page.items else None, None)

    async def gap_behind(self, entry: Entry | None, passing: Collection[str] = ()) -> Gap:
        """The gap after an entry, or at the start; the entries `passing` are ignored."""
        after = None if entry is None else key_of_entry(entry)
        page = await self.access.table.query(self._query(after, len(passing) + 1))
        low = None if entry is None else entry.rank
        passed: list[str] = []
        for each in map(entry_of, page.items):
            if each.id not in passing:
                return Gap(low, each.rank, tuple(passed))
            passed.append(each.id)
        return Gap(low, None, tuple(passed))

    async def make_room(self, behind: str | None, count: int) -> None:
        """Change the ranks around the gap after an entry, or at the start, to fit `count` more.

        It uses its own transactions, each of which preserves the order. Raises StaleRead if
        another client writes the playlist meanwhile.
        """
        entries = await self._read_all(movable_entry_of)
        at = next((n for n, entry in enumerate(entries, 1) if entry.id == behind), 0)
        texts = [entry.rank for entry in entries]
        changes = ranks.spread_ranks(texts, ranks.crowded_range(texts, at, count))
        for part, start in enumerate(range(0, len(changes), MAX_MOVED)):
            writes = [rerank_write(self.playlist, self.playlist.ranked + part)]
            for n, rank in changes[start : start + MAX_MOVED]:
                writes += move_writes(entries[n], rank)
            await commit(self.access.table, writes)

    def _query(
        self, after: Key | None, limit: int | None = None, *, descending: bool = False
    ) -> Query:
        return Query(
            partition=PLAYLIST_ENTRY.pk.fill({"playlist": self.playlist.id}),
            range=Range(PREFIX),
            after=after,
            limit=limit,
            descending=descending,
            consistent=True,
        )

    async def _require_unchanged(self) -> None:
        """Raise StaleRead if the playlist has changed: a moving entry may have been missed."""
        now = await PlaylistReader(self.access).one(self.playlist.id)
        if (now.version, now.ranked) != (self.playlist.version, self.playlist.ranked):
            raise StaleRead


def move_writes(entry: Entry, rank: str) -> list[Write]:
    """The writes that move an entry from the rank at which it was read to another rank."""
    moved = msgspec.structs.replace(entry, rank=rank)
    return [
        Write(Delete(key_of_entry(entry), Exists())),
        Write(Put(entry_item(moved), Missing()), already_done),
    ]
