"""The playlists of one caller: all operations, none of which takes an owner."""

from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.playlists.add_entries import EntryAdder
from penstock.datastore.playlists.delete import PlaylistDeleter
from penstock.datastore.playlists.export import PlaylistExporter
from penstock.datastore.playlists.import_playlist import PlaylistImporter
from penstock.datastore.playlists.move_entries import EntryMover
from penstock.datastore.playlists.reading import PlaylistReader
from penstock.datastore.playlists.uploaded_files import PlaylistUploads
from penstock.datastore.playlists.write import PlaylistWriter


@dataclass(frozen=True, slots=True)
class Playlists:
    """The reads, lists and changes of the caller's playlists."""

    reading: PlaylistReader
    writing: PlaylistWriter
    adding: EntryAdder
    moving: EntryMover
    deleting: PlaylistDeleter
    importing: PlaylistImporter
    exporting: PlaylistExporter
    uploads: PlaylistUploads

    @classmethod
    def of(cls, access: Access) -> "Playlists":
        return cls(
            PlaylistReader(access),
            PlaylistWriter(access),
            EntryAdder(access),
            EntryMover(access),
            PlaylistDeleter(access),
            PlaylistImporter(access),
            PlaylistExporter(access),
            PlaylistUploads(access),
        )
