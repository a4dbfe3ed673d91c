"""Lists over references to things that can be deleted have no empty page that goes on."""

from typing import Any

import pytest

from penstock.datastore.audio.tracks import audio_key
from penstock.datastore.playlists.rows import member_key
from penstock.datastore.table.port import Delete
from penstock.schema.core.relay import parse_key
from tests.schema.audio.sample_playlists import ADD_ENTRIES, add_songs, make_playlist
from tests.schema.audio.test_listening import FAVOURITE
from tests.support.graphql_client import Ask

PAGE = "nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"
LISTS = {
    "favouriteAudio": "viewer { list: favouriteAudio(%s) { %s } }",
    "favouritePlaylists": "viewer { list: favouritePlaylists(%s) { %s } }",
    "audiosOfArtist": 'list: audios(artist: "Abba", %s) { %s }',
    "audiosOfAlbum": 'list: audios(album: "Gold", %s) { %s }',
    "audiosOfBucket": 'list: audios(bucket: "penstock", %s) { %s }',
    "playlists": "list: playlists(%s) { %s }",
    "holding": 'audio(id: "@holder") { list: playlists(%s) { %s } }',
}


async def fill(ask: Ask) -> tuple[list[str], list[str]]:
    """Make tracks and playlists, all favourites; every playlist holds the first track."""
    songs = await add_songs(ask, *"abcdef")
    mixes = [(await make_playlist(ask, name))["id"] for name in "uvwxyz"]
    for id in (*songs, *mixes):
        await ask.input(FAVOURITE, id=id, favourite=True)
    for id in mixes:
        await ask.input(ADD_ENTRIES, id=id, audioIds=songs[:1])
    return songs, mixes


async def forget(ask: Ask, songs: list[str], mixes: list[str]) -> None:
    """Delete things as if nothing that refers to them went with them."""
    rows = [audio_key("root", parse_key("Audio", id)) for id in songs]
    rows += [member_key("root", parse_key("Playlist", id)) for id in mixes]
    await ask.store.table.write([Delete(key) for key in rows])


async def walk_list(ask: Ask, name: str, holder: str, *, backward: bool) -> list[str]:
    found: list[str] = []
    cursor: str | None = None
    while True:
        words = ("last", "before") if backward else ("first", "after")
        page = f"{words[0]}: 1" + (f', {words[1]}: "{cursor}"' if cursor else "")
        document = (LISTS[name] % (page, PAGE)).replace("@holder", holder)
        answer: Any = (await ask(f"{{ {document} }}")).value
        answer = answer.get("list", answer)
        found += [node["id"] for node in answer["nodes"]]
        info = answer["pageInfo"]
        if not info["hasPreviousPage" if backward else "hasNextPage"]:
            return found
        assert answer["nodes"], "an empty page that goes on"
        cursor = info["startCursor" if backward else "endCursor"]


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("name", LISTS)
async def test_a_walk_passes_over_what_was_deleted(ask: Ask, name: str, *, backward: bool) -> None:
    songs, mixes = await fill(ask)
    await forget(ask, [*songs[1:3], *songs[4:]], [mixes[0], *mixes[2:4], mixes[5]])
    left = {songs[0], songs[3]} if "audio" in name.lower() else {mixes[1], mixes[4]}
    found = await walk_list(ask, name, songs[0], backward=backward)
    assert len(found) == 2
    assert set(found) == left
