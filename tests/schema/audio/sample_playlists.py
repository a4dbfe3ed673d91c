"""A listener with tracks and playlists, and the documents that tests of playlists share."""

from typing import Any

from penstock.datastore.clock import Clock
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.schema.core.relay import GlobalId
from tests.datastore.audio.sample_library import draft
from tests.support.graphql_client import ROOT, Ask

CREATE_PLAYLIST = """mutation($input: CreatePlaylistInput!) { createPlaylist(input: $input) {
  __typename ...on CreatePlaylistPayload { playlist { id name version entryCount } } } }"""
ADD_ENTRIES = """mutation($input: AddPlaylistEntriesInput!) { addPlaylistEntries(input: $input) {
  __typename ...on UserError { code message path } ...on VersionConflict { currentVersion }
  ...on AddPlaylistEntriesPayload { playlist { version entryCount durationMs } entries { id } }
} }"""
ENTRIES = """query($id: ID!, $first: Int, $after: String) { playlist(id: $id) {
  name version entryCount durationMs entries(first: $first, after: $after) {
    edges { cursor node { id title missing audio { id title } } }
    pageInfo { hasNextPage endCursor } } } }"""

FIXED = "01a1fd33-4531-77f0-8555-cdb912a93f{:02}"
ABSENT = "01a1fd33-4531-77f0-8555-cdb912a93fef"


def global_id(type: str, id: str) -> str:
    return str(GlobalId(type, id).encode())


async def add_songs(ask: Ask, *titles: str, caller: Caller = ROOT) -> list[str]:
    """Add tracks of one second each to the caller's library; return their global ids."""
    adding = ask.store.open_session(caller).audio.adding
    made = []
    for title in titles:
        key = f"{title} {ask.store.clock.new_id()}.mp3"
        audio = await adding.add(
            *draft(key, title, "Abba", user=caller.user_id, album="Gold", duration_ms=1_000)
        )
        made.append(global_id("Audio", audio.id))
    return made


def with_counted_ids(store: Store, start: int) -> Store:
    """Return the store with ids that count from a number, for tests that name ids in advance."""
    numbers = iter(range(start, start + 100))
    return Store(store.table, Clock(new_id=lambda: FIXED.format(next(numbers))))


async def make_playlist(ask: Ask, name: str, *titles: str, caller: Caller = ROOT) -> dict[str, Any]:
    """Make a playlist of new tracks; return its id and those of the tracks and entries."""
    made = (await ask.input(CREATE_PLAYLIST, caller, name=name))["playlist"]
    audio = await add_songs(ask, *titles, caller=caller)
    entries: list[str] = []
    if audio:
        added = await ask.input(ADD_ENTRIES, caller, id=made["id"], audioIds=audio)
        entries = [entry["id"] for entry in added["entries"]]
    return {"id": made["id"], "audio": audio, "entries": entries}


async def titles_of(ask: Ask, id: str, caller: Caller = ROOT) -> list[str]:
    edges = (await ask(ENTRIES, {"id": id, "first": 100}, caller)).value["entries"]["edges"]
    return [edge["node"]["title"] for edge in edges]
