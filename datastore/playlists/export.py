"""Exports of playlists: the document from which a file is written."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from penstock.datastore.access.access import Access
from penstock.datastore.audio.records import Audio
from penstock.datastore.errors import LimitExceeded, NotFound
from penstock.datastore.playlists.add_entries import artist_credit
from penstock.datastore.playlists.change_target import total_duration
from penstock.datastore.playlists.formats.document import (
    MAX_DURATION_MS,
    FileTrack,
    PlaylistDocument,
)
from penstock.datastore.playlists.order import EntryOrder
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.playlists.track_matching import read_tracks
from penstock.datastore.request_threads import run_in_request_thread

MAX_LOCATED: Final = 1_000
"""Most entries of a file that has a URL for each."""

LocateTracks: TypeAlias = Callable[[Sequence[Audio], int], Awaitable[Sequence[str | None]]]
"""Gives the URLs of tracks that are played for so many milliseconds; None for one without."""


@dataclass(frozen=True, slots=True)
class PlaylistExporter:
    """Exports of the caller's playlists."""

    access: Access

    async def document(
        self,
        playlist: Playlist,
        locate: LocateTracks | None = None,
        chosen: Sequence[Entry] | None = None,
    ) -> PlaylistDocument:
        """Every entry in order, with its track's current tags, or its copy if the track is gone.

        The entries of a smart playlist are those `chosen`. With `locate`, tracks have the locations
        that it gives, by which any player opens them. Raises LimitExceeded then for more than
        MAX_LOCATED entries.
        """
        count = playlist.entry_count if chosen is None else len(chosen)
        if locate is not None and count > MAX_LOCATED:
            limit = "entries of a playlist with URLs"
            raise LimitExceeded(limit, MAX_LOCATED, count, ("playable",))
        entries = chosen
        if entries is None:
            entries = await EntryOrder(self.access, playlist).read_entries()
        ids = [entry.audio_id or "" for entry in entries]
        found = await read_tracks(self.access, ids)
        urls: dict[str, str] = {}
        if locate is not None:
            there = [audio for audio in found if isinstance(audio, Audio)]
            located = zip(there, await locate(there, total_duration(entries)), strict=True)
            urls = {audio.id: url for audio, url in located if url is not None}
        pairs = zip(entries, found, strict=True)
        tracks = await run_in_request_thread(
            lambda _: tuple(_export_track(entry, audio, urls) for entry, audio in pairs),
            self.access.payer,
        )
        return PlaylistDocument(title=playlist.name, tracks=tracks)


def _export_track(entry: Entry, audio: Audio | NotFound, urls: Mapping[str, str]) -> FileTrack:
    if isinstance(audio, NotFound):
        return FileTrack(
            id=entry.audio_id,
            location=entry.location,
            title=entry.title,
            creator=entry.artist,
            album=entry.album,
            # Earlier releases read longer ones.
            duration_ms=entry.duration_ms and min(entry.duration_ms, MAX_DURATION_MS),
        )
    return FileTrack(
        id=audio.id,
        location=urls.get(audio.id) or _location_of(audio),
        title=audio.title,
        creator=artist_credit(audio),
        album=audio.album,
        duration_ms=audio.duration_ms,
    )


def _location_of(audio: Audio) -> str:
    """The path in the user's own bucket; for an upload the file name, as its key says no more."""
    return audio.file_name if audio.connection_id is None else audio.object_key
