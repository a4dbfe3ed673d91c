"""The orders of the caller's albums beside that of names: by time, by year, by plays, at random."""

from asyncio import gather
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.audio import names
from penstock.datastore.audio.browsing import walk_rows
from penstock.datastore.audio.lists import LibraryLists
from penstock.datastore.audio.records import Album, Audio
from penstock.datastore.audio.track_rules import HIGHEST
from penstock.datastore.audio.tracks import TrackReader, album_of, link_of
from penstock.datastore.listening.annotations import annotation_of
from penstock.datastore.listening.records import Annotation, Kind
from penstock.datastore.table.layout import ALBUM, ANNOTATION, AUDIO_BY_ALBUM
from penstock.datastore.table.pages import (
    MAX_SEARCHES,
    SEARCHED,
    Slice,
    Window,
    page_of_shuffled,
    page_of_sorted,
    read_existing,
    slice_sorted,
)

ALBUM_FIELDS: Final = frozenset(
    ("id", "artists", "album", "album_artist", "album_mbid", "compilation")
)
"""The fields of a track that tell its album."""

_AT_ONCE: Final = 32
"""The albums whose rows are read at once."""

_MOST_PLAYS: Final = 10**12


@dataclass(frozen=True, slots=True)
class AlbumLists:
    """The lists of the caller's albums in other orders than that of names."""

    access: Access

    async def newest(self, window: Window) -> Slice[Album]:
        """List albums by their newest track: `sk` begins with `AU:`, then `AUL:<title>:<album>:`.

        An album stands at its newest track, which the rows of all its tracks tell. A page that
        reads very much ends early.
        """
        newest: dict[names.AlbumKey, str] = {}
        read = partial(LibraryLists(self.access).audios, projection=ALBUM_FIELDS)
        load = partial(self._albums_that_end, newest)
        return await read_existing(window, read, load, sparse=True)

    async def by_year(self, window: Window) -> Slice[Album]:
        """List albums by year, the latest first: all rows whose `sk` begins with `AL:`, sorted."""
        return await page_of_sorted(self._walk_albums(), window, _year_position)

    async def most_played(self, window: Window) -> Slice[Album]:
        """List the albums that were played, by their plays: all rows under `AN:AL:`, sorted."""
        return await self._by_annotations(window, _plays_position)

    async def recently_played(self, window: Window) -> Slice[Album]:
        """List the albums that were played, by their latest play: all rows under `AN:AL:`."""
        return await self._by_annotations(window, _latest_position, descending=True)

    async def at_random(self, window: Window) -> Slice[Album]:
        """List all albums in an order that is drawn anew: all rows under `AL:`, sorted."""
        return await page_of_shuffled(self._walk_albums(), window, lambda album: album.id)

    async def _albums_that_end(
        self, newest: dict[names.AlbumKey, str], tracks: Sequence[Audio]
    ) -> list[Album | None]:
        """The albums of which these are the newest tracks; None for other tracks."""
        await self._find_newest(newest, {names.album_key(track) for track in tracks})
        ends = [track for track in tracks if newest.get(names.album_key(track)) == track.id]
        found = await self._existing_albums([names.album_place(track) for track in ends])
        albums = {track.id: album for track, album in zip(ends, found, strict=True)}
        return [albums.get(track.id) for track in tracks]

    async def _find_newest(
        self, newest: dict[names.AlbumKey, str], wanted: set[names.AlbumKey]
    ) -> None:
        missing = sorted(wanted - newest.keys())
        self.access.payments.promise_calls(len(missing))
        for start in range(0, len(missing), _AT_ONCE):
            part = missing[start : start + _AT_ONCE]
            found = await gather(*map(self._newest_track, part))
            newest.update(zip(part, found, strict=True))

    async def _newest_track(self, album: names.AlbumKey) -> str:
        """The id of the album's newest track, empty without one: ids are made in order."""
        rows = walk_rows(self.access, link_of, AUDIO_BY_ALBUM, **album._asdict())
        return max([link.audio_id async for link in rows], default="")

    async def _by_annotations(
        self, window: Window, position: Callable[[Annotation], str], *, descending: bool = False
    ) -> Slice[Album]:
        # What the search for albums that exist may pass over is read at once, in one walk.
        wide = replace(window, size=window.size + MAX_SEARCHES * SEARCHED)
        played = await page_of_sorted(self._walk_played(), wide, position, descending=descending)

        async def read(part: Window) -> Slice[tuple[str, Annotation]]:
            return slice_sorted(played.entries, part, itemgetter(0), descending=descending)

        async def load(part: Sequence[tuple[str, Annotation]]) -> list[Album | None]:
            return await self._existing_albums([note.id for _, note in part])

        return await read_existing(window, read, load)

    async def _walk_played(self) -> AsyncIterator[Annotation]:
        async for note in walk_rows(self.access, annotation_of, ANNOTATION, kind=Kind.ALBUM):
            if note.play_count:
                yield note

    def _walk_albums(self) -> AsyncIterator[Album]:
        return walk_rows(self.access, album_of, ALBUM)

    async def _existing_albums(self, places: Sequence[str]) -> list[Album | None]:
        found = await TrackReader(self.access).albums(places)
        return [album if isinstance(album, Album) else None for album in found]


def _year_position(album: Album) -> str:
    return f"{HIGHEST['year'] - album.year:04}:{names.album_place_of(album)}"


def _plays_position(note: Annotation) -> str:
    return f"{_MOST_PLAYS - note.play_count:012}:{note.id}"


def _latest_position(note: Annotation) -> str:
    return f"{note.last_played_at}:{note.id}"
