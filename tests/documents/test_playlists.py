"""The access patterns of playlists and of listeners' own data, one test for each row."""

from typing import Any

from msgspec.structs import replace

from penstock.datastore.audio.names import album_place
from penstock.datastore.listening.records import Kind
from penstock.datastore.listening.ruled_entries import RuledRequest
from penstock.datastore.playlists.rules import PlaylistRule, TrackOrder
from penstock.datastore.store import Store
from penstock.schema.core.relay import GlobalId, parse_key
from tests.datastore.audio.sample_library import ANN, BOB, add
from tests.datastore.playlists.sample_playlists import drift
from tests.schema.audio.sample_playlists import (
    ADD_ENTRIES,
    CREATE_PLAYLIST,
    ENTRIES,
    add_songs,
    make_playlist,
    titles_of,
)
from tests.support.graphql_client import ROOT, Ask, as_caller
from tests.support.sample_resources import walk

EVE = as_caller("eve", "/=admin")
LIST = "query($order: Order) { playlists(order: $order) { nodes { name entryCount version } } }"
ONE = "query($id: ID!) { playlist(id: $id) { name version entryCount favouriteAt rating } }"
CHANGE = """mutation($input: %sInput!) { %s(input: $input) { __typename
  ...on UserError { code path } } }"""
HOLDING = "query($id: ID!) { audio(id: $id) { playlists { nodes { name } } } }"
EXPORT = "query($id: ID!) { exportPlaylist(id: $id, format: XSPF) { text fileName } }"
IMPORT = """mutation($input: ImportPlaylistInput!) { importPlaylist(input: $input) {
  ...on ImportPlaylistPayload { playlist { id name } matched unmatched { position } } } }"""
OLDEST = PlaylistRule(order=TrackOrder.OLDEST, limit=10)
KEPT = "query($id: ID!) { audio(id: $id) { favouriteAt rating playCount positionMs } }"
VIEWER = """{ viewer { favouriteAudio { nodes { title } } favouritePlaylists { nodes { name } }
  plays { nodes { startedAt audio { title } } } playQueue { index tracks { title } } } }"""


async def change(ask: Ask, field: str, **input: Any) -> Any:
    return await ask.input(CHANGE % (field[0].upper() + field[1:], field), ROOT, **input)


async def viewer(ask: Ask, field: str, caller: Any = ROOT) -> Any:
    return (await ask(VIEWER, caller=caller)).value[field]


async def read_annotations(ask: Ask, id: str) -> Any:
    return (await ask(KEPT, {"id": id})).value


async def test_get_playlist_ids_by_user_id(ask: Ask) -> None:
    """getPlaylistIdsByUserId"""
    for name in ("a", "b"):
        await make_playlist(ask, name)
    await make_playlist(ask, "theirs", caller=EVE)
    listed = [{"name": name, "entryCount": 0, "version": 1} for name in ("b", "a")]
    assert (await ask(LIST)).value["nodes"] == listed
    oldest = (await ask(LIST, {"order": "OLDEST_FIRST"})).value["nodes"]
    assert oldest == listed[::-1]


async def test_get_a_playlist(ask: Ask) -> None:
    """get a playlist"""
    made = await make_playlist(ask, "Mix", "a")
    found = (await ask(ONE, {"id": made["id"]})).value
    assert (found["name"], found["version"], found["entryCount"]) == ("Mix", 2, 1)
    assert (await ask(ONE, {"id": made["id"]}, EVE)).code == "NOT_FOUND"


async def test_create_a_playlist(ask: Ask) -> None:
    """create a playlist"""
    first = await ask.input(CREATE_PLAYLIST, name=" Mix ", idempotencyKey="k")
    assert first["playlist"]["name"] == "Mix"
    assert await ask.input(CREATE_PLAYLIST, name=" Mix ", idempotencyKey="k") == first
    assert len((await ask(LIST)).value["nodes"]) == 1


async def test_create_a_smart_playlist(ask: Ask) -> None:
    """create a smart playlist"""
    session = ask.store.open_session(ROOT)
    made = await session.playlists.writing.create("Smart", rule=OLDEST)
    assert await session.playlists.reading.one(made.id) == made
    assert await drift(ask.store.table) == []


async def test_give_a_smart_playlist_another_rule(ask: Ask) -> None:
    """give a smart playlist another rule"""
    session = ask.store.open_session(ROOT)
    made = await session.playlists.writing.create("Smart", rule=OLDEST)
    changed = await session.playlists.writing.set_rule(made.id, replace(OLDEST, limit=1))
    assert (changed.version, changed.rule) == (2, replace(OLDEST, limit=1))
    assert await session.playlists.reading.one(made.id) == changed


async def test_list_the_entries_of_a_smart_playlist(ask: Ask) -> None:
    """list the entries of a smart playlist"""
    await add_songs(ask, "a", "b", "c")
    await add_songs(ask, "theirs", caller=EVE)
    session = ask.store.open_session(ROOT)
    made = await session.playlists.writing.create("Smart", rule=replace(OLDEST, limit=2))
    assert await titles_of(ask, GlobalId("Playlist", made.id).encode()) == ["a", "b"]
    chosen = await session.listening.ruled.choose(RuledRequest(made))
    assert [entry.title for entry in chosen.entries] == ["a", "b"]


async def test_rename_a_playlist(ask: Ask) -> None:
    """rename a playlist"""
    made = await make_playlist(ask, "Mix")
    await change(ask, "renamePlaylist", id=made["id"], name="New")
    assert (await ask(LIST)).value["nodes"][0]["name"] == "New"
    stale = await change(ask, "renamePlaylist", id=made["id"], name="Old", expectedVersion=1)
    assert stale["code"] == "CONFLICT"
    assert (await ask(ONE, {"id": made["id"]})).value["name"] == "New"


async def test_delete_a_playlist(ask: Ask) -> None:
    """delete a playlist"""
    made = await make_playlist(ask, "Mix", "a")
    await change(ask, "deletePlaylist", id=made["id"])
    assert (await ask(ONE, {"id": made["id"]})).code == "NOT_FOUND"
    assert (await ask(LIST)).value["nodes"] == []
    assert (await ask(HOLDING, {"id": made["audio"][0]})).value["playlists"]["nodes"] == []
    assert (await read_annotations(ask, made["audio"][0]))["playCount"] == 0


async def test_add_tracks_to_a_playlist(ask: Ask) -> None:
    """add tracks to a playlist"""
    made = await make_playlist(ask, "Mix", "a", "b")
    added = await ask.input(
        ADD_ENTRIES, id=made["id"], audioIds=made["audio"][::-1], after=made["entries"][0]
    )
    assert added["playlist"] == {"version": 3, "entryCount": 4, "durationMs": 4_000}
    assert await titles_of(ask, made["id"]) == ["a", "b", "a", "b"]
    assert await drift(ask.store.table) == []


async def test_list_the_entries_of_a_playlist(ask: Ask) -> None:
    """list the entries of a playlist"""
    made = await make_playlist(ask, "Mix", *"abcde")
    found, after = [], None
    for _ in range(5):
        page = (await ask(ENTRIES, {"id": made["id"], "first": 1, "after": after})).value["entries"]
        found += [edge["node"]["audio"]["title"] for edge in page["edges"]]
        after = page["pageInfo"]["endCursor"]
    assert found == [*"abcde"]
    assert page["pageInfo"]["hasNextPage"] is False


async def test_move_entries_of_a_playlist(ask: Ask) -> None:
    """move entries of a playlist"""
    made = await make_playlist(ask, "Mix", *"abcd")
    first, second, *_, last = made["entries"]
    await change(ask, "movePlaylistEntries", id=made["id"], entryIds=[second, first], after=last)
    assert await titles_of(ask, made["id"]) == ["c", "d", "a", "b"]
    await change(ask, "movePlaylistEntries", id=made["id"], entryIds=[last])
    assert await titles_of(ask, made["id"]) == ["d", "c", "a", "b"]
    assert await drift(ask.store.table) == []


async def test_remove_entries_from_a_playlist(ask: Ask) -> None:
    """remove entries from a playlist"""
    made = await make_playlist(ask, "Mix", "a", "b")
    await ask.input(ADD_ENTRIES, id=made["id"], audioIds=made["audio"][:1])
    await change(ask, "removePlaylistEntries", id=made["id"], entryIds=made["entries"][:1])
    assert await titles_of(ask, made["id"]) == ["b", "a"]
    assert (await ask(ONE, {"id": made["id"]})).value["entryCount"] == 2


async def test_list_the_playlists_that_hold_a_track(ask: Ask) -> None:
    """list the playlists that hold a track"""
    one, other = await make_playlist(ask, "one", "a"), await make_playlist(ask, "other", "b")
    await ask.input(ADD_ENTRIES, id=other["id"], audioIds=one["audio"] * 2)
    names = [{"name": "one"}, {"name": "other"}]
    assert (await ask(HOLDING, {"id": one["audio"][0]})).value["playlists"]["nodes"] == names
    assert (await ask(HOLDING, {"id": one["audio"][0]}, EVE)).code == "NOT_FOUND"


async def test_export_a_playlist(ask: Ask) -> None:
    """export a playlist"""
    made = await make_playlist(ask, "Mix", "a", "b")
    file = (await ask(EXPORT, {"id": made["id"]})).value
    assert file["fileName"] == "Mix.xspf"
    for id in made["audio"]:
        assert f"<identifier>audio:{parse_key('Audio', id)}</identifier>" in file["text"]


async def test_import_a_playlist(ask: Ask) -> None:
    """import a playlist"""
    made = await make_playlist(ask, "Mix", "a", "b")
    text = (await ask(EXPORT, {"id": made["id"]})).value["text"]
    told = await ask.input(IMPORT, format="XSPF", text=text)
    assert (told["matched"], told["unmatched"]) == (2, [])
    assert await titles_of(ask, told["playlist"]["id"]) == ["a", "b"]
    foreign = await ask.input(IMPORT, EVE, format="XSPF", text=text)
    assert foreign["matched"] == 0
    assert [each["position"] for each in foreign["unmatched"]] == [1, 2]
    assert await drift(ask.store.table) == []


async def test_mark_a_favourite(ask: Ask) -> None:
    """mark a favourite"""
    made = await make_playlist(ask, "Mix", "a")
    for id in (made["id"], made["audio"][0]):
        await change(ask, "setFavourite", id=id, favourite=True)
    assert (await ask(ONE, {"id": made["id"]})).value["favouriteAt"] is not None
    assert (await read_annotations(ask, made["audio"][0]))["favouriteAt"] is not None
    await change(ask, "setFavourite", id=made["id"], favourite=False)
    assert (await ask(ONE, {"id": made["id"]})).value["favouriteAt"] is None


async def test_list_favourites(ask: Ask) -> None:
    """list favourites"""
    made = await make_playlist(ask, "Mix", "a", "b")
    for id in (made["audio"][1], made["id"], made["audio"][0]):
        await change(ask, "setFavourite", id=id, favourite=True)
    assert await viewer(ask, "favouriteAudio") == {"nodes": [{"title": "a"}, {"title": "b"}]}
    assert await viewer(ask, "favouritePlaylists") == {"nodes": [{"name": "Mix"}]}
    assert await viewer(ask, "favouriteAudio", EVE) == {"nodes": []}


async def test_rate_a_track_or_a_playlist(ask: Ask) -> None:
    """rate a track or a playlist"""
    made = await make_playlist(ask, "Mix", "a")
    for id in (made["id"], made["audio"][0]):
        await change(ask, "setRating", id=id, rating=5)
    assert (await ask(ONE, {"id": made["id"]})).value["rating"] == 5
    assert (await read_annotations(ask, made["audio"][0]))["rating"] == 5


async def test_listing_annotations(store: Store) -> None:
    """list annotations"""
    session = store.open_session(ANN)
    tracks = [await add(session.audio, f"{n}", "t", "A") for n in range(3)]
    annotations = session.listening.annotations
    for track in tracks:
        await annotations.rate((Kind.AUDIO, track.id), 4)
    album = album_place(tracks[0])
    await annotations.rate((Kind.ALBUM, album), 2)
    found = await walk(lambda window: annotations.page(Kind.AUDIO, window))
    assert {(note.id, note.rating) for note in found} == {(track.id, 4) for track in tracks}
    (kept,) = await walk(lambda window: annotations.page(Kind.ALBUM, window))
    assert (kept.id, kept.rating) == (album, 2)
    theirs = store.open_session(BOB).listening.annotations
    assert await walk(lambda window: theirs.page(Kind.AUDIO, window)) == []


async def test_count_a_play(ask: Ask) -> None:
    """count a play"""
    (song,) = await add_songs(ask, "a")
    for _ in range(2):
        play = {"startedAt": "2022-08-10T23:55:20Z", "listenedMs": 500}
        await change(ask, "recordPlay", id=song, **play)
    assert (await read_annotations(ask, song))["playCount"] == 1


async def test_list_plays(ask: Ask) -> None:
    """list plays"""
    for title, second in (("a", 10), ("b", 20)):
        (song,) = await add_songs(ask, title)
        started = f"2022-08-10T23:55:{second}.000Z"
        await change(ask, "recordPlay", id=song, startedAt=started, listenedMs=500)
    plays = (await viewer(ask, "plays"))["nodes"]
    assert [play["audio"]["title"] for play in plays] == ["b", "a"]
    assert plays[1]["startedAt"] == "2022-08-10T23:55:10.000Z"


async def test_keep_the_place_in_a_track(ask: Ask) -> None:
    """keep the place in a track"""
    (song,) = await add_songs(ask, "a")
    await change(ask, "setPlayPosition", id=song, positionMs=900)
    assert (await read_annotations(ask, song))["positionMs"] == 900


async def test_save_the_play_queue(ask: Ask) -> None:
    """save the play queue"""
    first, second = await add_songs(ask, "a", "b")
    await change(ask, "savePlayQueue", audioIds=[second, first, second], index=2)
    queue = await viewer(ask, "playQueue")
    assert queue == {"index": 2, "tracks": [{"title": "b"}, {"title": "a"}, {"title": "b"}]}
    assert (await viewer(ask, "playQueue", EVE))["tracks"] == []
