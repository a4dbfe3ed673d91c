"""Other users of any role cannot see or change a listener's things through any field."""

import json
from typing import Any

import pytest

from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.schema.core.relay import parse_key
from tests.schema.audio.listener_cases import (
    LISTENERS_FIELDS,
    NOWHERE,
    Things,
    documents_by_field,
    make_things_of_another,
)
from tests.schema.audio.sample_playlists import CREATE_PLAYLIST, make_playlist
from tests.schema.test_callers_without_role import assert_says_nothing
from tests.support.consistency_check import contents
from tests.support.graphql_client import ROOT, Ask, as_caller

OTHERS = {
    "admin of all": as_caller("eve", "/=admin"),
    "nobody": Caller("eve", {}),
    "of a look-alike name": as_caller("root:", "/=admin"),
}


def blur_names(things: Things, answer: object) -> str:
    text = json.dumps(answer)
    keys = (parse_key("Playlist", things.playlist), parse_key("Audio", things.audio), things.entry)
    for known in (*things, *keys):
        text = text.replace(known, "?")
    return text


@pytest.mark.parametrize("other", OTHERS)
async def test_another_listener_is_told_what_is_told_of_nothing(
    other: str, ask: Ask, store: Store
) -> None:
    things = await make_things_of_another(ask)
    before = await contents(store.table)
    for field in LISTENERS_FIELDS:
        for (document, theirs), (_, nothing) in zip(
            documents_by_field(things)[field], documents_by_field(NOWHERE)[field], strict=True
        ):
            answer = await ask(document, theirs, OTHERS[other])
            assert_says_nothing(field, answer.data, answer.errors)
            absent = await ask(document, nothing, OTHERS[other])
            assert blur_names(things, [answer.data, answer.errors]) == blur_names(
                NOWHERE, [absent.data, absent.errors]
            )
            assert await contents(store.table) == before, field


async def test_ids_of_another_in_what_is_ones_own_lead_nowhere(ask: Ask) -> None:
    things, eve = await make_things_of_another(ask), OTHERS["admin of all"]
    save = """mutation($input: SavePlayQueueInput!) { savePlayQueue(input: $input) {
      ...on NotFound { code path } } }"""
    before = await contents(ask.store.table)
    saved = await ask.input(save, eve, audioIds=[things.audio])
    assert saved == {"code": "NOT_FOUND", "path": ["audioIds"]}
    assert await contents(ask.store.table) == before
    text = f'#PENSTOCK:{{"id":"{parse_key("Audio", things.audio)}"}}\nx.mp3\n'
    look = """mutation($input: ImportPlaylistInput!) { importPlaylist(input: $input) {
      ...on ImportPlaylistPayload { matched unmatched { candidates { title } } } } }"""
    told = await ask.input(look, eve, format="M3U8", text=text, name="Mine")
    assert told == {"matched": 0, "unmatched": [{"candidates": []}]}
    own = (await ask.input(CREATE_PLAYLIST, eve, name="Own"))["playlist"]
    assert own["entryCount"] == 0
    listed = (await ask("{ playlists { nodes { name } } }", caller=eve)).value["nodes"]
    assert listed == [{"name": "Own"}, {"name": "Mine"}]


async def test_nodes_of_another_are_null(ask: Ask) -> None:
    things = await make_things_of_another(ask)
    query = "query($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }"
    ids = {"ids": [things.playlist, things.audio]}
    assert (await ask(query, ids, OTHERS["admin of all"])).value == [None, None]
    assert (await ask(query, ids)).value == [
        {"__typename": "Playlist", "id": things.playlist},
        {"__typename": "Audio", "id": things.audio},
    ]


async def test_the_viewers_lists_are_their_own(ask: Ask) -> None:
    await make_things_of_another(ask)
    mark = """mutation($input: SetFavouriteInput!) { setFavourite(input: $input) {
      __typename } }"""
    made = await make_playlist(ask, "Mine", "c", caller=ROOT)
    await ask.input(mark, id=made["id"], favourite=True)
    await ask.input(mark, id=made["audio"][0], favourite=True)
    query = """{ viewer { favouriteAudio { nodes { title } } favouritePlaylists { nodes { name } }
      plays { nodes { listenedMs } } playQueue { tracks { title } } } }"""
    nothing: dict[str, Any] = {
        "favouriteAudio": {"nodes": []},
        "favouritePlaylists": {"nodes": []},
        "plays": {"nodes": []},
        "playQueue": {"tracks": []},
    }
    assert (await ask(query, caller=OTHERS["admin of all"])).value == nothing
    own = (await ask(query)).value
    assert own["favouriteAudio"] == {"nodes": [{"title": "c"}]}
    assert own["favouritePlaylists"] == {"nodes": [{"name": "Mine"}]}
