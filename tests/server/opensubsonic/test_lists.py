"""Lists of albums and tracks in every order, part by part, and the search."""

from typing import Any

import pytest

from penstock.datastore.listening.records import Play
from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import listener
from tests.server.opensubsonic.conftest import ANN
from tests.server.opensubsonic.players import Player
from tests.support.sample_resources import walk

pytestmark = pytest.mark.usefixtures("library")


async def albums(player: Player, kind: str, **more: Any) -> list[str]:
    """List albums, and once more one by one, which must give the same."""
    said = (await player.ask("getAlbumList2", type=kind, **more))["albumList2"]["album"]
    found = [album["name"] for album in said]
    if not {"size", "offset"} & more.keys() and kind != "random":
        single = [
            await albums(player, kind, size=1, offset=n, **more) for n in range(len(found) + 1)
        ]
        assert [name for part in single for name in part] == found
    return found


async def test_albums_are_listed_in_every_order(any_store: Store, player: Player) -> None:
    assert await albums(player, "alphabeticalByName") == ["Flour", "Grain", "Harvest"]
    assert await albums(player, "alphabeticalByArtist") == ["Flour", "Grain", "Harvest"]
    assert await albums(player, "newest") == ["Harvest", "Flour", "Grain"]
    assert await albums(player, "byYear", fromYear=1999, toYear=2001) == ["Flour", "Grain"]
    assert await albums(player, "byYear", fromYear=2010, toYear=2000) == ["Harvest", "Grain"]
    assert await albums(player, "byGenre", genre="folk") == ["Flour", "Grain"]
    assert await albums(player, "byGenre", genre="none") == []
    assert sorted(await albums(player, "random")) == ["Flour", "Grain", "Harvest"]
    assert len(await albums(player, "random", size=2)) == 2
    assert await albums(player, "recent") == await albums(player, "frequent") == []
    assert await albums(player, "highest") == await albums(player, "starred") == []
    tracks = {track.title: track.id for track in await walk(listener(any_store, ANN).lists.audios)}
    plays = any_store.open_session(ANN).listening.plays
    for title, at in (("Hay", 1), ("Wheat", 2), ("Hay", 3), ("Stone", 4)):
        started = f"2026-01-0{at}T00:00:00.000Z"
        await plays.record(Play(audio_id=tracks[title], started_at=started, listened_ms=240_000))
    assert await albums(player, "recent") == ["Flour", "Harvest", "Grain"]
    assert (await albums(player, "frequent"))[0] == "Harvest"
    assert len(await albums(player, "frequent")) == 3


async def test_a_list_without_its_parameters_is_refused(player: Player) -> None:
    assert (await player.fail("getAlbumList2"))[0] == 10
    assert (await player.fail("getAlbumList2", type="loudest"))[0] == 0
    assert (await player.fail("getAlbumList2", type="byYear"))[0] == 10
    assert (await player.fail("getAlbumList2", type="byGenre"))[0] == 10
    for text in ("-1", "x", "1.5", "²", "9" * 16):
        assert (await player.fail("getAlbumList2", type="newest", size=text))[0] == 0
    for kind in ("newest", "alphabeticalByName", "alphabeticalByArtist", "starred", "highest"):
        assert await albums(player, kind, size=0) == []
    none = (await player.ask("getSongsByGenre", genre="folk", count=0))["songsByGenre"]["song"]
    assert none == (await player.ask("getRandomSongs", size=0))["randomSongs"]["song"] == []
    assert await albums(player, "newest", size=10**15 - 1, offset=10**15 - 1) == []


async def test_tracks_are_listed_by_genre_and_at_random(player: Player) -> None:
    said = (await player.ask("getSongsByGenre", genre="FOLK"))["songsByGenre"]["song"]
    assert {song["title"] for song in said} == {"Wheat", "Rye & <Oats>", "Stone"}
    single = [
        (await player.ask("getSongsByGenre", genre="folk", count=1, offset=n))["songsByGenre"][
            "song"
        ]
        for n in range(4)
    ]
    assert [song for part in single for song in part] == said
    for parameters, titles in (
        ({}, {"Wheat", "Rye & <Oats>", "Stone", "Straw", "Hay"}),
        ({"genre": "Jazz"}, {"Stone"}),
        ({"fromYear": 2001, "toYear": 2009}, {"Wheat", "Rye & <Oats>"}),
        ({"fromYear": 2020}, set()),
    ):
        found = (await player.ask("getRandomSongs", **parameters))["randomSongs"]["song"]
        assert len(found) == len(titles)
        assert {song["title"] for song in found} == titles
    assert len((await player.ask("getRandomSongs", size=2))["randomSongs"]["song"]) == 2


async def search(player: Player, **parameters: Any) -> tuple[list[str], ...]:
    said = (await player.ask("search3", **parameters))["searchResult3"]
    return tuple(
        [each.get("name") or each["title"] for each in said[kind]]
        for kind in ("artist", "album", "song")
    )


async def test_a_search_finds_names_by_beginnings_of_words(player: Player) -> None:
    assert await search(player, query="mil") == (["The Mill"], [], [])
    assert await search(player, query="zoe") == (["Zoë"], [], [])
    assert await search(player, query="ha") == ([], ["Harvest"], ["Hay"])
    assert await search(player, query="rye oats") == ([], [], ["Rye & <Oats>"])
    assert (await player.fail("search3", query="x" * 200))[0] == 0


@pytest.mark.parametrize("query", ["", '""'])
async def test_a_search_without_a_query_lists_everything_part_by_part(
    player: Player, query: str
) -> None:
    artists, found, songs = await search(player, query=query)
    assert (artists, found) == (
        ["Abel", "The Mill", "Various Artists", "Zoë"],
        ["Flour", "Grain", "Harvest"],
    )
    assert len(songs) == 5
    none = {"artistCount": 0, "albumCount": 0}
    parts = [
        await search(player, query=query, songCount=2, songOffset=n, **none) for n in (0, 2, 4)
    ]
    assert [title for _, _, part in parts for title in part] == songs
    parts = [await search(player, query=query, artistCount=1, artistOffset=n) for n in range(5)]
    assert [name for part, _, _ in parts for name in part] == artists
