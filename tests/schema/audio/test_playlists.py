"""Playlists as a client builds, reorders, exports and imports them."""

import re
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from penstock.datastore.playlists import export
from penstock.datastore.playlists.formats import document, m3u
from penstock.datastore.store import Store
from penstock.schema.core.relay import GlobalId, parse_key
from tests.datastore.audio.sample_transcoder import key_behind
from tests.datastore.audio.sample_uploads import TAGS, open_files, sound, upload_and_register
from tests.datastore.playlists.sample_playlists import drift
from tests.schema.audio.sample_playlists import (
    ADD_ENTRIES,
    CREATE_PLAYLIST,
    ENTRIES,
    add_songs,
    make_playlist,
    titles_of,
)
from tests.support.consistency_check import contents
from tests.support.graphql_client import ROOT, Ask, as_caller

EVE = as_caller("eve", "/=admin")
RENAME = """mutation($input: RenamePlaylistInput!) { renamePlaylist(input: $input) {
  __typename ...on RenamePlaylistPayload { playlist { name version } } } }"""
DELETE = """mutation($input: DeletePlaylistInput!) { deletePlaylist(input: $input) {
  __typename ...on DeletePlaylistPayload { playlist { name } } ...on UserError { code path } } }"""
MOVE = """mutation($input: MovePlaylistEntriesInput!) { movePlaylistEntries(input: $input) {
  __typename ...on MovePlaylistEntriesPayload { playlist { version
    entries { nodes { title } } } }
  ...on UserError { code path } ...on VersionConflict { currentVersion } } }"""
REMOVE = """mutation($input: RemovePlaylistEntriesInput!) { removePlaylistEntries(input: $input) {
  __typename ...on RemovePlaylistEntriesPayload { playlist { version entryCount durationMs } }
  ...on UserError { code path } } }"""
EXPORT = """query($id: ID!, $format: PlaylistFormat!) { exportPlaylist(id: $id, format: $format) {
  text mediaType fileName } }"""
IMPORT = """mutation($input: ImportPlaylistInput!) { importPlaylist(input: $input) { __typename
  ...on ImportPlaylistPayload { playlist { id name entryCount } matched unmatched { position
    track { location title creator album durationMs } candidates { title } } }
  ...on UserError { code path } ...on ValidationProblem { problems { path line message } } } }"""


async def test_a_playlist_is_built_read_and_reordered(ask: Ask) -> None:
    made = await make_playlist(ask, " Road trip ", "a", "b", "c")
    found = (await ask(ENTRIES, {"id": made["id"]})).value
    assert (found["name"], found["version"], found["entryCount"]) == ("Road trip", 2, 3)
    assert found["durationMs"] == 3_000
    nodes = [edge["node"] for edge in found["entries"]["edges"]]
    assert nodes == [
        {"id": entry, "title": title, "missing": False, "audio": {"id": audio, "title": title}}
        for entry, audio, title in zip(made["entries"], made["audio"], "abc", strict=True)
    ]
    moved = await ask.input(MOVE, id=made["id"], entryIds=[made["entries"][2]])
    assert moved["playlist"] == {
        "version": 3,
        "entries": {"nodes": [{"title": "c"}, {"title": "a"}, {"title": "b"}]},
    }
    left = await ask.input(REMOVE, id=made["id"], entryIds=made["entries"][:2])
    assert left["playlist"] == {"version": 4, "entryCount": 1, "durationMs": 1_000}
    renamed = await ask.input(RENAME, id=made["id"], name="Home", expectedVersion=4)
    assert renamed["playlist"] == {"name": "Home", "version": 5}
    gone = await ask.input(DELETE, id=made["id"], expectedVersion=5)
    assert gone["playlist"] == {"name": "Home"}
    assert (await ask(ENTRIES, {"id": made["id"]})).code == "NOT_FOUND"


async def test_cursors_of_entries_spare_a_long_playlist_its_reading(ask: Ask, store: Store) -> None:
    made = await make_playlist(ask, "Long", *map(str, range(30)))
    page = (await ask(ENTRIES, {"id": made["id"], "first": 30})).value["entries"]["edges"]
    cursors = [page[20]["cursor"], page[9]["cursor"]]
    move = {"id": made["id"], "entryIds": [made["entries"][20]], "after": made["entries"][9]}
    document = MOVE.replace("entries { nodes { title } }", "")
    with_cursors = await ask(document, {"input": {**move, "cursors": cursors}})
    assert with_cursors.value["__typename"] == "MovePlaylistEntriesPayload"
    back = {**move, "after": made["entries"][19]}
    stale = await ask(document, {"input": {**back, "cursors": [*cursors, "x", ""]}})
    assert stale.value["__typename"] == "MovePlaylistEntriesPayload"
    assert with_cursors.units.rcu < stale.units.rcu
    assert await titles_of(ask, made["id"]) == [str(n) for n in range(30)]
    assert await drift(store.table) == []


async def test_a_deleted_track_leaves_its_entry_and_is_missing(ask: Ask, store: Store) -> None:
    made = await make_playlist(ask, "Mix", "a", "b")
    first = (await ask(ENTRIES, {"id": made["id"]})).value["entries"]["edges"][0]["node"]
    await store.open_session(ROOT).audio.editing.delete(parse_key("Audio", made["audio"][0]))
    found = (await ask(ENTRIES, {"id": made["id"]})).value["entries"]["edges"]
    assert found[0]["node"] == {**first, "missing": True, "audio": None}
    assert found[1]["node"]["missing"] is False


async def test_tracks_that_a_playlist_holds_are_left_out_on_demand(ask: Ask) -> None:
    made = await make_playlist(ask, "Mix", "a", "b")
    for skips, held in ((True, ["a", "b"]), (False, ["a", "b", "a", "b"])):
        await ask.input(ADD_ENTRIES, id=made["id"], audioIds=made["audio"], skipDuplicates=skips)
        assert await titles_of(ask, made["id"]) == held


@pytest.mark.parametrize("format", ["M3U8", "XSPF", "JSPF"])
async def test_what_is_exported_is_imported_unchanged(ask: Ask, format: str) -> None:
    made = await make_playlist(ask, "Road/trip", "a", "b", "c")
    await ask.input(ADD_ENTRIES, id=made["id"], audioIds=made["audio"][:1] * 2)
    file = (await ask(EXPORT, {"id": made["id"], "format": format})).value
    assert file["fileName"] == f"Road_trip.{format.lower()}"
    encoded = b64encode(file["text"].encode()).decode()
    for content in ({"text": file["text"]}, {"file": encoded}):
        told = await ask.input(IMPORT, format=format, **content)
        assert (told["playlist"]["name"], told["matched"], told["unmatched"]) == (
            "Road/trip",
            5,
            [],
        )
        assert await titles_of(ask, told["playlist"]["id"]) == ["a", "b", "c", "a", "a"]
        again = (await ask(EXPORT, {"id": told["playlist"]["id"], "format": format})).value
        assert again == file


FILE = "#EXTM3U\n#EXTINF:1,abba - A\nx.mp3\n#EXTINF:9,Nobody - Nothing\nnone.mp3\n"


async def test_what_the_library_has_not_is_told_and_kept_if_wanted(ask: Ask, store: Store) -> None:
    await add_songs(ask, "a")
    before = await contents(store.table)
    input = {"format": "M3U8", "text": FILE, "name": "Mix"}
    looked = await ask.input(IMPORT, **input, dryRun=True)
    unmatched = {
        "position": 2,
        "track": {
            "location": "none.mp3",
            "title": "Nothing",
            "creator": "Nobody",
            "album": None,
            "durationMs": 9_000,
        },
        "candidates": [],
    }
    assert (looked["playlist"], looked["matched"]) == (None, 1)
    assert looked["unmatched"] == [unmatched]
    assert await contents(store.table) == before
    kept = await ask.input(IMPORT, **input, keepUnmatched=True)
    assert kept["playlist"]["entryCount"] == 2
    assert await titles_of(ask, kept["playlist"]["id"]) == ["a", "Nothing"]
    left = await ask.input(IMPORT, **input)
    assert await titles_of(ask, left["playlist"]["id"]) == ["a"]


async def test_a_length_that_an_earlier_release_read_is_one_that_can_be_shown_and_exported(
    ask: Ask,
) -> None:
    text = "#EXTM3U\n#EXTINF:3000000,Nobody - Nothing\nnone.mp3\n"
    input = {"format": "M3U8", "text": text, "name": "Mix", "keepUnmatched": True}
    shown = "query($id: ID!) { playlist(id: $id) { entries { nodes { durationMs } } } }"
    read = await ask.input(IMPORT, **input)
    found = (await ask(shown, {"id": read["playlist"]["id"]})).value
    assert found["entries"]["nodes"] == [{"durationMs": None}]
    with (
        patch.object(m3u, "MAX_DURATION_MS", 10**10),
        patch.object(document, "MAX_DURATION_MS", 10**10),
    ):
        longer = (await ask.input(IMPORT, **input))["playlist"]["id"]
    found = (await ask(shown, {"id": longer})).value
    assert found["entries"]["nodes"] == [{"durationMs": 2**31 - 1}]
    for format in ("M3U8", "XSPF", "JSPF"):
        file = (await ask(EXPORT, {"id": longer, "format": format})).value
        again = await ask.input(
            IMPORT, format=format, text=file["text"], name="Mix", keepUnmatched=True
        )
        assert again["playlist"]["entryCount"] == 1


async def test_several_of_a_name_are_told_as_candidates(ask: Ask) -> None:
    await add_songs(ask, "a", "a")
    told = await ask.input(IMPORT, format="M3U8", text=FILE, name="Mix", dryRun=True)
    assert told["unmatched"][0]["candidates"] == [{"title": "a"}, {"title": "a"}]


@pytest.mark.parametrize(
    ("content", "path", "line"),
    [
        ({}, ["text"], None),
        ({"text": "", "file": ""}, ["text"], None),
        ({"file": "no base64"}, ["file"], None),
        ({"file": "é"}, ["file"], None),
        ({"text": "<!DOCTYPE a>"}, ["text"], 1),
        ({"text": "<playlist>"}, ["text"], 1),
        ({"text": "<playlist/>"}, ["name"], None),
    ],
)
async def test_a_file_that_cannot_be_read_is_told_with_its_place(
    ask: Ask, store: Store, content: dict[str, str], path: list[str], line: int | None
) -> None:
    told = await ask.input(IMPORT, format="XSPF", **content)
    assert (told["__typename"], told["path"]) == ("ValidationProblem", path)
    assert told["problems"][0]["line"] == line
    assert await contents(store.table) == {}


async def test_playlists_of_another_are_nobodys(ask: Ask, store: Store) -> None:
    made = await make_playlist(ask, "Mine", "a")
    before = await contents(store.table)
    assert (await ask(ENTRIES, {"id": made["id"]}, EVE)).code == "NOT_FOUND"
    assert (await ask(EXPORT, {"id": made["id"], "format": "XSPF"}, EVE)).code == "NOT_FOUND"
    told = await ask.input(ADD_ENTRIES, EVE, id=made["id"], audioIds=made["audio"])
    assert (told["code"], told["path"]) == ("NOT_FOUND", ["id"])
    assert await contents(store.table) == before
    own = (await ask.input(CREATE_PLAYLIST, EVE, name="Own"))["playlist"]["id"]
    told = await ask.input(ADD_ENTRIES, EVE, id=own, audioIds=made["audio"])
    assert (told["code"], told["path"]) == ("NOT_FOUND", ["audioIds"])
    assert await titles_of(ask, own, EVE) == []


PLAYABLE = """query($id: ID!, $format: PlaylistFormat!) {
  exportPlaylist(id: $id, format: $format, playable: true) { text } }"""


@pytest.mark.parametrize("format", ["M3U8", "XSPF", "JSPF"])
async def test_a_playable_file_leads_any_player_to_the_tracks(
    store: Store, tmp_path: Path, format: str
) -> None:
    async with open_files("local", tmp_path) as files:
        ask = Ask(replace(store, files=files))
        library = ask.store.open_session(ROOT).audio
        tracks = [
            await upload_and_register(library, f"{n}.mp3", sound("mp3", 1, TAGS)) for n in range(2)
        ]
        made = (await ask.input(CREATE_PLAYLIST, name="Mix"))["playlist"]["id"]
        ids = [GlobalId("Audio", track.id).encode() for track in tracks]
        await ask.input(ADD_ENTRIES, id=made, audioIds=[*ids, ids[0]])
        text = (await ask(PLAYABLE, {"id": made, "format": format})).value["text"]
        urls = re.findall(r"http://files\.example/files/[^\s<\"]+", text)
        keys = [key_behind(files, url) for url in urls]
        assert keys == [tracks[n].object_key for n in (0, 1, 0)]
        again = await ask.input(IMPORT, format=format, text=text)
        assert (again["matched"], again["unmatched"]) == (3, [])


async def test_a_long_playlist_is_exported_without_urls(ask: Ask) -> None:
    made = await make_playlist(ask, "Mix", "a")
    with patch.object(export, "MAX_LOCATED", 0):
        answer = await ask(PLAYABLE, {"id": made["id"], "format": "M3U8"})
    (error,) = answer.errors
    assert error["extensions"]["code"] == "LIMIT_EXCEEDED"
