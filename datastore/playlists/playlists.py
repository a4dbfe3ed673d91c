"""Everything one caller can do with their own playlists; nothing here names an owner."""

from dataclasses import dataclass

from penstock.datastore.playlists.adding import Adding
from penstock.datastore.playlists.deleting import Deleting
from penstock.datastore.playlists.exporting import Exporting
from penstock.datastore.playlists.importing import Importing
from penstock.datastore.playlists.moving import Moving
from penstock.datastore.playlists.reading import Reading
from penstock.datastore.playlists.writing import Writing
from penstock.datastore.resources.scope import Scope


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
    def of(cls, scope: Scope) -> "Playlists":
        return cls(
            Reading(scope),
            Writing(scope),
            Adding(scope),
            Moving(scope),
            Deleting(scope),
            Importing(scope),
            Exporting(scope),
        )
