"""Albums and artists of the caller's library by their ids, and those of each other.

The rows of albums and artists are sorted by name, so an id is found through one of its tracks.
"""

from asyncio import gather
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, TypeVar

from penstock.datastore.access.access import Access, not_found_error
from penstock.datastore.audio import names
from penstock.datastore.audio.names import AlbumKey
from penstock.datastore.audio.records import Album, Artist, Audio, AudioLink
from penstock.datastore.audio.tracks import TrackReader, link_of
from penstock.datastore.errors import NotFound
from penstock.datastore.table.items import read_all, read_in_turns
from penstock.datastore.table.layout import AUDIO, AUDIO_BY_ALBUM, AUDIO_BY_ARTIST, Row
from penstock.datastore.table.pages import (
    Slice,
    Window,
    each_once,
    page_of_sorted,
    parts_of,
    query_pages,
    read_records,
)
from penstock.datastore.table.port import Attributes, Query, Range

T = TypeVar("T")

LINKS: Final = 1_000
"""The rows of an artist or an album that are read at once."""

NO_ARTISTS: Final[Slice[Artist]] = Slice((), more=False, reached=None)

READ_AT_ONCE: Final = 100
"""The tracks, albums or artists that are read at once while a list is read whole."""

_AT_ONCE: Final = 32
"""The albums whose first rows are read at once."""


async def walk_rows(
    access: Access, read: Callable[[Attributes], T], row: Row, **values: str
) -> AsyncIterator[T]:
    """Read all rows of a kind in the caller's partition with these values, in pages of LINKS."""
    pk = row.pk.fill({"user": access.caller.user_id})
    query = Query(partition=pk, range=Range(row.sk.prefix(values)))
    async for page in query_pages(access.paid_rows, query, LINKS):
        for record in await read_in_turns(read, page):
            yield record


@dataclass(frozen=True, slots=True)
class LibraryBrowser:
    """Reads of the caller's albums and artists by id."""

    access: Access

    async def albums(self, ids: Sequence[str]) -> list[Album | NotFound]:
        """Get albums: the first row under `AUL:<title>:<album>:`, then `AL:<place>`; aligned."""
        links = await self._first_links(ids)
        places = {
            id: names.place_of_album(link.album, id)
            for id, link in zip(ids, links, strict=True)
            if link is not None
        }
        found = await self._reading.albums(list(places.values()))
        by_id = dict(zip(places, found, strict=True))
        return [by_id.get(id) or not_found_error("album") for id in ids]

    async def album(self, id: str) -> Album:
        """Get an album; raises NotFound."""
        (found,) = await self.albums([id])
        if isinstance(found, NotFound):
            raise found
        return found

    async def artists(self, ids: Sequence[str]) -> list[Artist | NotFound]:
        """Get artists: the first row under `AUR:<artist>:`, its track, then `AR:<place>`; aligned.

        The row has no name of the artist, so the track tells it.
        """
        links = await self._gather_links([(AUDIO_BY_ARTIST, {"artist": id}) for id in ids])
        known = {id: link.audio_id for id, link in zip(ids, links, strict=True) if link is not None}
        tracks = await self._reading.many(list(known.values()))
        places = {
            id: names.artist_place(name)
            for id, track in zip(known, tracks, strict=True)
            if not isinstance(track, NotFound) and (name := names.artists_of(track).get(id))
        }
        found = await self._reading.artists(list(places.values()))
        by_id = dict(zip(places, found, strict=True))
        return [by_id.get(id) or not_found_error("artist") for id in ids]

    async def artist(self, id: str) -> Artist:
        """Get an artist; raises NotFound."""
        (found,) = await self.artists([id])
        if isinstance(found, NotFound):
            raise found
        return found

    async def albums_of(self, artist_id: str) -> list[Album]:
        """List the albums of an artist's tracks: rows under `AUR:<artist>:`, then a BatchGet.

        In the order of years and names. The rows are read in pages of LINKS.
        """
        placed = [(_position(album), album) async for album in self._walk_albums(artist_id)]
        return [album for _, album in sorted(placed, key=itemgetter(0))]

    async def page_of_albums(self, artist_id: str, window: Window) -> Slice[Album]:
        """List a page of `albums_of`; each page reads all rows of the artist."""
        return await page_of_sorted(self._walk_albums(artist_id), window, _position)

    async def _walk_albums(self, artist_id: str) -> AsyncIterator[Album]:
        rows = walk_rows(self.access, _album_place, AUDIO_BY_ARTIST, artist=artist_id)
        async for places in parts_of(each_once(rows), READ_AT_ONCE):
            for album in await self._reading.albums(places):
                if isinstance(album, Album):
                    yield album

    async def album_names_of(self, artist_id: str) -> dict[str, str | None]:
        """Read the names of the albums of an artist's tracks, by their places, consistently."""
        prefix = AUDIO_BY_ARTIST.sk.prefix({"artist": artist_id})
        query = Query(partition=self._partition, range=Range(prefix), consistent=True)
        found: dict[str, str | None] = {}
        async for page in query_pages(self.access.table, query, LINKS):
            placed = read_all(lambda row: (_album_place(row), link_of(row).album), page)
            for place, name in placed:
                found.setdefault(place, name)
        return found

    async def page_of_artists(self, album_id: str, window: Window) -> Slice[Artist]:
        """List a page of the artists of an album: all rows under `AUL:<title>:<album>:`.

        Then BatchGets of its tracks and of `AR:<place>`, in the order of names.
        """
        key = AlbumKey.parse(album_id)
        if key is None:
            return NO_ARTISTS
        return await page_of_sorted(
            self._walk_artists(key), window, lambda artist: names.artist_place(artist.name)
        )

    async def _walk_artists(self, album: AlbumKey) -> AsyncIterator[Artist]:
        async for places in parts_of(each_once(self._walk_artist_places(album)), READ_AT_ONCE):
            for artist in await self._reading.artists(places):
                if isinstance(artist, Artist):
                    yield artist

    async def _walk_artist_places(self, album: AlbumKey) -> AsyncIterator[str]:
        """Yield the places of the artists of an album's tracks, some again and again."""
        rows = walk_rows(self.access, link_of, AUDIO_BY_ALBUM, **album._asdict())
        async for links in parts_of(rows, READ_AT_ONCE):
            for track in await self._reading.many([link.audio_id for link in links]):
                if isinstance(track, Audio):
                    for name in names.artists_of(track).values():
                        yield names.artist_place(name)

    async def first_tracks(self, album_ids: Sequence[str]) -> list[str | None]:
        """Get the id of the first track of each album, by disc and number; None without one."""
        links = await self._first_links(album_ids)
        return [None if link is None else link.audio_id for link in links]

    async def _first_links(self, album_ids: Sequence[str]) -> list[AudioLink | None]:
        keys = {id: AlbumKey.parse(id) for id in album_ids}
        known = {id: key for id, key in keys.items() if key is not None}
        wanted = [(AUDIO_BY_ALBUM, key._asdict()) for key in known.values()]
        found = dict(zip(known, await self._gather_links(wanted), strict=True))
        return [found.get(id) for id in album_ids]

    async def _gather_links(
        self, wanted: Sequence[tuple[Row, dict[str, str]]]
    ) -> list[AudioLink | None]:
        """Read the first row of each list, a few lists at once."""
        self.access.payments.promise_calls(len(wanted))
        found: list[AudioLink | None] = []
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            found += await gather(*(self._first_link(row, values) for row, values in part))
        return found

    async def _first_link(self, row: Row, values: dict[str, str]) -> AudioLink | None:
        query = Query(partition=self._partition, range=Range(row.sk.prefix(values)), limit=1)
        found = await read_records(self.access.table, query, link_of)
        return found.records[0] if found.records else None

    @property
    def _reading(self) -> TrackReader:
        return TrackReader(self.access)

    @property
    def _partition(self) -> str:
        return AUDIO.pk.fill({"user": self.access.caller.user_id})


def _position(album: Album) -> str:
    """The position of an album among those of an artist: by year and name."""
    return f"{album.year:04}:{names.album_place_of(album)}"


def _album_place(item: Attributes) -> str:
    """The place of the album in the list of albums, by a row of a track of an artist."""
    album = AUDIO_BY_ARTIST.sk.parse(str(item["sk"]))["album"]
    name = link_of(item).album
    id = AlbumKey(names.album_title(name or names.UNKNOWN_ALBUM), album).id
    return names.place_of_album(name, id)
