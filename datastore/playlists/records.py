"""Playlists and their entries as they are stored, and what a caller is shown of them."""

from penstock.datastore.playlists.formats.document import MAX_TRACKS
from penstock.datastore.records import Struct

MAX_ENTRIES = MAX_TRACKS
MAX_CHANGED = 98
"""How many entries one call adds or removes: with the header and a receipt, one transaction."""

MAX_MOVED = 49
"""How many entries one call moves: each is two writes of one transaction."""

MAX_NAME = 128
ENTRIES_LIMIT = "entries of a playlist"


class Playlist(Struct, frozen=True, kw_only=True):
    """A playlist: `pk = PL:<id>, sk = PL`.

    `version` counts changes of name and entries, from 1. `entry_count` and `duration_ms`, in
    milliseconds, are those of the entries as they were added. `ranked` counts how often entries
    were ranked anew, which no caller sees.
    """

    id: str
    name: str
    owner: str
    version: int
    ranked: int
    entry_count: int
    duration_ms: int
    created_at: str
    updated_at: str


class Entry(Struct, frozen=True, kw_only=True):
    """One entry of a playlist: `pk = PL:<playlist>, sk = PLI:<rank>:<id>`, `siKey1 = AU:<audio>`.

    What it says of its track is as it was when it was added, so that it still says it when the
    track is gone. An entry kept from a file that matched no track has a `location` and no
    `audio_id`.
    """

    id: str
    playlist_id: str
    rank: str
    audio_id: str | None = None
    location: str | None = None
    title: str | None = None
    artist: str | None = None
    album: str | None = None
    duration_ms: int | None = None
    added_at: str
    added_by: str

    @property
    def position(self) -> str:
        """Where it lies among the others, as texts compare."""
        return f"{self.rank}:{self.id}"
