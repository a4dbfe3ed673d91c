"""Artists, albums and genres as a client finds them by their names."""

from tests.schema.audio.sample_tracks import album_tracks, shelve
from tests.support.graphql_client import Ask

FIND = """query($artist: String!, $album: String!, $genre: String!) {
  artistByName(name: $artist) { id name count }
  albumByName(name: $album, artistName: $artist) { id name artistName count }
  genreByName(name: $genre) { name count } }"""


async def test_what_has_a_name_is_found_however_the_name_is_spelled(ask: Ask) -> None:
    await shelve(ask.store, *album_tracks(3))
    found = (await ask(FIND, {"artist": "the  BAND", "album": "big pink", "genre": "ROCK"})).data
    listed = (await ask("{ artists { nodes { id name count } } }")).value["nodes"]
    (album,) = (await ask("{ albums { nodes { id name artistName count } } }")).value["nodes"]
    assert found == {
        "artistByName": next(one for one in listed if one["name"] == "The Band"),
        "albumByName": album,
        "genreByName": {"name": "Rock", "count": 3},
    }


async def test_a_name_that_nothing_has_is_not_found(ask: Ask) -> None:
    await shelve(ask.store, *album_tracks(1))
    answer = await ask(FIND, {"artist": "The Ban", "album": "Big Pink", "genre": ""})
    assert answer.data == {"artistByName": None, "albumByName": None, "genreByName": None}
    told = {error["path"][0]: error["extensions"]["code"] for error in answer.errors}
    assert told == dict.fromkeys(answer.data, "NOT_FOUND")
