"""The albums of an artist with many tracks are read in pages."""

import pytest

from penstock.datastore.audio import browsing, names
from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import add, listener


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
