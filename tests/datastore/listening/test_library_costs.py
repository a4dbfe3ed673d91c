"""Renamings, covers and imported playlists cost as much as docs/audio.md says."""

from pathlib import Path

import pytest

from penstock.datastore.audio import names
from penstock.datastore.clock import Clock
from penstock.datastore.listening import rename_things
from penstock.datastore.playlists.formats.document import FileTrack, PlaylistDocument
from penstock.datastore.playlists.import_playlist import ImportOptions
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table
from tests.datastore.audio.copies.test_covers import picture, upload
from tests.datastore.audio.sample_library import ANN, add
from tests.datastore.audio.sample_uploads import open_files
from tests.datastore.listening.sample_rules import rule
from tests.datastore.playlists.sample_playlists import add_tracks
from tests.support.sample_resources import Watch, on_sqlite
from tests.support.work_cost import WorkCost, measure

pytestmark = on_sqlite


@pytest.fixture(autouse=True)
def _no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rename_things, "SECONDS_PER_TRACK", 0)


@pytest.fixture
def metered(table: Table) -> MeteredTable:
    return MeteredTable(table)


@pytest.fixture
def store(metered: MeteredTable, watch: Watch) -> Store:
    return Store(metered, Clock(now=watch))


async def shelve(session: Session, artist: str, tracks: int) -> None:
    for number in range(tracks):
        await add(
            session.audio,
            f"{artist}{number}",
            f"Title {number}",
            artist,
            album=f"Album of {artist}",
            genres=("Folk",),
            track=number,
        )


async def rename(store: Store, metered: MeteredTable, artist: str) -> WorkCost:
    session = store.open_session(ANN)
    await session.listening.renaming.rename_artist(names.artist_place(artist), f"New {artist}")
    return await measure(metered, store.run_jobs("worker"))


async def test_a_renaming_costs_so_much_for_each_track_and_each_playlist(
    store: Store, metered: MeteredTable
) -> None:
    session = store.open_session(ANN)
    await shelve(session, "Ada", 3)
    await shelve(session, "Bob", 8)
    few, many = [await rename(store, metered, artist) for artist in ("Ada", "Bob")]
    # Each track is read twice and written once, with the rows of its artist, album and the job.
    assert many - few == WorkCost(5 * 3, 5 * 2, 5 * 20)
    assert few - WorkCost(3 * 3, 3 * 2, 3 * 20) == WorkCost(21, 20, 35)
    await shelve(session, "Cid", 3)
    for _ in range(2):
        await session.playlists.writing.create("Plain")
    plain = await rename(store, metered, "Cid") - few
    await shelve(session, "Dan", 3)
    for _ in range(2):
        await session.playlists.writing.create("Smart", rule=rule(artists=("Dan",)))
    ruled = await rename(store, metered, "Dan") - few - plain
    # Two playlists, of which both passes read two rows each; then two rules that are written twice.
    assert (plain, ruled) == (WorkCost(2, 2 * 4, 0), WorkCost(2 * 4, 2 * 8, 2 * 8))


async def test_a_cover_costs_so_much_for_each_track_of_its_album(
    metered: MeteredTable, tmp_path: Path
) -> None:
    costs: list[WorkCost] = []
    async with open_files("local", tmp_path) as files:
        session = Store(metered, files=files).open_session(ANN)
        for artist, tracks in (("Ada", 2), ("Bob", 5)):
            await shelve(session, artist, tracks)
            ((_, first),) = (await session.audio.lists.audios(Window(size=1))).entries
            key = await upload(session, picture(len(costs) + 1, 1))
            made = session.audio.covers.set_for_album(names.album_place(first), key)
            costs.append(await measure(metered, made))
    few, many = costs
    assert many - few == WorkCost(3 * 2, 3 * 1, 3 * 6)
    assert few - WorkCost(2 * 2, 2 * 1, 2 * 6) == WorkCost(7, 4, 8)


async def test_an_import_costs_so_much_for_each_entry(store: Store, metered: MeteredTable) -> None:
    costs, session = [], store.open_session(ANN)
    tracks = await add_tracks(session, 3)
    for count in (300, 600):
        found = tuple(FileTrack(id=tracks[n % 3], title=f"{n}") for n in range(count))
        document = PlaylistDocument(title="All", tracks=found)
        work = session.playlists.importing.run(document, ImportOptions())
        costs.append(await measure(metered, work))
    few, many = costs
    # An entry and its row in the index; 25 are written at once, and 3 tracks read.
    assert many - few == WorkCost(12 + 1, 3, 300 * 2)
    assert few - (many - few) == WorkCost(4, 3.5, 8)
