"""Exports of playlists: the document from which a file is written."""

from asyncio import to_thread
from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.audio.records import Audio
from penstock.datastore.errors import NotFound
from penstock.datastore.playlists.add_entries import credited
from penstock.datastore.playlists.formats.document import Document, Track
from penstock.datastore.playlists.order import Order
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.playlists.track_matching import tracks_by_ids


@dataclass(frozen=True, slots=True)
class Exporting:
    """Exports of the caller's playlists."""

    access: Access

    async def document(self, playlist: Playlist) -> Document:
        """Every entry in order, with its track's current tags, or its copy if the track is gone."""
        entries = await Order(self.access, playlist).entries()
        ids = [entry.audio_id or "" for entry in entries]
        found = await tracks_by_ids(self.access, ids)
        pairs = zip(entries, found, strict=True)
        tracks = await to_thread(lambda: tuple(_track(entry, audio) for entry, audio in pairs))
        return Document(title=playlist.name, tracks=tracks)


def _track(entry: Entry, audio: Audio | NotFound) -> Track:
    if isinstance(audio, NotFound):
        return Track(
            id=entry.audio_id,
            location=entry.location,
            title=entry.title,
            creator=entry.artist,
            album=entry.album,
            duration_ms=entry.duration_ms,
        )
    return Track(
        id=audio.id,
        location=_place(audio),
        title=audio.title,
        creator=credited(audio),
        album=audio.album,
        duration_ms=audio.duration_ms,
    )


def _place(audio: Audio) -> str:
    """The path in the user's own bucket; for an upload the file name, as its key says no more."""
    return audio.file_name if audio.connection_id is None else audio.object_key
