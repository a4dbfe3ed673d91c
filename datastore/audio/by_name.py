"""Artists, albums and genres of the caller's library by their names."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from penstock.datastore.access.access import Access
from penstock.datastore.audio import names
from penstock.datastore.audio.records import Album, Artist, Genre
from penstock.datastore.audio.track_rules import MAX_NAME
from penstock.datastore.audio.tracks import album_of, artist_of, genre_of, key_of_place
from penstock.datastore.errors import NotFound, Unreadable
from penstock.datastore.table.items import read_all, read_or_report, read_rows
from penstock.datastore.table.layout import ALBUM, ARTIST, GENRE, Row
from penstock.datastore.table.pages import query_pages
from penstock.datastore.table.port import Attributes, Query, Range
from penstock.datastore.text import normalisation_problem

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NameReader:
    """Reads by names, which are compared as in lists; each raises NotFound."""

    access: Access

    async def artist(self, name: str) -> Artist:
        """Get an artist by the name: `pk = U:<user>, sk = AR:<place>`."""
        _require_findable("artist", "name", name)
        return await self._read(ARTIST, names.artist_place(name), artist_of, "artist")

    async def genre(self, name: str) -> Genre:
        """Get a genre by the name: `pk = U:<user>, sk = AG:<place>`."""
        _require_findable("genre", "name", name)
        return await self._read(GENRE, names.genre_place(name), genre_of, "genre")

    async def album(self, name: str, artist: str) -> Album:
        """Get an album by its name and its artist: `pk = U:<user>`, `sk` begins with `AL:<title>`.

        Of several, which MusicBrainz ids tell apart, the first.
        """
        _require_findable("album", "name and artist", name, artist)
        wanted = names.artist_id(artist)
        query = Query(
            partition=ALBUM.pk.fill({"user": self._user}),
            range=Range(ALBUM.sk.prefix({}) + names.place_of_title(name)),
            consistent=True,
        )
        async for page in query_pages(self.access.paid_rows, query):
            for album in read_all(album_of, page):
                if names.artist_id(album.album_artist) == wanted:
                    return album
        raise _not_found_error("album", "name and artist")

    async def _read(self, row: Row, place: str, read: Callable[[Attributes], T], noun: str) -> T:
        key = key_of_place(row, self._user, place)
        rows = await read_rows(self.access.table, [key], consistent=True)
        if key not in rows:
            raise _not_found_error(noun, "name")
        found = read_or_report(read, rows[key])
        if isinstance(found, Unreadable):
            raise found
        return found

    @property
    def _user(self) -> str:
        return self.access.caller.user_id


def _require_findable(noun: str, by: str, *names: str) -> None:
    """Raise NotFound for a name that no track can have: its normal form may take very long."""
    if any(normalisation_problem(name, MAX_NAME) for name in names):
        raise _not_found_error(noun, by)


def _not_found_error(noun: str, by: str) -> NotFound:
    return NotFound(f"There is no {noun} with this {by}.", ("name",))
