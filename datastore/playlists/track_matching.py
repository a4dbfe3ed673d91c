"""The library as playlists read it: thousands of tracks at once, a little at a time.

Which track of a library a track of a playlist file is.
"""

import re
from asyncio import gather
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

from penstock.datastore.access.access import Access
from penstock.datastore.audio.lists import Lists
from penstock.datastore.audio.names import norm
from penstock.datastore.audio.records import Audio
from penstock.datastore.audio.tracks import Reading
from penstock.datastore.errors import NotFound
from penstock.datastore.playlists.formats.document import Track
from penstock.datastore.table.pages import Window

SHARE = 250
AT_ONCE = 4
"""So many times a share, at most, are made of rows before other work has its turn."""


async def tracks_by_ids(
    access: Access, ids: Sequence[str], *, consistent: bool = False
) -> list[Audio | NotFound]:
    """The caller's tracks of any number of ids, a thousand at a time side by side; aligned."""
    reading, found = Reading(access), list[Audio | NotFound]()
    shares = [ids[start : start + SHARE] for start in range(0, len(ids), SHARE)]
    for start in range(0, len(shares), AT_ONCE):
        part = shares[start : start + AT_ONCE]
        for tracks in await gather(*(reading.many(s, consistent=consistent) for s in part)):
            found += tracks
    return found


async def all_tracks(access: Access) -> list[Audio]:
    """The caller's whole library, page by page."""
    lists, tracks = Lists(access), list[Audio]()
    after: str | None = None
    while True:
        page = await lists.audios(Window(size=SHARE, after=after))
        tracks += [track for _, track in page.entries]
        after = page.reached
        if not page.more:
            return tracks


TOLERANCE_MS: Final = 3_000
"""How much two lengths of one recording may differ."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://", re.ASCII)
_SLASHES = re.compile(r"[/\\]+")
_UPWARDS: Final = ("", ".", "..")


class Match(NamedTuple):
    """The one track, or none: then those that are as likely as each other, if there are any."""

    audio: Audio | None = None
    candidates: tuple[Audio, ...] = ()


class Library:
    """The tracks of one library, by what a playlist file may say of them."""

    def __init__(self, tracks: Iterable[Audio]) -> None:
        self._by_id: dict[str, Audio] = {}
        self._by_path: dict[str, list[Audio]] = defaultdict(list)
        self._by_name: dict[str, list[Audio]] = defaultdict(list)
        self._by_title: dict[tuple[str, str], list[Audio]] = defaultdict(list)
        for track in tracks:
            self._by_id[track.id] = track
            for path in (track.object_key, f"s3://{track.bucket}/{track.object_key}"):
                self._by_path[path].append(track)
            self._by_name[norm(track.file_name)].append(track)
            for artist in {norm(name) for name in _artists(track)}:
                self._by_title[artist, norm(track.title)].append(track)

    def match(self, wanted: Track) -> Match:
        """By our id; the place; the end of the path; artist and title; the file name.

        Of several that one of these leaves the next chooses. Texts are compared whatever their case
        and Unicode form, lengths with a tolerance.
        """
        if wanted.id in self._by_id:
            return Match(self._by_id[wanted.id])
        left: list[Audio] = []
        for found in self._tries(wanted):
            both = [track for track in found if track in left] if left else found
            if len(both) == 1:
                return Match(both[0])
            left = both or left
        return Match(candidates=tuple(left))

    def _tries(self, wanted: Track) -> Iterable[list[Audio]]:
        places = _places(wanted.location or "")
        yield _distinct(track for place in places for track in self._by_path.get(place, ()))
        yield self._by_end(places, 2)
        yield self._by_words(wanted)
        yield self._by_end(places, 1)

    def _by_end(self, places: Sequence[str], least: int) -> list[Audio]:
        """Those whose path ends as the place does, for as many segments as any does."""
        best: list[Audio] = []
        longest = least
        for place in places:
            end = _segments(place)
            for track in self._by_name.get(end[-1], ()) if end else ():
                alike = _alike(end, _segments(track.object_key))
                if alike > longest:
                    best, longest = [], alike
                if alike == longest:
                    best.append(track)
        return _distinct(best)

    def _by_words(self, wanted: Track) -> list[Audio]:
        if wanted.creator is None or wanted.title is None:
            return []
        named = self._by_title.get((norm(wanted.creator), norm(wanted.title)), ())
        found = _distinct(track for track in named if _as_long(wanted, track))
        of_album = [track for track in found if norm(track.album or "") == norm(wanted.album or "")]
        return of_album or found


def _artists(track: Audio) -> tuple[str, ...]:
    joined = ", ".join(track.artists)
    return tuple(name for name in (*track.artists, joined, track.album_artist) if name)


def _as_long(wanted: Track, track: Audio) -> bool:
    if wanted.duration_ms is None:
        return True
    return abs(wanted.duration_ms - track.duration_ms) <= TOLERANCE_MS


def _places(location: str) -> list[str]:
    """The ways to read a location: as it stands, and a URL without what is no path, decoded."""
    if not location:
        return []
    scheme = _SCHEME.match(location)
    if scheme is None:
        return [location]
    path = location[scheme.end() :].partition("?")[0].partition("#")[0]
    path = path if scheme[1].lower() == "file" else path.partition("/")[2]
    return [location, unquote(location), path, unquote(path)]


def _segments(path: str) -> list[str]:
    """The names on the way to a file, in the form they are compared in."""
    return [norm(part) for part in _SLASHES.split(path) if part not in _UPWARDS]


def _alike(end: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(reversed(end), reversed(other), strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(end), len(other)))


def _distinct(tracks: Iterable[Audio]) -> list[Audio]:
    return list({track.id: track for track in tracks}.values())
