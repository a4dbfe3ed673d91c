"""The playlists of one caller: all operations, none of which takes an owner."""

from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.playlists.add_entries import Adding
from penstock.datastore.playlists.delete import Deleting
from penstock.datastore.playlists.export import Exporting
from penstock.datastore.playlists.import_playlist import Importing
from penstock.datastore.playlists.move_entries import Moving
from penstock.datastore.playlists.reading import Reading
from penstock.datastore.playlists.write import Writing


@dataclass(frozen=True, slots=True)
class Playlists:
    """The reads, lists and changes of the caller's playlists."""

    reading: Reading
    writing: Writing
    adding: Adding
    moving: Moving
    deleting: Deleting
    importing: Importing
    exporting: Exporting

    @classmethod
    def of(cls, access: Access) -> "Playlists":
        return cls(
            Reading(access),
            Writing(access),
            Adding(access),
            Moving(access),
            Deleting(access),
            Importing(access),
            Exporting(access),
        )
