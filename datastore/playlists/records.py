"""Records of playlists and their entries, with their limits."""

from typing import Any

from penstock.datastore.playlists.formats.document import MAX_TRACKS
from penstock.datastore.playlists.rules import PlaylistRule
from penstock.datastore.records import StoredRecord

MAX_ENTRIES = MAX_TRACKS
MAX_CHANGED = 98
"""The most entries that one call adds or removes: with header and receipt, one transaction."""

MAX_MOVED = 49
"""The most entries that one call moves: each needs two writes of one transaction."""

MAX_NAME = 128
ENTRIES_LIMIT = "entries of a playlist"


class Playlist(StoredRecord, frozen=True, kw_only=True):
    """A playlist: `pk = PL:<id>, sk = PL`.

    `version` counts changes of name and entries, from 1. `entry_count` and `duration_ms`, in
    milliseconds, are totals of the entries as they were added. `ranked` counts how often
    entries got new ranks; callers do not see it. A smart playlist has a `rule`, which it never
    loses, and no entries of its own: they are chosen when they are read.
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
    rule: PlaylistRule | None = None


class Entry(StoredRecord, frozen=True, kw_only=True):
    """One entry of a playlist: `pk = PL:<playlist>, sk = PLI:<rank>:<id>`, `siKey1 = AU:<audio>`.

    It copies the tags of its track at the time of adding, and keeps them if the track is
    deleted. An imported entry without a matching track has a `location` and no `audio_id`.
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
        """The position among the other entries, compared as text."""
        return f"{self.rank}:{self.id}"


class MovableEntry(Entry, frozen=True, kw_only=True):
    """An entry with the attributes of its row that this release does not know.

    They move with it to another rank.
    """

    unknown: dict[str, Any]
