"""Favourites, ratings, plays, play positions and the queue, as a client sets and reads them."""

from typing import Any

from tests.schema.audio.sample_playlists import add_songs, make_playlist
from tests.support.graphql_client import Ask

KEPT = "favouriteAt rating playCount lastPlayedAt positionMs"
FAVOURITE = f"""mutation($input: SetFavouriteInput!) {{ setFavourite(input: $input) {{
  ...on SetFavouritePayload {{ node {{ id ...on Audio {{ {KEPT} }}
    ...on Playlist {{ favouriteAt rating }} ...on Album {{ favouriteAt rating }}
    ...on Artist {{ favouriteAt rating }} }} }} }} }}"""
RATE = FAVOURITE.replace("Favourite", "Rating")
PLAY = f"""mutation($input: RecordPlayInput!) {{ recordPlay(input: $input) {{
  ...on RecordPlayPayload {{ counts audio {{ {KEPT} }} }} }} }}"""
POSITION = f"""mutation($input: SetPlayPositionInput!) {{ setPlayPosition(input: $input) {{
  ...on SetPlayPositionPayload {{ audio {{ {KEPT} }} }} }} }}"""
QUEUE = """mutation($input: SavePlayQueueInput!) { savePlayQueue(input: $input) {
  ...on SavePlayQueuePayload { playQueue { index positionMs tracks { title } } } } }"""
VIEWER = """{ viewer { favouriteAudio { nodes { title } } favouritePlaylists { nodes { name } }
  plays { nodes { startedAt listenedMs audio { title playCount } } }
  playQueue { index positionMs updatedAt tracks { title } } } }"""
NOTHING = dict.fromkeys(("favouriteAt", "rating", "lastPlayedAt", "positionMs"), None)
AT = "2022-08-10T23:55:20.322Z"


async def read_annotations(ask: Ask, id: str) -> Any:
    return (await ask(f"query($id: ID!) {{ audio(id: $id) {{ {KEPT} }} }}", {"id": id})).value


async def test_marks_are_set_seen_and_taken_away(ask: Ask) -> None:
    (song,) = await add_songs(ask, "a")
    mix = (await make_playlist(ask, "Mix"))["id"]
    assert await read_annotations(ask, song) == {**NOTHING, "playCount": 0}
    for id in (song, mix):
        marked = (await ask.input(FAVOURITE, id=id, favourite=True))["node"]
        assert marked["id"] == id
        assert marked["favouriteAt"] is not None
        rated = (await ask.input(RATE, id=id, rating=4))["node"]
        assert (rated["favouriteAt"], rated["rating"]) == (marked["favouriteAt"], 4)
    seen = (await ask(VIEWER)).value
    assert seen["favouriteAudio"] == {"nodes": [{"title": "a"}]}
    assert seen["favouritePlaylists"] == {"nodes": [{"name": "Mix"}]}
    for id in (song, mix):
        assert (await ask.input(FAVOURITE, id=id, favourite=False))["node"]["favouriteAt"] is None
        assert (await ask.input(RATE, id=id))["node"]["rating"] is None
    assert await read_annotations(ask, song) == {**NOTHING, "playCount": 0}
    seen = (await ask(VIEWER)).value
    assert (seen["favouriteAudio"], seen["favouritePlaylists"]) == ({"nodes": []}, {"nodes": []})


async def test_albums_and_artists_are_marked_and_rated(ask: Ask) -> None:
    (song,) = await add_songs(ask, "a")
    question = "query($id: ID!) { audio(id: $id) { album { id } artists { id } } }"
    found = (await ask(question, {"id": song})).value
    for id in (found["album"]["id"], found["artists"][0]["id"]):
        marked = (await ask.input(FAVOURITE, id=id, favourite=True))["node"]
        assert (marked["id"], marked["favouriteAt"] is not None) == (id, True)
        assert (await ask.input(RATE, id=id, rating=2))["node"]["rating"] == 2
        unmarked = (await ask.input(FAVOURITE, id=id, favourite=False))["node"]
        assert (unmarked["favouriteAt"], unmarked["rating"]) == (None, 2)


async def test_a_play_told_twice_counts_once_and_a_short_one_not(ask: Ask) -> None:
    (song,) = await add_songs(ask, "a")
    for _ in range(2):
        told = await ask.input(PLAY, id=song, startedAt=AT, listenedMs=500)
        assert told == {"counts": True, "audio": {**NOTHING, "playCount": 1, "lastPlayedAt": AT}}
    short = await ask.input(PLAY, id=song, startedAt="2022-08-11T00:00:00Z", listenedMs=499)
    assert (short["counts"], short["audio"]["playCount"]) == (False, 1)
    played = (await ask(VIEWER)).value["plays"]["nodes"]
    audio = {"title": "a", "playCount": 1}
    assert played == [{"startedAt": AT, "listenedMs": 500, "audio": audio}]


async def test_the_place_and_the_queue_are_taken_up_elsewhere(ask: Ask) -> None:
    first, second = await add_songs(ask, "a", "b")
    placed = await ask.input(POSITION, id=first, positionMs=700)
    assert placed["audio"] == {**NOTHING, "playCount": 0, "positionMs": 700}
    assert (await read_annotations(ask, first))["positionMs"] == 700
    assert (await ask.input(POSITION, id=first))["audio"]["positionMs"] is None
    empty = (await ask(VIEWER)).value["playQueue"]
    assert empty == {"index": 0, "positionMs": 0, "updatedAt": None, "tracks": []}
    saved = await ask.input(QUEUE, audioIds=[first, second, first], index=2, positionMs=9)
    titles = [{"title": title} for title in "aba"]
    assert saved["playQueue"] == {"index": 2, "positionMs": 9, "tracks": titles}
    seen = (await ask(VIEWER)).value["playQueue"]
    assert (seen["index"], seen["positionMs"], seen["tracks"]) == (2, 9, titles)
    assert seen["updatedAt"] is not None
