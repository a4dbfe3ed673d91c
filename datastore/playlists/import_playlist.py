"""Imports of playlists: the tracks of a file are matched with the library, then written.

The new playlist stays hidden until it is complete, so that no reader sees a part of it. If the
process dies before that, a sweep deletes the rest like an interrupted delete.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from hashlib import sha256
from typing import NamedTuple

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.audio.records import Audio
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import FieldProblem, Invalid, Unavailable
from penstock.datastore.interruptible_work import InterruptibleWork
from penstock.datastore.playlists import ranks
from penstock.datastore.playlists.add_entries import entry_for
from penstock.datastore.playlists.change_target import total_duration
from penstock.datastore.playlists.delete import HELD_UNTIL, PlaylistDeleter, write_in_batches
from penstock.datastore.playlists.formats.document import FileTrack, PlaylistDocument
from penstock.datastore.playlists.reading import PlaylistReader
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.playlists.rows import (
    KIND,
    entry_item,
    header_item,
    header_key,
    member_item,
    tombstone_partition,
)
from penstock.datastore.playlists.track_matching import (
    TrackIndex,
    TrackMatch,
    read_all_tracks,
    read_tracks,
)
from penstock.datastore.playlists.uploaded_files import (
    NoUploadedFile,
    PlaylistUploads,
    UploadedFile,
)
from penstock.datastore.playlists.write import check_name, new_playlist
from penstock.datastore.request_threads import run_in_request_thread
from penstock.datastore.resources import idempotency
from penstock.datastore.table.commit import AlreadyDone, Write, commit
from penstock.datastore.table.port import INDEX_HASH, Compare, Item, Missing, Put, Update
from penstock.datastore.table.tombstones import DELETED_AT, is_alive
from penstock.datastore.text import replace_unprintable

HOLD_TIME = timedelta(minutes=2)

_CALL, _MATCHED, _UNMATCHED = "call", "matched", "unmatched"


class _ImportTimedOut(Unavailable):
    """The import took longer than it may keep the playlist hidden."""

    def __init__(self) -> None:
        super().__init__("The import took too long and was given up.")


class UnmatchedEntry(NamedTuple):
    """A track of a file without exactly one match; its position in the file counts from 1."""

    position: int
    track: FileTrack
    candidates: tuple[Audio, ...]


class ImportResult(NamedTuple):
    """The result of an import; `playlist` is None if the import only looked for matches.

    That of an earlier call whose uploaded file is gone counts the tracks without a match only.
    """

    playlist: Playlist | None
    matched: int
    unmatched_count: int
    unmatched: tuple[UnmatchedEntry, ...] = ()


class ImportOptions(NamedTuple):
    """The options of an import.

    `name` replaces the title of the file. `keep` adds entries for unmatched tracks, which are
    otherwise left out; the result reports them in both cases.
    """

    name: str | None = None
    keep: bool = False
    only_look: bool = False
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class PlaylistImporter:
    """Imports of files into the caller's playlists."""

    access: Access

    async def run_uploaded(self, file: UploadedFile, wish: ImportOptions) -> ImportResult:
        """Import an uploaded file; a repeated idempotency key needs it no more.

        Raises Invalid if there is none, or it cannot be read.
        """
        uploads = PlaylistUploads(self.access)
        try:
            document = await uploads.read(file)
        except NoUploadedFile:
            if (earlier := await self._find_earlier(file, wish)) is None:
                raise
            return earlier
        found = await self.run(document, wish, file)
        if found.playlist is not None:
            await uploads.try_note_use(file.object_key)
        return found

    async def run(
        self, document: PlaylistDocument, wish: ImportOptions, file: UploadedFile | None = None
    ) -> ImportResult:
        """Match the tracks of a document, and make a playlist of them in the same order.

        `file` is the uploaded one that the document is read from, if it is.
        """
        name = _clean_name(document.title) if wish.name is None else wish.name
        if name is None:
            words = "is in no line of the file, and has to be given"
            raise Invalid([FieldProblem(["name"], words)])
        check_name(name, wish.idempotency_key)
        matches = await self._match_tracks(document.tracks)
        pairs = list(zip(document.tracks, matches, strict=True))
        unmatched = tuple(
            UnmatchedEntry(n, track, match.candidates)
            for n, (track, match) in enumerate(pairs, 1)
            if match.audio is None
        )
        found = ImportResult(None, len(pairs) - len(unmatched), len(unmatched), unmatched)
        if wish.only_look:
            return found
        wanted = [(track, match) for track, match in pairs if match.audio or wish.keep]
        noted: Item = {} if file is None else _note_of(file, wish, found)
        content = msgspec.to_builtins((document, name.strip(), wish.keep))
        receipt = idempotency.Receipt(KIND, "", "import", {"content": content}, noted)
        playlist = await self._create_playlist(name.strip(), wanted, receipt, wish)
        return found._replace(playlist=playlist)

    async def _find_earlier(self, file: UploadedFile, wish: ImportOptions) -> ImportResult | None:
        """The result of the same call with the same idempotency key, if one succeeded before."""
        if wish.idempotency_key is None or wish.only_look:
            return None
        standing = await idempotency.find_receipt(self.access, wish.idempotency_key)
        if standing is None or standing.get(_CALL) != _call_digest(file, wish):
            return None
        playlist = await PlaylistReader(self.access).replayed_playlist(str(standing["id"]))
        matched, unmatched = (int(str(standing[name])) for name in (_MATCHED, _UNMATCHED))
        return ImportResult(playlist, matched, unmatched)

    async def _match_tracks(self, tracks: Sequence[FileTrack]) -> list[TrackMatch]:
        """Match by ids; read the whole library only if some ids do not match."""
        ids = [track.id or "" for track in tracks]
        found = await read_tracks(self.access, ids)
        known = [audio for audio in found if isinstance(audio, Audio)]
        if len(known) < len(found):
            known = await read_all_tracks(self.access)
        match = partial(_match_all, known, tracks)
        return await run_in_request_thread(match, self.access.payer)

    async def _create_playlist(
        self,
        name: str,
        wanted: Sequence[tuple[FileTrack, TrackMatch]],
        receipt: idempotency.Receipt,
        wish: ImportOptions,
    ) -> Playlist:
        await PlaylistDeleter(self.access).sweep()
        playlist = new_playlist(self.access, name)
        build = partial(self._build_entries, playlist, wanted)
        entries = await run_in_request_thread(build, self.access.payer)
        playlist = msgspec.structs.replace(
            playlist, entry_count=len(entries), duration_ms=total_duration(entries)
        )
        held_until = iso_timestamp(self.access.clock.now() + HOLD_TIME)
        held = {
            INDEX_HASH: tombstone_partition(),
            DELETED_AT: playlist.created_at,
            HELD_UNTIL: held_until,
        }
        await self.access.table.write([Put({**header_item(playlist), **held})])
        await write_in_batches(self.access, (Put(entry_item(entry)) for entry in entries))
        writes = [
            self._publish_write(playlist, held_until),
            Write(Put(member_item(playlist), Missing())),
        ]
        if wish.idempotency_key is not None:
            made = replace(receipt, id=playlist.id)
            writes.append(made.write(self.access, wish.idempotency_key))
        try:
            await commit(self.access.table, writes)
        except (idempotency.RepeatedCall, Invalid, _ImportTimedOut) as failure:
            await PlaylistDeleter(self.access).finish_delete(playlist)
            if isinstance(failure, idempotency.RepeatedCall):
                return await PlaylistReader(self.access).replayed_playlist(failure.id)
            raise
        return playlist

    def _build_entries(
        self,
        playlist: Playlist,
        wanted: Sequence[tuple[FileTrack, TrackMatch]],
        _work: InterruptibleWork,
    ) -> list[Entry]:
        ranked = ranks.new_ranks(None, None, len(wanted)) if wanted else ()
        return [
            self._build_entry(playlist, rank, track, match.audio)
            for rank, (track, match) in zip(ranked, wanted, strict=True)
        ]

    def _build_entry(
        self, playlist: Playlist, rank: str, track: FileTrack, audio: Audio | None
    ) -> Entry:
        id, now = self.access.clock.new_id(), playlist.created_at
        if audio is not None:
            return entry_for(playlist.id, id, rank, audio, now)
        return Entry(
            id=id,
            playlist_id=playlist.id,
            rank=rank,
            location=track.location,
            title=_clean_name(track.title),
            artist=_clean_name(track.creator),
            album=_clean_name(track.album),
            duration_ms=track.duration_ms,
            added_at=now,
            added_by=playlist.owner,
        )

    def _publish_write(self, playlist: Playlist, held_until: str) -> Write:
        """The write that publishes the playlist; it fails if a sweep has already taken it."""

        def describe_conflict(standing: Item | None) -> Exception:
            return AlreadyDone() if is_alive(standing) else _ImportTimedOut()

        update = Update(
            key=header_key(playlist.id),
            remove=(INDEX_HASH, DELETED_AT, HELD_UNTIL),
            condition=Compare(HELD_UNTIL, "=", held_until),
        )
        return Write(update, describe_conflict)


def _note_of(file: UploadedFile, wish: ImportOptions, found: ImportResult) -> Item:
    """The facts in the receipt of a call from which it is answered without its file."""
    return {
        _CALL: _call_digest(file, wish),
        _MATCHED: found.matched,
        _UNMATCHED: found.unmatched_count,
    }


def _call_digest(file: UploadedFile, wish: ImportOptions) -> str:
    facts = [file.object_key, file.format, wish.name, wish.keep]
    return sha256(msgspec.json.encode(facts)).hexdigest()


def _match_all(
    known: Sequence[Audio], tracks: Sequence[FileTrack], work: InterruptibleWork
) -> list[TrackMatch]:
    library = TrackIndex(known, work.require_wanted)
    return [library.match(track) for track in tracks]


def _clean_name(text: str | None) -> str | None:
    """A name in a file without what no new name has; None if nothing is left."""
    return replace_unprintable(text or "").strip() or None
