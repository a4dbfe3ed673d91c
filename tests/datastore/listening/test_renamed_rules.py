"""Rules of smart playlists find the tracks of a name while it changes, and behind that."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from penstock.datastore.audio import names
from penstock.datastore.clock import Clock
from penstock.datastore.errors import NotFound
from penstock.datastore.jobs.jobs import Job
from penstock.datastore.jobs.leases import LEASE_TIME
from penstock.datastore.listening import rename_things
from penstock.datastore.listening.ruled_entries import RuledRequest
from penstock.datastore.playlists.records import Playlist
from penstock.datastore.playlists.rules import MAX_NAMES, TrackFilter
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.datastore.audio.sample_library import ANN, BOB, add
from tests.datastore.listening.sample_rules import rule
from tests.support.sample_resources import Watch, on_sqlite, walk
from tests.support.table_interceptors import CutOffTable, InterruptedTable, ProcessDied


@pytest.fixture
def store(table: Table, watch: Watch) -> Store:
    return Store(table, Clock(now=watch))


@pytest.fixture(autouse=True)
def _no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rename_things, "SECONDS_PER_TRACK", 0)


@pytest.fixture
async def session(store: Store) -> Session:
    """Ann's library of the Mill, of which Zed made an album of the same name."""
    session = store.open_session(ANN)
    await add(session.audio, "1", "Wheat", "Mill", album="Grain", genres=("Folk", "Rock"))
    await add(session.audio, "2", "Rye", "MILL", "Zed", album="Grain", genres=("folk",))
    await add(session.audio, "3", "Oats", "Zed", album="Grain")
    await add(session.audio, "4", "Stone", "Mill", album="Flour")
    return session


async def smart(session: Session, **filter: Any) -> Playlist:
    return await session.playlists.writing.create("Smart", rule=rule(**filter))


async def read(session: Session, playlist: Playlist) -> Playlist:
    return await session.playlists.reading.one(playlist.id)


async def filter_of(session: Session, playlist: Playlist) -> TrackFilter:
    found = (await read(session, playlist)).rule
    assert found is not None
    return found.filter


async def titles(session: Session, playlist: Playlist) -> list[str | None]:
    wanted = RuledRequest(await read(session, playlist))
    return [entry.title for entry in (await session.listening.ruled.choose(wanted)).entries]


async def album_place(session: Session, name: str, by: str) -> str:
    albums = await walk(session.audio.lists.get_album_by_user_id, 50)
    (found,) = (one for one in albums if (one.name, one.album_artist) == (name, by))
    return names.album_place_of(found)


async def rename_mill(session: Session, name: str = "Windmill") -> Job:
    return await session.listening.renaming.rename_artist(names.artist_place("Mill"), name)


async def rename_folk(session: Session) -> Job:
    return await session.listening.renaming.rename_genre("FOLK", "Trad")


async def merge_folk(session: Session) -> Job:
    return await session.listening.renaming.rename_genre("FOLK", "Rock")


async def rename_grain(session: Session) -> Job:
    place = await album_place(session, "Grain", "Mill")
    return await session.listening.renaming.rename_album(place, "Corn", None)


async def rename_flour(session: Session) -> Job:
    place = await album_place(session, "Flour", "Mill")
    return await session.listening.renaming.rename_album(place, "Meal", None)


async def merge_flour(session: Session) -> Job:
    renaming = session.listening.renaming
    target = await album_place(session, "Grain", "Zed")
    return await renaming.merge_albums(await album_place(session, "Flour", "Mill"), target)


RENAMINGS = [
    (rename_mill, "artists", ("mill", "zed"), ("Windmill", "zed")),
    (rename_folk, "genres", ("Rock", "FOLK"), ("Rock", "Trad")),
    (merge_folk, "genres", ("Rock", "FOLK"), ("Rock",)),
    (rename_grain, "albums", ("grain",), ("grain", "Corn")),
    (rename_flour, "albums", ("Flour", "x"), ("Meal", "x")),
    (merge_flour, "albums", ("Flour",), ("Grain",)),
]


@pytest.mark.parametrize(("rename", "condition", "before", "after"), RENAMINGS)
async def test_a_rule_follows_a_name_and_keeps_an_old_one_that_others_have(
    store: Store,
    session: Session,
    rename: Callable[[Session], Awaitable[Job]],
    condition: str,
    before: tuple[str, ...],
    after: tuple[str, ...],
) -> None:
    own = await smart(session, **{condition: before})
    names_of: dict[str, Any] = {condition: before}
    within = TrackFilter(**names_of)
    other = await smart(session, any_of=(within,), none_of=(TrackFilter(none_of=(within,)),))
    found = await titles(session, own)
    await rename(session)
    assert await store.run_jobs("worker") == 1
    assert getattr(await filter_of(session, own), condition) == after
    filter = await filter_of(session, other)
    assert getattr(filter.any_of[0], condition) == after
    assert getattr(filter.none_of[0].none_of[0], condition) == after
    now = await titles(session, own)
    assert set(found) <= set(now)
    assert now == await titles(session, other)


@on_sqlite
async def test_rules_of_others_and_of_other_names_are_not_written(
    store: Store, session: Session
) -> None:
    bob = store.open_session(BOB)
    theirs = await smart(bob, artists=("Mill",))
    others = [
        await smart(session, artists=("Zed", "ZED"), genres=("Mill",), title_contains="mill"),
        await session.playlists.writing.create("Plain"),
    ]
    artist = names.artist_place("Mill")
    for job in (
        session.listening.renaming.rename_artist(artist, "MILL"),
        session.listening.renaming.rename_album(
            await album_place(session, "Grain", "Mill"), None, "Zoe"
        ),
        session.listening.renaming.rename_artist(artist, "Windmill"),
    ):
        await job
        assert await store.run_jobs("worker") == 1
    assert await read(bob, theirs) == theirs
    assert [await read(session, one) for one in others] == others


@on_sqlite
@pytest.mark.parametrize("writes", range(1, 18))
async def test_a_rule_finds_all_tracks_whenever_the_worker_dies(
    store: Store, session: Session, watch: Watch, writes: int
) -> None:
    own = await smart(session, artists=("Mill",))
    found = await titles(session, own)
    assert len(found) == 3
    await rename_mill(session)
    with suppress(ProcessDied):
        await replace(store, table=CutOffTable(store.table, writes)).run_jobs("first")
    assert await titles(session, own) == found
    watch.move(LEASE_TIME + timedelta(seconds=1))
    await store.run_jobs("second")
    assert await titles(session, own) == found
    assert (await filter_of(session, own)).artists == ("Windmill",)


@on_sqlite
async def test_a_cancelled_job_leaves_both_names_however_many_there_are(
    store: Store, session: Session, watch: Watch
) -> None:
    own = await smart(session, artists=("Mill", *(f"x{n}" for n in range(MAX_NAMES - 1))))
    job = await rename_mill(session)

    async def cancel() -> None:
        await session.jobs.cancel(job.id)
        watch.move(timedelta(seconds=2))

    # Four writes: the job is taken, its rule, its number of tracks, and the first track.
    await replace(store, table=InterruptedTable(store.table, cancel, writes=4)).run_jobs("worker")
    held = (await filter_of(session, own)).artists
    assert (held[:3], len(held)) == (("Mill", "Windmill", "x0"), MAX_NAMES + 1)
    assert len(await titles(session, own)) == 3


@on_sqlite
async def test_a_rule_that_its_user_changes_meanwhile_follows_as_it_is_then(
    store: Store, session: Session
) -> None:
    own = await smart(session, artists=("Mill",))
    gone = await smart(session, artists=("Mill",))
    await rename_mill(session)

    async def change() -> None:
        await session.playlists.writing.set_rule(own.id, rule(artists=("Zed", "Mill"), limit=7))
        await session.playlists.deleting.delete(gone.id)

    await replace(store, table=InterruptedTable(store.table, change, writes=1)).run_jobs("worker")
    found = (await read(session, own)).rule
    assert found == rule(artists=("Zed", "Windmill"), limit=7)
    with pytest.raises(NotFound):
        await read(session, gone)
