"""Playlists and the play queue, as players read and change them."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.datastore.playlists.formats.document import MAX_TRACKS
from penstock.datastore.playlists.rules import PlaylistRule, TrackFilter, TrackOrder
from penstock.datastore.store import Store
from tests.datastore.audio.sample_library import BOB, add, listener
from tests.server.opensubsonic.conftest import ANN
from tests.server.opensubsonic.players import Player
from tests.support.consistency_check import contents
from tests.support.sample_resources import walk

pytestmark = pytest.mark.usefixtures("library")


@pytest.fixture
async def songs(any_store: Store, library: None) -> dict[str, str]:
    tracks = await walk(listener(any_store, ANN).lists.audios)
    return {track.title[:1]: track.id for track in tracks if track.title != "Straw"}


async def titles(player: Player, id: str) -> str:
    playlist = (await player.ask("getPlaylist", id=id))["playlist"]
    assert playlist["songCount"] == len(playlist["entry"])
    return "".join(song["title"][:1] for song in playlist["entry"])


async def create(player: Player, songs: dict[str, str], text: str, **more: Any) -> str:
    ids = [songs[letter] for letter in text]
    said = await player.ask("createPlaylist", songId=ids, **more)
    id: str = said["playlist"]["id"]
    return id


async def test_a_playlist_is_made_changed_and_deleted(
    player: Player, songs: dict[str, str]
) -> None:
    id = await create(player, songs, "WRW", name="Road")
    (listed,) = (await player.ask("getPlaylists"))["playlists"]["playlist"]
    assert (listed["name"], listed["songCount"], listed["duration"]) == ("Road", 3, 540)
    assert (listed["owner"], listed["public"]) == ("ann", False)
    assert await titles(player, id) == "WRW"
    await player.ask(
        "updatePlaylist",
        playlistId=id,
        name="Trip",
        songIndexToRemove=[0, 1],
        songIdToAdd=[songs["H"], songs["S"]],
    )
    assert await titles(player, id) == "WHS"
    assert (await player.ask("getPlaylist", id=id))["playlist"]["name"] == "Trip"
    await player.ask("deletePlaylist", id=id)
    assert (await player.fail("getPlaylist", id=id))[0] == 70


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        ("WR", "WRH"),
        ("WRHS", "WHRS"),
        ("WRH", "RWH"),
        ("WRH", "WH"),
        ("WW", "W"),
        ("WR", ""),
        ("", "WR"),
        ("WRH", "SSS"),
        ("WRWR", "WRSWR"),
    ],
)
async def test_a_playlist_is_replaced_and_keeps_the_entries_of_both_ends(
    player: Player, songs: dict[str, str], held: str, wanted: str
) -> None:
    id = await create(player, songs, held, name="Road")
    assert await create(player, songs, wanted, playlistId=id, name="New") == id
    assert await titles(player, id) == wanted
    assert (await player.ask("getPlaylist", id=id))["playlist"]["name"] == "New"


async def test_more_tracks_than_one_transaction_holds_are_added_and_removed(
    player: Player, songs: dict[str, str]
) -> None:
    text = "WRHS" * 30
    id = await create(player, songs, text, name="Long")
    assert await titles(player, id) == text
    await create(player, songs, "W" + "R" * 110 + "S", playlistId=id)
    assert await titles(player, id) == "W" + "R" * 110 + "S"


async def test_what_cannot_be_done_changes_nothing(
    any_store: Store, player: Player, songs: dict[str, str]
) -> None:
    id = await create(player, songs, "WR", name="Road")
    foreign = await add(listener(any_store, BOB), "b", "Secret", "Bo")
    theirs = await any_store.open_session(BOB).playlists.writing.create("Theirs")
    before = await contents(any_store.table)
    new = {"songIdToAdd": songs["H"], "name": "New"}
    bad: Sequence[tuple[str, dict[str, Any], int]] = [
        ("createPlaylist", {}, 10),
        ("createPlaylist", {"name": "x", "songId": [songs["W"], foreign.id]}, 70),
        ("createPlaylist", {"name": "x" * 129}, 0),
        ("createPlaylist", {"playlistId": id, "songId": songs["H"], "name": "x" * 129}, 0),
        ("createPlaylist", {"playlistId": theirs.id, "songId": songs["W"]}, 70),
        ("createPlaylist", {"playlistId": id, "songId": "nonsense"}, 70),
        ("updatePlaylist", {"playlistId": theirs.id, **new}, 70),
        ("updatePlaylist", {"playlistId": id, **new, "songIndexToRemove": 2}, 70),
        ("updatePlaylist", {"playlistId": id, **new, "songIndexToRemove": "x"}, 0),
        ("updatePlaylist", {"playlistId": id, "name": "New", "songIdToAdd": foreign.id}, 70),
        ("updatePlaylist", {"playlistId": id, **new, "public": "true"}, 0),
        ("updatePlaylist", {"playlistId": id, **new, "comment": "nice"}, 0),
        ("updatePlaylist", {"playlistId": id, "name": "x" * 129, "songIdToAdd": songs["H"]}, 0),
        ("updatePlaylist", {}, 10),
        ("deletePlaylist", {"id": theirs.id}, 70),
        ("savePlayQueue", {"id": [songs["W"]], "current": songs["H"]}, 0),
        ("savePlayQueue", {"id": [songs["W"]]}, 10),
        ("savePlayQueue", {"id": ["nonsense"], "current": "nonsense"}, 0),
        ("savePlayQueue", {"id": [songs["W"], foreign.id], "current": songs["W"]}, 70),
        ("savePlayQueueByIndex", {"id": [songs["W"], foreign.id], "currentIndex": 0}, 70),
        ("savePlayQueueByIndex", {"id": [songs["W"]], "currentIndex": 1}, 0),
        ("savePlayQueueByIndex", {"id": [songs["W"]]}, 10),
    ]
    for call, parameters, code in bad:
        assert (await player.fail(call, **parameters))[0] == code, (call, parameters)
    assert await contents(any_store.table) == before


async def test_an_entry_without_a_track_keeps_its_place(
    any_store: Store, player: Player, songs: dict[str, str]
) -> None:
    id = await create(player, songs, "WRH", name="Road")
    await listener(any_store, ANN).removing.delete(songs["R"])
    entries = (await player.ask("getPlaylist", id=id))["playlist"]["entry"]
    assert [entry["title"][:1] for entry in entries] == ["W", "R", "H"]
    assert (await player.fail("stream", id=entries[1]["id"]))[0] == 70
    await player.ask("updatePlaylist", playlistId=id, songIndexToRemove=1)
    assert await titles(player, id) == "WH"


async def test_the_play_queue_is_kept_by_id_and_by_index(
    any_store: Store, player: Player, songs: dict[str, str]
) -> None:
    assert "playQueue" not in await player.ask("getPlayQueue")
    ids = [songs["W"], songs["R"], songs["W"]]
    await player.ask("savePlayQueue", id=ids, current=songs["R"], position=5000)
    queue = (await player.ask("getPlayQueue"))["playQueue"]
    assert (queue["current"], queue["position"], queue["changedBy"]) == (songs["R"], 5000, "tests")
    assert [song["id"] for song in queue["entry"]] == ids
    await player.ask("savePlayQueueByIndex", id=ids, currentIndex=2, position=7)
    queue = (await player.ask("getPlayQueueByIndex"))["playQueueByIndex"]
    assert (queue["currentIndex"], queue["position"], len(queue["entry"])) == (2, 7, 3)
    await listener(any_store, ANN).removing.delete(songs["R"])
    queue = (await player.ask("getPlayQueueByIndex"))["playQueueByIndex"]
    assert (queue["currentIndex"], [song["id"] for song in queue["entry"]]) == (1, [ids[0], ids[2]])
    await player.ask("savePlayQueue")
    queue = (await player.ask("getPlayQueue"))["playQueue"]
    assert (queue["entry"], "current" in queue) == ([], False)


async def test_a_smart_playlist_is_read_only_and_can_be_renamed_and_deleted(
    player: Player, songs: dict[str, str], any_store: Store
) -> None:
    writing = any_store.open_session(ANN).playlists.writing
    rule = PlaylistRule(
        filter=TrackFilter(genres=("Folk",)), order=TrackOrder.TITLE, limit=MAX_TRACKS
    )
    smart = await writing.create("Folk", rule=rule)
    (listed,) = (await player.ask("getPlaylists"))["playlists"]["playlist"]
    assert (listed["songCount"], listed["duration"], listed["readonly"]) == (3, 540, True)
    assert await titles(player, smart.id) == "RSW"
    await player.ask("star", id=songs["W"])
    await writing.set_rule(smart.id, replace(rule, filter=TrackFilter(favourite=True)))
    assert await titles(player, smart.id) == "W"
    before = await contents(any_store.table)
    for call, parameters in (
        ("createPlaylist", {"playlistId": smart.id, "songId": songs["R"]}),
        ("updatePlaylist", {"playlistId": smart.id, "songIdToAdd": songs["R"]}),
        ("updatePlaylist", {"playlistId": smart.id, "name": "x", "songIndexToRemove": 0}),
    ):
        assert (await player.fail(call, **parameters))[0] == 50
    assert await contents(any_store.table) == before
    await player.ask("updatePlaylist", playlistId=smart.id, name="Airs")
    assert (await player.ask("getPlaylist", id=smart.id))["playlist"]["name"] == "Airs"
    await player.ask("deletePlaylist", id=smart.id)
    assert (await player.ask("getPlaylists"))["playlists"] == {"playlist": []}


async def test_a_plain_playlist_is_not_said_to_be_read_only(
    player: Player, songs: dict[str, str]
) -> None:
    id = await create(player, songs, "W", name="Road")
    assert "readonly" not in (await player.ask("getPlaylist", id=id))["playlist"]
