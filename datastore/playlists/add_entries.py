"""Additions of tracks to the caller's playlists, as many as fit into one transaction."""

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from penstock.datastore.access.access import Access
from penstock.datastore.audio.records import Audio
from penstock.datastore.audio.tracks import TrackReader as AudioReading
from penstock.datastore.errors import Invalid, VersionConflict
from penstock.datastore.playlists import ranks
from penstock.datastore.playlists.change_target import (
    ChangeTarget,
    check_several,
    require_room,
    total_duration,
)
from penstock.datastore.playlists.formats.document import MAX_TEXT
from penstock.datastore.playlists.header import NOUN, PlaylistChange
from penstock.datastore.playlists.order import EntryOrder, Gap, gap_among
from penstock.datastore.playlists.reading import PlaylistReader
from penstock.datastore.playlists.records import MAX_CHANGED, Entry, Playlist
from penstock.datastore.playlists.rows import KIND, entry_item
from penstock.datastore.playlists.write import commit_change
from penstock.datastore.resources import idempotency
from penstock.datastore.table.commit import (
    StaleRead,
    Write,
    already_done,
    commit,
    retry_on_conflict,
)
from penstock.datastore.table.port import Missing, Put

AddedEntries = tuple[Playlist, tuple[Entry, ...]]

NewEntry: TypeAlias = tuple[str, str]
"""The id of an entry to add, and that of its track."""


class _Place(NamedTuple):
    """The place of new entries: a gap, and the entry behind which it begins; None for the end."""

    after: str | None
    gap: Gap


@dataclass(frozen=True, slots=True)
class EntryAdder:
    """Additions to the caller's playlists."""

    access: Access

    async def add(
        self,
        target: ChangeTarget,
        audio_ids: Sequence[str],
        after: str | None = None,
        idempotency_key: str | None = None,
        *,
        skip_duplicates: bool = False,
    ) -> AddedEntries:
        """Add the caller's tracks in this order, after the entry `after` or at the end.

        A track may be added any number of times, unless duplicates are skipped: then one that the
        playlist holds is left out, which reads all entries. A repeated idempotency key with the
        same input adds nothing; it returns those entries of the first call that still exist.
        """
        check_several(audio_ids, "audioIds", MAX_CHANGED, "entries added at once")
        if problems := idempotency.key_problems(idempotency_key):
            raise Invalid(problems)
        ids = [self.access.clock.new_id() for _ in audio_ids]
        skips = {"skipDuplicates": True} if skip_duplicates else {}
        content = {"audioIds": list(audio_ids), "after": after, **skips}
        receipt = idempotency.Receipt(KIND, " ".join(ids), target.id, content)
        receipts = [receipt.write(self.access, idempotency_key)] if idempotency_key else []
        wanted = list(zip(ids, audio_ids, strict=True))
        attempt = self._try_adding_missing if skip_duplicates else self._try_adding
        try:
            async with idempotency.repeated_on_failure(receipt, self.access, idempotency_key):
                return await retry_on_conflict(
                    NOUN, lambda: attempt(target, after, wanted, receipts)
                )
        except idempotency.RepeatedCall as earlier:
            return await self._replay_addition(target, earlier.id.split())

    async def _try_adding(
        self,
        target: ChangeTarget,
        after: str | None,
        wanted: Sequence[NewEntry],
        receipts: Sequence[Write],
    ) -> AddedEntries:
        order = EntryOrder(self.access, await target.read_playlist(self.access))
        gap, tracks = await gather(
            self._find_gap(order, target, after), self._require_tracks(wanted)
        )
        new = [(id, track) for (id, _), track in zip(wanted, tracks, strict=True)]
        return await self._put_entries(order, _Place(after, gap), new, receipts, target.version)

    async def _try_adding_missing(
        self,
        target: ChangeTarget,
        after: str | None,
        wanted: Sequence[NewEntry],
        receipts: Sequence[Write],
    ) -> AddedEntries:
        """Add the tracks that the playlist does not hold, unless somebody changes it meanwhile."""
        order = EntryOrder(self.access, await target.read_playlist(self.access))
        entries, tracks = await gather(order.read_entries(), self._require_tracks(wanted))
        held = {one.audio_id for one in entries}
        missing = {track: id for id, track in reversed(wanted) if track not in held}
        if not missing:
            if receipts:
                # The same call before may have added them.
                await commit(self.access.table, receipts)
            return order.playlist, ()
        gap = gap_among(entries, after) or await self._find_gap(order, target, after)
        pairs = zip(wanted, tracks, strict=True)
        new = [(id, track) for (id, _), track in pairs if missing.get(track.id) == id]
        expected = order.playlist.version
        try:
            return await self._put_entries(order, _Place(after, gap), new, receipts, expected)
        except VersionConflict:
            if target.version is None:
                raise StaleRead from None
            raise

    async def _put_entries(
        self,
        order: EntryOrder,
        place: _Place,
        new: Sequence[tuple[str, Audio]],
        receipts: Sequence[Write],
        expected: int | None,
    ) -> AddedEntries:
        """Put tracks as entries of these ids into a gap, behind the entry that begins it."""
        playlist, gap = order.playlist, place.gap
        await require_room(order, gap, place.after, len(new))
        now = self.access.clock.timestamp()
        ranked = ranks.new_ranks(gap.low, gap.high, len(new))
        entries = tuple(
            entry_for(playlist.id, id, rank, track, now)
            for (id, track), rank in zip(new, ranked, strict=True)
        )
        puts = [Write(Put(entry_item(entry), Missing()), already_done) for entry in entries]
        change = PlaylistChange(at=now, entries=len(entries), duration_ms=total_duration(entries))
        writes = [*receipts, *puts]
        return await commit_change(self.access, playlist, change, writes, expected), entries

    async def _require_tracks(self, wanted: Sequence[NewEntry]) -> list[Audio]:
        return await AudioReading(self.access).require_many([id for _, id in wanted], "audioIds")

    async def _find_gap(self, order: EntryOrder, target: ChangeTarget, after: str | None) -> Gap:
        if after is None:
            return await order.end_gap()
        found = await order.find_entries([], target.hints, after)
        return await order.gap_behind(found[after])

    async def _replay_addition(self, target: ChangeTarget, ids: Sequence[str]) -> AddedEntries:
        playlist = await PlaylistReader(self.access).one(target.id)
        entries = await EntryOrder(self.access, playlist).read_entries()
        return playlist, tuple(entry for entry in entries if entry.id in ids)


def entry_for(playlist_id: str, id: str, rank: str, track: Audio, now: str) -> Entry:
    """The entry of a track, with a copy of its current tags."""
    return Entry(
        id=id,
        playlist_id=playlist_id,
        rank=rank,
        audio_id=track.id,
        title=track.title,
        artist=artist_credit(track),
        album=track.album,
        duration_ms=track.duration_ms,
        added_at=now,
        added_by=track.owner,
    )


def artist_credit(track: Audio) -> str | None:
    """The artists of a track in one text, cut to the limit of playlist files; None without any."""
    return ", ".join(track.artists)[:MAX_TEXT] or None
