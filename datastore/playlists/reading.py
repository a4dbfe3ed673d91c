"""Reads of the caller's playlists and entries; playlists of other users count as absent."""

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from penstock.datastore.access.access import Access
from penstock.datastore.audio.records import Audio
from penstock.datastore.errors import FieldProblem, Invalid, NotFound
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.playlists.rows import (
    PREFIX,
    entry_of,
    header_key,
    key_at_position,
    member_key,
    member_of,
    no_playlist,
    playlist_of,
)
from penstock.datastore.table.items import read_or_report, read_rows
from penstock.datastore.table.layout import PLAYLIST, PLAYLIST_ENTRY, PLAYLIST_MEMBER
from penstock.datastore.table.pages import Slice, Window, make_slice, read_existing, read_records
from penstock.datastore.table.port import Query, Range
from penstock.datastore.table.tombstones import is_alive
from penstock.datastore.text import is_id

AFTER_ALL_IDS = "~"
"""A character that sorts after every character of an id."""


@dataclass(frozen=True, slots=True)
class PlaylistReader:
    """Reads of the caller's playlists."""

    access: Access

    async def many(self, ids: Sequence[str]) -> list[Playlist | NotFound]:
        """Get playlists: `pk = PL:<id>, sk = PL` and the caller's `U:<user>, PL:<id>`, batched.

        One answer for each id, aligned. Without the row in the caller's own partition the
        playlist counts as absent, even if another user has one with this id.
        """
        known = [id for id in ids if is_id(id)]
        members = {id: member_key(self._user, id) for id in known}
        keys = [*map(header_key, known), *members.values()]
        rows = await read_rows(self.access.table, keys, consistent=True)
        found: list[Playlist | NotFound] = []
        for id in ids:
            header = rows.get(header_key(id)) if members.get(id) in rows else None
            found.append(read_or_report(playlist_of, header) if is_alive(header) else no_playlist())
        return found

    async def one(self, id: str) -> Playlist:
        """Get a playlist; raises NotFound."""
        (playlist,) = await self.many([id])
        if isinstance(playlist, NotFound):
            raise playlist
        return playlist

    async def replayed_playlist(self, id: str) -> Playlist:
        """The playlist that an earlier call with this key made; raises Invalid if it is gone."""
        try:
            return await self.one(id)
        except NotFound:
            problem = FieldProblem(["idempotencyKey"], "made a playlist that is gone")
            raise Invalid([problem]) from None

    async def get_playlist_ids_by_user_id(
        self, window: Window, *, newest_first: bool = True
    ) -> Slice[str]:
        """getPlaylistIdsByUserId: `Query(Owner = :{UserId} and DataType = 'PlayListName')`.

        One page of `pk = U:<user>`, `sk` begins with `PL:`, by the time of creation.
        """
        query = Query(
            partition=PLAYLIST_MEMBER.pk.fill({"user": self._user}),
            range=Range(PLAYLIST_MEMBER.sk.prefix({})),
            after=None if window.after is None else member_key(self._user, window.after),
            descending=newest_first is not window.backward,
            limit=window.size + 1,
        )
        ids = await read_records(self.access.paid_rows, query, member_of)
        return make_slice(ids.records, window, str, more=ids.more)

    async def page(self, window: Window, *, newest_first: bool = True) -> Slice[Playlist]:
        """List playlists: one page of their ids, then one BatchGet of their headers."""
        read_ids = partial(self.get_playlist_ids_by_user_id, newest_first=newest_first)
        return await read_existing(window, read_ids, self._existing)

    async def entries(self, playlist: Playlist, window: Window) -> Slice[Entry]:
        """List entries in order: `pk = PL:<id>`, `sk` begins with `PLI:`.

        A position is a rank and an id. An entry that moves during a walk appears at its new
        position.
        """
        query = Query(
            partition=PLAYLIST_ENTRY.pk.fill({"playlist": playlist.id}),
            range=Range(PREFIX),
            after=None if window.after is None else key_at_position(playlist.id, window.after),
            descending=window.backward,
            limit=window.size + 1,
        )
        found = await read_records(self.access.paid_rows, query, entry_of)
        return make_slice(found.records, window, lambda entry: entry.position, more=found.more)

    async def entries_of(self, wanted: Sequence[tuple[Playlist, Window]]) -> list[Slice[Entry]]:
        """List entries of many playlists concurrently; aligned."""
        return await gather(*(self.entries(playlist, window) for playlist, window in wanted))

    async def playlists_holding(
        self, wanted: Sequence[tuple[Audio, Window]]
    ) -> list[Slice[Playlist]]:
        """List playlists that hold a track: `siKey1 = AU:<audio>`, `pk` begins with `PL:`.

        Each playlist appears once, oldest first. Many tracks are read concurrently, then
        one BatchGet reads all headers; aligned.
        """
        pages = await gather(*(self._ids_holding(audio, window) for audio, window in wanted))
        ids = [id for page in pages for id, _ in page.entries]
        found = dict(zip(ids, await self._existing(ids), strict=True))

        async def fill_page(audio: Audio, window: Window, page: Slice[str]) -> Slice[Playlist]:
            playlists = [each for id, _ in page.entries if (each := found[id]) is not None]
            if len(playlists) == len(page.entries):
                return page.with_items(playlists)
            return await read_existing(window, partial(self._ids_holding, audio), self._existing)

        windows = zip(wanted, pages, strict=True)
        return list(await gather(*(fill_page(*one, page) for one, page in windows)))

    async def _existing(self, ids: Sequence[str]) -> list[Playlist | None]:
        """Get playlists, None for each that was deleted after the list was read."""
        found = await self.many(ids)
        return [each if isinstance(each, Playlist) else None for each in found]

    async def _ids_holding(self, audio: Audio, window: Window) -> Slice[str]:
        found: list[str] = []
        after, more = window.after_id, True
        while more and len(found) <= window.size:
            query = Query(
                partition=PLAYLIST_ENTRY.index_partition(audio=audio.id),
                index=True,
                range=_range_behind(after, backward=window.backward),
                descending=window.backward,
                limit=window.size + 1,
            )
            page = await self.access.paid_rows.query(query)
            ids = [PLAYLIST.pk.parse(str(item["pk"]))["playlist"] for item in page.items]
            found += dict.fromkeys(ids)
            more = page.last is not None
            after = found[-1] if found else after
        return make_slice(found, window, str, more=more)

    @property
    def _user(self) -> str:
        return self.access.caller.user_id


def _range_behind(id: str | None, *, backward: bool) -> Range:
    """The index range after a playlist, which skips the rest of its own entries."""
    prefix = PLAYLIST.pk.prefix({})
    if id is None:
        return Range(prefix)
    text = header_key(id).pk
    if backward:
        return Range(prefix, high=text[:-1] + chr(ord(text[-1]) - 1) + AFTER_ALL_IDS)
    return Range(prefix, low=text + AFTER_ALL_IDS)
