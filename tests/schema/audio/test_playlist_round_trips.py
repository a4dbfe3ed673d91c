"""The number of reads of a request for playlists, in total and in sequence."""

from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.listening.records import Kind
from penstock.datastore.store import Store
from penstock.schema.core.relay import parse_key
from tests.schema.audio.sample_playlists import ADD_ENTRIES, make_playlist
from tests.support.graphql_client import ROOT, Ask
from tests.support.stores import open_table
from tests.support.table_interceptors import TracedTable

pytestmark = pytest.mark.runs_together("round trips")

ENTRIES = """query($id: ID!, $first: Int) { playlist(id: $id) { name rating
  entries(first: $first) { nodes { title missing audio { title favouriteAt rating playCount
    playlists(first: 5) { nodes { name } } } } } } }"""
PLAYLISTS = """query($first: Int) { playlists(first: $first) { nodes { name favouriteAt
  entries(first: 5) { nodes { missing audio { title } } } } } }"""
FAVOURITES = """{ viewer { favouriteAudio(first: 50) { nodes { title rating } }
  playQueue { tracks { title } } } }"""


@pytest.fixture(scope="module")
async def traced_table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Fill a store with 60 playlists of three tracks, and one of 60 favourite tracks."""
    folder: Path = tmp_path_factory.mktemp("table")
    async with open_table("sqlite", folder) as table:
        ask = Ask(Store(table))
        long = await make_playlist(ask, "long", *(f"t{n}" for n in range(60)))
        for n in range(59):
            made = await make_playlist(ask, f"p{n}")
            await ask.input(ADD_ENTRIES, id=made["id"], audioIds=long["audio"][n : n + 3])
        listening = ask.store.open_session(ROOT).listening
        keys = [parse_key("Audio", id) for id in long["audio"]]
        for key in keys:
            await listening.favourites.mark((Kind.AUDIO, key))
        await listening.queue.save(keys, 0, 0)
        found = TracedTable(table)
        yield found, long["id"]


@pytest.mark.parametrize(("size", "reads"), [(10, 16), (50, 57)])
async def test_a_page_of_tracks_with_their_playlists_takes_as_many_rounds_for_50_as_for_10(
    traced_table: tuple[TracedTable, str], size: int, reads: int
) -> None:
    table, id = traced_table
    table.start()
    answer = await Ask(Store(table))(ENTRIES, {"id": id, "first": size})
    assert len(answer.value["entries"]["nodes"]) == size
    assert answer.value["entries"]["nodes"][5]["audio"]["playlists"]["nodes"][0] == {"name": "long"}
    # The playlist; its mark and entries; the tracks; their marks and one query for each of them,
    # which no request holds together; what these name, a hundred rows at a time.
    assert table.seen == (reads, 0, 5)


@pytest.mark.parametrize("size", [10, 50])
async def test_a_page_of_playlists_with_entries_takes_as_many_rounds_for_50_as_for_10(
    traced_table: tuple[TracedTable, str], size: int
) -> None:
    table, _ = traced_table
    table.start()
    answer = await Ask(Store(table))(PLAYLISTS, {"first": size})
    assert len(answer.value["nodes"]) == size
    # The ids; the playlists; their marks and one query for each; the tracks.
    assert table.seen == (4 + size, 0, 4)


async def test_favourites_and_the_queue_share_their_tracks(
    traced_table: tuple[TracedTable, str],
) -> None:
    table, _ = traced_table
    table.start()
    answer = await Ask(Store(table))(FAVOURITES)
    assert len(answer.value["favouriteAudio"]["nodes"]) == 50
    assert len(answer.value["playQueue"]["tracks"]) == 60
    # Both lists; their tracks, together or not; the ratings.
    reads, writes, depth = table.seen
    assert (writes, depth) == (0, 3)
    assert reads <= 5
