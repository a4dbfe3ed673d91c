"""The matching of a playlist file's tracks with the tracks of a library.

Also reads of thousands of tracks, in shares that give other work its turn.
"""

import re
from asyncio import gather
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, TypeVar
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

MOST_ALIKE: Final = 100
"""The most tracks that one step of a match chooses among."""

CHECKED_TRACKS: Final = 100
"""The tracks of the library behind each check whether the work may go on."""

MOST_SEGMENTS: Final = 16
"""The most segments at the end of a path that are compared."""

T = TypeVar("T")

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://", re.ASCII)
_SLASHES = re.compile(r"[/\\]+")
_IGNORED_SEGMENTS: Final = ("", ".", "..")


class TrackMatch(NamedTuple):
    """The one matching track, or else all tracks that match equally well."""

    audio: Audio | None = None
    candidates: tuple[Audio, ...] = ()


class _NamedTrack(NamedTuple):
    """A track with the normal form of its album."""

    track: Audio
    album: str


_PathEnds: TypeAlias = Mapping[tuple[str, ...], Sequence[Audio]]
"""The tracks of one file name by the last segments of their paths, of any number."""


class TrackIndex:
    """An index of a library's tracks by id, path, file name, and artist with title.

    Each match takes a bounded time, however many tracks are alike, behind the first of each file
    name. `check` is called again and again, and may raise.
    """

    def __init__(self, tracks: Iterable[Audio], check: Callable[[], object] = int) -> None:
        self._check = check
        self._by_id: dict[str, Audio] = {}
        self._by_path: dict[str, list[Audio]] = defaultdict(list)
        self._by_name: dict[str, list[Audio]] = defaultdict(list)
        self._by_title: dict[tuple[str, str], list[_NamedTrack]] = defaultdict(list)
        self._path_ends: dict[str, _PathEnds] = {}
        for track in self._go_through(tracks):
            self._by_id[track.id] = track
            for path in (track.object_key, f"s3://{track.bucket}/{track.object_key}"):
                self._by_path[path].append(track)
            self._by_name[normalize_name(track.file_name)].append(track)
            named = _NamedTrack(track, normalize_name(track.album or ""))
            for artist in {normalize_name(name) for name in _artist_names(track)}:
                self._by_title[artist, normalize_name(track.title)].append(named)

    def match(self, wanted: FileTrack) -> TrackMatch:
        """Match by id, path, end of the path, artist and title, or file name, in this order.

        If one step leaves several tracks, the next step chooses among them. Texts are
        compared in their normal form without case, lengths with a tolerance. A step that finds more
        than MOST_ALIKE tracks chooses none.
        """
        self._check()
        if wanted.id in self._by_id:
            return TrackMatch(self._by_id[wanted.id])
        left: list[Audio] = []
        for found in self._candidate_lists(wanted):
            kept = {track.id for track in left}
            both = [track for track in found if track.id in kept] if left else found
            if len(both) == 1:
                return TrackMatch(both[0])
            left = both or left
        return TrackMatch(candidates=tuple(left))

    def _go_through(self, tracks: Iterable[Audio]) -> Iterator[Audio]:
        for number, track in enumerate(tracks):
            if number % CHECKED_TRACKS == 0:
                self._check()
            yield track

    def _candidate_lists(self, wanted: FileTrack) -> Iterable[list[Audio]]:
        places = _location_readings(wanted.location or "")
        ends = [_path_segments(place) for place in places]
        yield _distinct_tracks(track for one in places for track in _few(self._by_path.get(one)))
        yield self._match_path_end(ends, 2)
        yield self._match_artist_and_title(wanted)
        yield self._match_path_end(ends, 1)

    def _match_path_end(self, ends: Sequence[Sequence[str]], least: int) -> list[Audio]:
        """The tracks whose path shares the most final segments with a place, at least `least`."""
        best: list[Audio] = []
        longest = least
        for end in ends:
            for size in range(min(len(end), MOST_SEGMENTS), longest - 1, -1):
                found = self._ends_of(end[-1]).get(tuple(end[-size:]))
                if found is not None:
                    best, longest = [*(best if size == longest else ()), *_few(found)], size
                    break
        return _distinct_tracks(best)

    def _ends_of(self, name: str) -> _PathEnds:
        """The tracks of a file name by the ends of their paths, which are found out once."""
        if name not in self._by_name:
            return {}
        known = self._path_ends.get(name)
        if known is None:
            known = self._path_ends[name] = _list_path_ends(self._go_through(self._by_name[name]))
        return known

    def _match_artist_and_title(self, wanted: FileTrack) -> list[Audio]:
        if wanted.creator is None or wanted.title is None:
            return []
        key = normalize_name(wanted.creator), normalize_name(wanted.title)
        found = _few(self._by_title.get(key))
        named = [one for one in found if _has_same_length(wanted, one.track)]
        album = normalize_name(wanted.album or "")
        of_album = _distinct_tracks(one.track for one in named if one.album == album)
        return of_album or _distinct_tracks(one.track for one in named)


def _few(found: Sequence[T] | None) -> Sequence[T]:
    """The tracks of a step, or none if there are too many to tell them apart."""
    return found if found and len(found) <= MOST_ALIKE else ()


def _list_path_ends(tracks: Iterable[Audio]) -> _PathEnds:
    """List tracks by the ends of their paths; of those with too many tracks, so many suffice."""
    ends: dict[tuple[str, ...], list[Audio]] = defaultdict(list)
    for track in tracks:
        segments = _path_segments(track.object_key)
        for size in range(1, min(len(segments), MOST_SEGMENTS) + 1):
            alike = ends[tuple(segments[-size:])]
            if len(alike) <= MOST_ALIKE:
                alike.append(track)
    return dict(ends)


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


def _distinct_tracks(tracks: Iterable[Audio]) -> list[Audio]:
    return list({track.id: track for track in tracks}.values())
