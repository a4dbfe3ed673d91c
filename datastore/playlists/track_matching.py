"""The matching of a playlist file's tracks with the tracks of a library.

Also reads of thousands of tracks, in shares that give other work its turn.
"""

import re
from asyncio import gather
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

from penstock.datastore.access.access import Access
from penstock.datastore.audio.lists import LibraryLists
from penstock.datastore.audio.names import normalize_name
from penstock.datastore.audio.records import Audio
from penstock.datastore.audio.tracks import TrackReader
from penstock.datastore.errors import NotFound
from penstock.datastore.playlists.formats.document import FileTrack
from penstock.datastore.table.pages import Window

SHARE_SIZE = 250
CONCURRENT_SHARES = 4
"""The most shares whose rows become records before other work has its turn."""


async def read_tracks(access: Access, ids: Sequence[str]) -> list[Audio | NotFound]:
    """Read the caller's tracks by any number of ids, a thousand concurrently; aligned."""
    reading, found = TrackReader(access), list[Audio | NotFound]()
    shares = [ids[start : start + SHARE_SIZE] for start in range(0, len(ids), SHARE_SIZE)]
    for start in range(0, len(shares), CONCURRENT_SHARES):
        part = shares[start : start + CONCURRENT_SHARES]
        for tracks in await gather(*(reading.many(s) for s in part)):
            found += tracks
    return found


async def read_all_tracks(access: Access) -> list[Audio]:
    """Read the caller's whole library, page by page."""
    lists, tracks = LibraryLists(access), list[Audio]()
    after: str | None = None
    while True:
        page = await lists.audios(Window(size=SHARE_SIZE, after=after))
        tracks += [track for _, track in page.entries]
        after = page.reached
        if not page.more:
            return tracks


TOLERANCE_MS: Final = 3_000
"""The largest difference between two lengths of the same recording."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://", re.ASCII)
_SLASHES = re.compile(r"[/\\]+")
_IGNORED_SEGMENTS: Final = ("", ".", "..")


class TrackMatch(NamedTuple):
    """The one matching track, or else all tracks that match equally well."""

    audio: Audio | None = None
    candidates: tuple[Audio, ...] = ()


class TrackIndex:
    """An index of a library's tracks by id, path, file name, and artist with title."""

    def __init__(self, tracks: Iterable[Audio]) -> None:
        self._by_id: dict[str, Audio] = {}
        self._by_path: dict[str, list[Audio]] = defaultdict(list)
        self._by_name: dict[str, list[Audio]] = defaultdict(list)
        self._by_title: dict[tuple[str, str], list[Audio]] = defaultdict(list)
        for track in tracks:
            self._by_id[track.id] = track
            for path in (track.object_key, f"s3://{track.bucket}/{track.object_key}"):
                self._by_path[path].append(track)
            self._by_name[normalize_name(track.file_name)].append(track)
            for artist in {normalize_name(name) for name in _artist_names(track)}:
                self._by_title[artist, normalize_name(track.title)].append(track)

    def match(self, wanted: FileTrack) -> TrackMatch:
        """Match by id, path, end of the path, artist and title, or file name, in this order.

        If one step leaves several tracks, the next step chooses among them. Texts are
        compared in their normal form without case, lengths with a tolerance.
        """
        if wanted.id in self._by_id:
            return TrackMatch(self._by_id[wanted.id])
        left: list[Audio] = []
        for found in self._candidate_lists(wanted):
            both = [track for track in found if track in left] if left else found
            if len(both) == 1:
                return TrackMatch(both[0])
            left = both or left
        return TrackMatch(candidates=tuple(left))

    def _candidate_lists(self, wanted: FileTrack) -> Iterable[list[Audio]]:
        places = _location_readings(wanted.location or "")
        yield _distinct_tracks(track for place in places for track in self._by_path.get(place, ()))
        yield self._match_path_end(places, 2)
        yield self._match_artist_and_title(wanted)
        yield self._match_path_end(places, 1)

    def _match_path_end(self, places: Sequence[str], least: int) -> list[Audio]:
        """The tracks whose path shares the most final segments with a place, at least `least`."""
        best: list[Audio] = []
        longest = least
        for place in places:
            end = _path_segments(place)
            for track in self._by_name.get(end[-1], ()) if end else ():
                alike = _common_segments(end, _path_segments(track.object_key))
                if alike > longest:
                    best, longest = [], alike
                if alike == longest:
                    best.append(track)
        return _distinct_tracks(best)

    def _match_artist_and_title(self, wanted: FileTrack) -> list[Audio]:
        if wanted.creator is None or wanted.title is None:
            return []
        named = self._by_title.get(
            (normalize_name(wanted.creator), normalize_name(wanted.title)), ()
        )
        found = _distinct_tracks(track for track in named if _has_same_length(wanted, track))
        of_album = [
            track
            for track in found
            if normalize_name(track.album or "") == normalize_name(wanted.album or "")
        ]
        return of_album or found


def _artist_names(track: Audio) -> tuple[str, ...]:
    joined = ", ".join(track.artists)
    return tuple(name for name in (*track.artists, joined, track.album_artist) if name)


def _has_same_length(wanted: FileTrack, track: Audio) -> bool:
    if wanted.duration_ms is None:
        return True
    return abs(wanted.duration_ms - track.duration_ms) <= TOLERANCE_MS


def _location_readings(location: str) -> list[str]:
    """All readings of a location: unchanged, and for a URL its decoded path without the query."""
    if not location:
        return []
    scheme = _SCHEME.match(location)
    if scheme is None:
        return [location]
    path = location[scheme.end() :].partition("?")[0].partition("#")[0]
    path = path if scheme[1].lower() == "file" else path.partition("/")[2]
    return [location, unquote(location), path, unquote(path)]


def _path_segments(path: str) -> list[str]:
    """The segments of a path, in their comparison form."""
    return [normalize_name(part) for part in _SLASHES.split(path) if part not in _IGNORED_SEGMENTS]


def _common_segments(end: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(reversed(end), reversed(other), strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(end), len(other)))


def _distinct_tracks(tracks: Iterable[Audio]) -> list[Audio]:
    return list({track.id: track for track in tracks}.values())
