"""A renaming beside another one, and beside edits and deletions, leaves no star, rating or play."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.jobs.jobs import Job, JobState, find_jobs
from penstock.datastore.jobs.leases import LEASE_TIME
from penstock.datastore.listening import rename_things
from penstock.datastore.listening.annotations import ThingKey
from penstock.datastore.roles import Caller
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.datastore.audio.sample_library import add, drift
from tests.datastore.listening.test_rename_things import (
    album,
    artist,
    notes,
    play,
    star,
    tracks_of,
)
from tests.datastore.playlists.sample_playlists import open_session
from tests.support.sample_resources import Watch
from tests.support.table_interceptors import CutOffTable, InterruptedTable, ProcessDied

MBID = "0192f0c1-7b7e-7000-8000-000000000001"
Begin = Callable[[Session, ThingKey], Awaitable[Job]]


@pytest.fixture
def store(table: Table, watch: Watch) -> Store:
    return Store(table, Clock(now=watch))


@pytest.fixture(autouse=True)
def _no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rename_things, "SECONDS_PER_TRACK", 0)


@pytest.mark.parametrize("back", [("Eve", "Ada"), ("Ada", "Zed")])
async def test_two_renamings_of_a_library_take_turns(store: Store, back: tuple[str, str]) -> None:
    session = open_session(store)
    for number in range(3):
        await add(session.audio, f"a{number}", f"Song {number}", "Ada", album="Solo")
        await add(session.audio, f"e{number}", f"Tune {number}", "Eve", album="Duo")
    await star(session, artist("Ada"), 2)
    renaming = session.listening.renaming
    first = await renaming.rename_artist(artist("Ada")[1], "Eve")
    second = await renaming.rename_artist(artist(back[0])[1], back[1])
    ended: list[int] = []

    async def run_other_server() -> None:
        ended.append(await store.run_jobs("other"))

    between = InterruptedTable(store.table, run_other_server, writes=3)
    assert await replace(store, table=between).run_jobs("worker") == 2
    assert ended == [0]
    jobs = [job for job in await find_jobs(store.table, [first.id, second.id]) if job]
    assert [job.state for job in jobs] == [JobState.DONE, JobState.DONE]
    last, written = ("Ada", 6) if back == ("Eve", "Ada") else ("Eve", 0)
    assert [job.done for job in jobs] == [3, written]
    assert {track.artists for track in (await tracks_of(session)).values()} == {(last,)}
    assert await notes(session, artist(last)) == (True, 2, 0)
    assert await drift(store.table) == []


async def begin_for_artist(session: Session, _: ThingKey) -> Job:
    return await session.listening.renaming.rename_artist(artist("Ada")[1], "Eve")


async def begin_for_album(session: Session, thing: ThingKey) -> Job:
    return await session.listening.renaming.rename_album(thing[1], "Duo", None)


async def begin_for_both(session: Session, thing: ThingKey) -> Job:
    return await session.listening.renaming.rename_album(thing[1], "Duo", "Eve")


async def begin_merging(session: Session, thing: ThingKey) -> Job:
    into = await album(session, "Duo", "Bob")
    return await session.listening.renaming.merge_albums(thing[1], into[1])


async def leave_by_deletion(session: Session, id: str) -> None:
    await session.audio.removing.delete(id)


async def leave_by_edit(session: Session, id: str) -> None:
    await session.audio.editing.edit(id, {"artists": ("Zed",), "album": "Other"})


@pytest.mark.parametrize(
    ("leave", "deaths"),
    [
        # One track is left behind these writes only, so they alone are behind each way to leave.
        (leave_by_deletion, (3, 4)),
        (leave_by_edit, (3, 4)),
        (None, (2, 5, 6, 7, 8)),
    ],
)
@pytest.mark.parametrize("mbid", [None, MBID])
@pytest.mark.parametrize(
    ("begin", "name", "by"),
    [
        (begin_for_artist, "Solo", "Eve"),
        (begin_for_album, "Duo", "Ada"),
        (begin_for_both, "Duo", "Eve"),
        (begin_merging, "Duo", "Bob"),
    ],
)
async def test_notes_follow_though_the_last_track_goes_another_way(
    store: Store,
    watch: Watch,
    begin: Begin,
    name: str,
    by: str,
    mbid: str | None,
    leave: Callable[[Session, str], Awaitable[None]] | None,
    deaths: Sequence[int],
) -> None:
    for writes in deaths:
        session = open_session(store, Caller(f"user {writes}", {}))
        for number in range(2):
            title = f"Song {number}"
            await add(session.audio, title, title, "Ada", album="Solo", album_mbid=mbid)
        await add(session.audio, "d", "Other", "Bob", album="Duo")
        solo = await album(session, "Solo", "Ada")
        for thing in (solo, artist("Ada")):
            await star(session, thing, 5)
        await play(session, (await tracks_of(session))["Song 0"])
        job = await begin(session, solo)
        with suppress(ProcessDied):
            await replace(store, table=CutOffTable(store.table, writes)).run_jobs("first")
        tracks = await tracks_of(session)
        left = [
            track.id
            for track in tracks.values()
            if (track.album, track.artists) == ("Solo", ("Ada",))
        ]
        assert (len(left) == 1) is (leave is not None)
        if leave is not None:
            await leave(session, left[0])
        watch.move(LEASE_TIME + timedelta(seconds=1))
        await store.run_jobs("second")
        (ended,) = await find_jobs(store.table, [job.id])
        assert ended is not None
        assert ended.state is JobState.DONE
        assert await notes(session, await album(session, name, by)) == (True, 5, 1)
        if solo != await album(session, name, by):
            assert await notes(session, solo) == (False, None, 0)
        if begin is begin_for_artist:
            assert await notes(session, artist("Eve")) == (True, 5, 0)
            assert await notes(session, artist("Ada")) == (False, None, 0)
    assert await drift(store.table) == []
