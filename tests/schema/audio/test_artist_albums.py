"""The albums of an artist, page by page."""

from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import BOB, draft
from tests.schema.audio.sample_tracks import shelve
from tests.support.graphql_client import Ask

READ = """query($after: String) { artists(first: 10) { nodes { name
  albums(first: 1, after: $after) { nodes { name year }
  pageInfo { hasNextPage endCursor } } } } }"""


async def test_an_artist_lists_the_albums_of_all_tracks_by_year(ask: Ask, store: Store) -> None:
    tracks = [("Grain", 2001), ("Flour", 1999), ("Grain", 2001), ("Bread", 2001)]
    await shelve(
        store,
        *(
            draft(f"{n}", "t", "Ada", user="root", album=album, year=year)
            for n, (album, year) in enumerate(tracks)
        ),
    )
    await shelve(store, draft("b", "t", "Ada", user="bob", album="Hidden"), caller=BOB)
    found, after = [], None
    for _ in range(3):
        (ada,) = (await ask(READ, {"after": after})).value["nodes"]
        found += [(album["name"], album["year"]) for album in ada["albums"]["nodes"]]
        after = ada["albums"]["pageInfo"]["endCursor"]
    assert found == [("Flour", 1999), ("Bread", 2001), ("Grain", 2001)]
    assert ada["albums"]["pageInfo"]["hasNextPage"] is False
