"""Imports of playlists: the tracks of a file are matched with the library, then written.

The new playlist stays hidden until it is complete, so that no reader sees a part of it. If the
process dies before that, a sweep deletes the rest like an interrupted delete.
"""

from asyncio import to_thread
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.audio.records import Audio
from penstock.datastore.clock import canonical
from penstock.datastore.errors import FieldProblem, Invalid, Unavailable
from penstock.datastore.playlists import ranks
from penstock.datastore.playlists.add_entries import entry_for
from penstock.datastore.playlists.change_target import duration
from penstock.datastore.playlists.delete import HELD, Deleting, written
from penstock.datastore.playlists.formats.document import Document, Track
from penstock.datastore.playlists.reading import Reading
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.playlists.rows import (
    KIND,
    buried_in,
    entry_item,
    header_item,
    header_key,
    is_gone,
    member_item,
)
from penstock.datastore.playlists.track_matching import Library, Match, all_tracks, tracks_by_ids
from penstock.datastore.playlists.write import check_name, new_playlist
from penstock.datastore.resources import idempotency
from penstock.datastore.table.port import INDEX_HASH, Compare, Item, Missing, Put, Update
from penstock.datastore.table.transaction import Done, Write, commit

HOLD = timedelta(minutes=2)


class _GivenUp(Unavailable):
    """The import took longer than it may keep the playlist hidden."""

    def __init__(self) -> None:
        super().__init__("The import took too long and was given up.")


class Unmatched(NamedTuple):
    """A track of a file without exactly one match; its position in the file counts from 1."""

    position: int
    track: Track
    candidates: tuple[Audio, ...]


class Imported(NamedTuple):
    """The result of an import; `playlist` is None if the import only looked for matches."""

    playlist: Playlist | None
    matched: int
    unmatched: tuple[Unmatched, ...]


class Wish(NamedTuple):
    """The options of an import.

    `name` replaces the title of the file. `keep` adds entries for unmatched tracks, which are
    otherwise left out; the result reports them in both cases.
    """

    name: str | None = None
    keep: bool = False
    only_look: bool = False
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class Importing:
    """Imports of files into the caller's playlists."""

    access: Access

    async def run(self, document: Document, wish: Wish) -> Imported:
        """Match the tracks of a document, and make a playlist of them in the same order."""
        name = wish.name if wish.name is not None else document.title
        if name is None:
            words = "is in no line of the file, and has to be given"
            raise Invalid([FieldProblem(["name"], words)])
        check_name(name, wish.idempotency_key)
        matches = await self._matches(document.tracks)
        pairs = list(zip(document.tracks, matches, strict=True))
        unmatched = tuple(
            Unmatched(n, track, match.candidates)
            for n, (track, match) in enumerate(pairs, 1)
            if match.audio is None
        )
        playlist: Playlist | None = None
        if not wish.only_look:
            wanted = [(track, match) for track, match in pairs if match.audio or wish.keep]
            playlist = await self._make(name.strip(), wanted, document, wish)
        return Imported(playlist, len(pairs) - len(unmatched), unmatched)

    async def _matches(self, tracks: Sequence[Track]) -> list[Match]:
        """Match by ids; read the whole library only if some ids do not match."""
        ids = [track.id or "" for track in tracks]
        found = await tracks_by_ids(self.access, ids, consistent=True)
        known = [audio for audio in found if isinstance(audio, Audio)]
        if len(known) < len(found):
            known = await all_tracks(self.access)
        return await to_thread(_matched, known, tracks)

    async def _make(
        self,
        name: str,
        wanted: Sequence[tuple[Track, Match]],
        document: Document,
        wish: Wish,
    ) -> Playlist:
        await Deleting(self.access).sweep()
        playlist = new_playlist(self.access, name)
        entries = await to_thread(self._entries, playlist, wanted)
        playlist = msgspec.structs.replace(
            playlist, entry_count=len(entries), duration_ms=duration(entries)
        )
        held_until = canonical(self.access.clock.now() + HOLD)
        held = {INDEX_HASH: buried_in(), "deletedAt": playlist.created_at, HELD: held_until}
        await self.access.table.write([Put({**header_item(playlist), **held})])
        await written(self.access, (Put(entry_item(entry)) for entry in entries))
        writes = [self._shown(playlist, held_until), Write(Put(member_item(playlist), Missing()))]
        if wish.idempotency_key is not None:
            content = msgspec.to_builtins((document, name, wish.keep))
            receipt = idempotency.Receipt(KIND, playlist.id, "import", {"content": content})
            writes.append(receipt.write(self.access, wish.idempotency_key))
        try:
            await commit(self.access.table, writes)
        except (idempotency.Replayed, Invalid, _GivenUp) as failure:
            await Deleting(self.access).finish(playlist)
            if isinstance(failure, idempotency.Replayed):
                return await Reading(self.access).replayed(failure.id)
            raise
        return playlist

    def _entries(self, playlist: Playlist, wanted: Sequence[tuple[Track, Match]]) -> list[Entry]:
        ranked = ranks.between(None, None, len(wanted)) if wanted else ()
        return [
            self._entry(playlist, rank, track, match.audio)
            for rank, (track, match) in zip(ranked, wanted, strict=True)
        ]

    def _entry(self, playlist: Playlist, rank: str, track: Track, audio: Audio | None) -> Entry:
        id, now = self.access.clock.new_id(), playlist.created_at
        if audio is not None:
            return entry_for(playlist.id, id, rank, audio, now)
        return Entry(
            id=id,
            playlist_id=playlist.id,
            rank=rank,
            location=track.location,
            title=track.title,
            artist=track.creator,
            album=track.album,
            duration_ms=track.duration_ms,
            added_at=now,
            added_by=playlist.owner,
        )

    def _shown(self, playlist: Playlist, held_until: str) -> Write:
        """The write that publishes the playlist; it fails if a sweep has already taken it."""

        def refused(standing: Item | None) -> Exception:
            return _GivenUp() if is_gone(standing) else Done()

        update = Update(
            key=header_key(playlist.id),
            remove=(INDEX_HASH, "deletedAt", HELD),
            condition=Compare(HELD, "=", held_until),
        )
        return Write(update, refused)


def _matched(known: Sequence[Audio], tracks: Sequence[Track]) -> list[Match]:
    library = Library(known)
    return [library.match(track) for track in tracks]
