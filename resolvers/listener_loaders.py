"""The loaders of playlists and of what is kept about things, for one request and one caller."""

from dataclasses import dataclass

from aiodataloader import DataLoader

from penstock.datastore.audio.records import Audio
from penstock.datastore.listening.annotations import Thing
from penstock.datastore.listening.records import Annotation
from penstock.datastore.playlists.records import Entry, Playlist
from penstock.datastore.slices import Slice, Window
from penstock.datastore.store import View
from penstock.resolvers.loading import loader


@dataclass(frozen=True, slots=True)
class ListenerLoaders:
    """Loaders of playlists by id, of annotations by thing, and of pages, read side by side."""

    playlists: "DataLoader[str, Playlist]"
    entries: "DataLoader[tuple[Playlist, Window], Slice[Entry]]"
    holding: "DataLoader[tuple[Audio, Window], Slice[Playlist]]"
    annotations: "DataLoader[Thing, Annotation]"

    @classmethod
    def over(cls, view: View) -> "ListenerLoaders":
        reading, watch = view.playlists.reading, view.watch
        return cls(
            playlists=loader("playlists", watch, reading.many),
            entries=loader("playlist_entries", watch, reading.entries_of, _by_id_and_window),
            holding=loader("playlists_holding", watch, reading.holding, _by_id_and_window),
            annotations=loader("annotations", watch, view.listening.annotations.many),
        )


def _by_id_and_window(key: tuple[Playlist | Audio, Window]) -> tuple[str, int, Window]:
    """A thing in hand is told from others by its id and version."""
    return key[0].id, key[0].version, key[1]
