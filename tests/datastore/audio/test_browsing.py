"""The albums of an artist with many tracks are read in pages."""

from functools import partial
from typing import Any

import pytest

from penstock.datastore.audio import browsing, names
from penstock.datastore.audio.tracks import TrackReader
from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import add, draft, listener
from tests.support.sample_resources import walk


async def test_albums_stand_once_by_year_and_name_whatever_the_pages(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browsing, "LINKS", 1)
    library = listener(store)
    for number, (album, year) in enumerate(
        [("B", 2001), ("A", 2001), ("C", 1990), ("B", 1980), (None, 0)]
    ):
        more = {} if album is None else {"album": album, "year": year}
        track = await add(library, f"{number}", "t", "Ada", **more)
    (artist, *_) = track.artists
    found = await library.browsing.albums_of(names.artist_id(artist))
    assert [(album.name, album.count) for album in found] == [
        ("[Unknown Album]", 1),
        ("B", 2),
        ("C", 1),
        ("A", 1),
    ]


async def test_lists_of_an_artist_and_of_an_album_are_read_and_sorted_in_parts(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = listener(store)
    for number in range(5):
        more = {"album": "One", "album_artist": "Ada"}
        await add(library, f"a{number}", "t", "Ada", f"Guest {number % 3}", **more)
        await add(library, f"b{number}", "t", "Ada", album=f"Album {number % 4}", year=number)
    (artist, album) = names.artist_id("Ada"), names.album_key(draft("c", "t", **more)[0]).id

    async def read_all() -> list[list[str]]:
        albums = await walk(partial(library.browsing.page_of_albums, artist), 2)
        artists = await walk(partial(library.browsing.page_of_artists, album), 2)
        every = await library.browsing.albums_of(artist)
        return [[each.name for each in found] for found in (albums, artists, every)]

    at_once = await read_all()
    monkeypatch.setattr(browsing, "READ_AT_ONCE", 2)
    most: list[int] = []
    many = TrackReader.many

    async def count_tracks(self: TrackReader, ids: list[str]) -> Any:
        most.append(len(ids))
        return await many(self, ids)

    monkeypatch.setattr(TrackReader, "many", count_tracks)
    assert await read_all() == at_once
    assert (at_once[0], at_once[1]) == (at_once[2], ["Ada", "Guest 0", "Guest 1", "Guest 2"])
    assert set(most) == {1, 2}
