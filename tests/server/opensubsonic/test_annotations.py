"""Stars, ratings, plays and bookmarks of tracks, albums and artists."""

from typing import Any

import pytest

from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import BOB, add, listener
from tests.server.opensubsonic.players import Player
from tests.server.opensubsonic.test_browsing import artists_of
from tests.support.consistency_check import contents

pytestmark = pytest.mark.usefixtures("library")


async def ids_of(player: Player) -> dict[str, str]:
    """Return the ids of an artist, an album of theirs, and its first track."""
    artist = (await artists_of(player))["The Mill"]
    album = (await player.ask("getArtist", id=artist))["artist"]["album"][1]["id"]
    song = (await player.ask("getAlbum", id=album))["album"]["song"][0]["id"]
    return {"artist": artist, "album": album, "song": song}


async def starred_ids(player: Player) -> dict[str, list[str]]:
    said = (await player.ask("getStarred2"))["starred2"]
    return {kind: [each["id"] for each in said[kind]] for kind in said}


async def test_tracks_albums_and_artists_are_starred_and_rated(player: Player) -> None:
    ids = await ids_of(player)
    assert await starred_ids(player) == {"artist": [], "album": [], "song": []}
    given = {"id": ids["song"], "albumId": ids["album"], "artistId": ids["artist"]}
    await player.ask("star", **given)
    await player.ask("star", id=[ids["album"], ids["artist"]])
    assert await starred_ids(player) == {kind: [id] for kind, id in ids.items()}
    said = (await player.ask("getAlbumList2", type="starred"))["albumList2"]["album"]
    assert [album["id"] for album in said] == [ids["album"]]
    assert (await player.ask("getSong", id=ids["song"]))["song"]["starred"]
    for kind, id in ids.items():
        assert (await player.ask("setRating", id=id, rating=4))["status"] == "ok"
        assert (await player.fail("setRating", id=id, rating=6))[0] == 0
        call = f"get{kind.capitalize()}"
        assert (await player.ask(call, id=id))[kind]["userRating"] == 4
        await player.ask("setRating", id=id, rating=0)
        assert "userRating" not in (await player.ask(call, id=id))[kind]
    await player.ask("unstar", **given)
    assert await starred_ids(player) == {"artist": [], "album": [], "song": []}


async def test_what_is_not_there_changes_nothing(any_store: Store, player: Player) -> None:
    ids = await ids_of(player)
    foreign = await add(listener(any_store, BOB), "b", "Secret", "Bo", album="Hidden")
    before = await contents(any_store.table)
    bad: list[tuple[str, dict[str, Any], int]] = [
        ("star", {}, 10),
        ("star", {"id": [ids["song"], foreign.id]}, 70),
        ("star", {"id": ids["song"], "albumId": "al-" + "a" * 32}, 70),
        ("star", {"id": [ids["song"]] * 2 + [f"x{n}" for n in range(100)]}, 0),
        ("unstar", {"id": foreign.id}, 70),
        ("setRating", {"id": foreign.id, "rating": 3}, 70),
        ("setRating", {"id": ids["song"]}, 10),
        ("scrobble", {}, 10),
        ("scrobble", {"id": [ids["song"], foreign.id]}, 70),
        ("scrobble", {"id": ids["song"], "time": [1, 2]}, 0),
        ("scrobble", {"id": ids["song"], "time": 10**14}, 0),
        ("scrobble", {"id": ids["song"], "time": 10**15 - 1}, 0),
        ("scrobble", {"id": [ids["song"]] * 2, "time": [1, 10**13]}, 0),
        ("createBookmark", {"id": foreign.id, "position": 1}, 70),
        ("createBookmark", {"id": ids["song"]}, 10),
        ("createBookmark", {"id": ids["song"], "position": 10**9}, 0),
        ("createBookmark", {"id": ids["song"], "position": 1, "comment": "x" * 1001}, 0),
        ("deleteBookmark", {"id": foreign.id}, 70),
    ]
    for call, parameters, code in bad:
        assert (await player.fail(call, **parameters))[0] == code, (call, parameters)
    assert await contents(any_store.table) == before


async def test_a_play_counts_once_for_its_time(player: Player) -> None:
    song = (await ids_of(player))["song"]
    for _ in range(2):
        await player.ask("scrobble", id=song, time=1_700_000_000_000)
    await player.ask("scrobble", id=song, submission="false")
    played = (await player.ask("getSong", id=song))["song"]
    assert (played["playCount"], played["played"]) == (1, "2023-11-14T22:13:20.000Z")
    await player.ask("scrobble", id=song)
    assert (await player.ask("getSong", id=song))["song"]["playCount"] == 2


async def test_a_bookmark_keeps_the_place_in_a_track(player: Player) -> None:
    song = (await ids_of(player))["song"]
    assert (await player.ask("getBookmarks"))["bookmarks"]["bookmark"] == []
    await player.ask("createBookmark", id=song, position=61_000, comment="the bridge")
    (bookmark,) = (await player.ask("getBookmarks"))["bookmarks"]["bookmark"]
    assert (bookmark["position"], bookmark["comment"], bookmark["username"]) == (
        61_000,
        "the bridge",
        "ann",
    )
    assert bookmark["entry"]["id"] == song
    await player.ask("createBookmark", id=song, position=62_000)
    (bookmark,) = (await player.ask("getBookmarks"))["bookmarks"]["bookmark"]
    assert (bookmark["position"], bookmark.get("comment")) == (62_000, None)
    await player.ask("deleteBookmark", id=song)
    assert (await player.ask("getBookmarks"))["bookmarks"]["bookmark"] == []
