"""A renaming changes every track of a name once, and loses no star, rating, play or playlist."""

from asyncio import gather
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import product
from typing import Any

import msgspec
import pytest

from penstock.datastore.audio import names
from penstock.datastore.audio.records import Audio
from penstock.datastore.clock import Clock
from penstock.datastore.errors import Invalid, NotFound
from penstock.datastore.jobs.jobs import Job, JobKind, JobState, find_jobs
from penstock.datastore.jobs.leases import LEASE_TIME
from penstock.datastore.listening import rename_things
from penstock.datastore.listening.annotations import ThingKey
from penstock.datastore.listening.records import Kind, Play
from penstock.datastore.playlists.change_target import ChangeTarget
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.port import Attributes, Key, Table
from tests.datastore.audio.sample_library import BOB, add, drift, listener
from tests.datastore.listening.sample_rules import rule
from tests.datastore.playlists.sample_playlists import open_session
from tests.support.consistency_check import contents
from tests.support.sample_resources import Watch, on_sqlite, walk, without_moto
from tests.support.table_interceptors import CutOffTable, InterruptedTable, PausedTable, ProcessDied

NOW = "2022-08-10T23:50:00.000Z"
MBID = "0192f0c1-7b7e-7000-8000-000000000001"


@pytest.fixture
def store(table: Table, watch: Watch) -> Store:
    return Store(table, Clock(now=watch))


@pytest.fixture(autouse=True)
def _no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rename_things, "SECONDS_PER_TRACK", 0)


def artist(name: str) -> ThingKey:
    return Kind.ARTIST, names.artist_place(name)


async def tracks_of(session: Session) -> dict[str, Audio]:
    return {track.title: track for track in await walk(session.audio.lists.audios, 50)}


async def album(session: Session, name: str, by: str) -> ThingKey:
    for one in await walk(session.audio.lists.get_album_by_user_id, 50):
        if (one.name, one.album_artist) == (name, by):
            return Kind.ALBUM, names.album_place_of(one)
    raise AssertionError(f"no album {name} of {by}")


def thing_of(kind: Kind, track: Audio, by: str) -> ThingKey:
    """The artist of this name, or the album of a track if it were by this artist."""
    if kind is Kind.ARTIST:
        return artist(by)
    return kind, names.album_place(msgspec.structs.replace(track, artists=(by,)))


async def albums_of(session: Session) -> list[tuple[str, str, int]]:
    found = await walk(session.audio.lists.get_album_by_user_id, 50)
    return [(one.name, one.album_artist, one.count) for one in found]


async def shelf(session: Session) -> None:
    """Make three albums of the Mill under two spellings, and one of others with the Mill."""
    audio = session.audio
    await add(audio, "1", "Wheat", "Mill", album="Grain", track=1, genres=("Folk", "Rock"))
    await add(audio, "2", "Rye", "MILL", "Zed", album="Grain", track=2, genres=("folk",))
    await add(audio, "3", "Oats", "The Mill", album="Grain", track=3)
    await add(audio, "4", "Stone", "Zed", "Mill", album="Flour", album_artist="Zed")


async def star(session: Session, thing: ThingKey, rating: int) -> None:
    await session.listening.favourites.mark(thing)
    await session.listening.annotations.rate(thing, rating)


async def play(session: Session, track: Audio, at: str = NOW) -> None:
    heard = Play(audio_id=track.id, started_at=at, listened_ms=track.duration_ms)
    await session.listening.plays.record(heard)


async def notes(session: Session, thing: ThingKey) -> tuple[Any, ...]:
    (note,) = await session.listening.annotations.many([thing])
    starred = await walk(lambda window: session.listening.favourites.page(thing[0], window))
    is_listed = (thing[1], note.favourite_at) in [(each.id, each.at) for each in starred]
    assert is_listed is (note.favourite_at is not None)
    return note.favourite_at is not None, note.rating, note.play_count


async def run(store: Store, job: Job) -> Job:
    assert await store.run_jobs("worker") == 1
    (ended,) = await find_jobs(store.table, [job.id])
    assert ended is not None
    return ended


async def test_an_artist_becomes_one_with_another_and_everything_follows(store: Store) -> None:
    session = open_session(store)
    await shelf(session)
    theirs = listener(store, BOB)
    await add(theirs, "1", "Foreign", "Mill", album="Grain")
    tracks = await tracks_of(session)
    grain, other = await album(session, "Grain", "Mill"), await album(session, "Grain", "The Mill")
    await star(session, artist("Mill"), 4)
    await star(session, grain, 5)
    await session.listening.annotations.rate(other, 2)
    for title in ("Wheat", "Oats", "Stone"):
        await play(session, tracks[title])
    mix = await session.playlists.writing.create("Mix")
    ids = [track.id for track in tracks.values()]
    await session.playlists.adding.add(ChangeTarget(id=mix.id), ids)
    await star(session, (Kind.AUDIO, tracks["Rye"].id), 1)
    job = await session.listening.renaming.rename_artist(artist("Mill")[1], "The Mill")
    assert (job.kind, job.state) == (JobKind.RENAME_AUDIO, JobState.PENDING)
    ended = await run(store, job)
    assert (ended.state, ended.done, ended.total) == (JobState.DONE, 3, 3)
    renamed = await tracks_of(session)
    assert {title: track.artists for title, track in renamed.items()} == {
        "Wheat": ("The Mill",),
        "Rye": ("The Mill", "Zed"),
        "Oats": ("The Mill",),
        "Stone": ("Zed", "The Mill"),
    }
    assert {track.id for track in renamed.values()} == set(ids)
    assert await albums_of(session) == [("Flour", "Zed", 1), ("Grain", "The Mill", 3)]
    assert await notes(session, artist("The Mill")) == (True, 4, 0)
    assert await notes(session, artist("Mill")) == (False, None, 0)
    assert await notes(session, grain) == (False, None, 0)
    assert await notes(session, other) == (True, 2, 2)
    assert await notes(session, (Kind.AUDIO, tracks["Rye"].id)) == (True, 1, 0)
    entries = await walk(lambda window: session.playlists.reading.entries(mix, window))
    assert [entry.audio_id for entry in entries] == ids
    assert [track.artists for track in await walk(theirs.lists.audios)] == [("Mill",)]
    assert await drift(store.table) == []


async def test_a_new_spelling_changes_the_name_in_all_tracks(store: Store) -> None:
    session = open_session(store)
    await shelf(session)
    await star(session, artist("mill"), 3)
    job = await session.listening.renaming.rename_artist(artist("mill")[1], "mILL")
    ended = await run(store, job)
    assert (ended.state, ended.done, ended.total) == (JobState.DONE, 3, 3)
    named = [one.name for one in await walk(session.audio.lists.get_artists_by_user_id)]
    assert named == ["mILL", "The Mill", "Zed"]
    assert await notes(session, artist("Mill")) == (True, 3, 0)
    assert await drift(store.table) == []


@on_sqlite
async def test_artists_that_stand_in_no_tag_get_one(store: Store) -> None:
    session = open_session(store)
    await add(session.audio, "1", "Mixed", "Ada", album="Best", compilation=True)
    await add(session.audio, "2", "Unnamed", album="Tape")
    renaming = session.listening.renaming
    for old, new in (("Various Artists", "Friends"), ("[Unknown Artist]", "Eve")):
        await renaming.rename_artist(artist(old)[1], new)
    assert await store.run_jobs("worker") == 2
    tracks = await tracks_of(session)
    assert (tracks["Mixed"].album_artist, tracks["Mixed"].artists) == ("Friends", ("Ada",))
    assert (tracks["Unnamed"].album_artist, tracks["Unnamed"].artists) == (None, ("Eve",))
    assert await albums_of(session) == [("Best", "Friends", 1), ("Tape", "Eve", 1)]


async def test_an_album_gets_another_name_and_artist(store: Store) -> None:
    session = open_session(store)
    await shelf(session)
    grain = await album(session, "Grain", "Mill")
    await star(session, grain, 5)
    job = await session.listening.renaming.rename_album(grain[1], "Corn", "Zed")
    assert (await run(store, job)).done == 2
    assert await albums_of(session) == [
        ("Corn", "Zed", 2),
        ("Flour", "Zed", 1),
        ("Grain", "The Mill", 1),
    ]
    assert await notes(session, await album(session, "Corn", "Zed")) == (True, 5, 0)
    assert await notes(session, grain) == (False, None, 0)
    assert (await tracks_of(session))["Wheat"].artists == ("Mill",)
    assert await drift(store.table) == []


@pytest.mark.parametrize("mbid", [None, MBID])
async def test_an_album_goes_into_another_one(store: Store, mbid: str | None) -> None:
    session = open_session(store)
    await add(session.audio, "1", "a", "Ada", album="Live (Deluxe)", album_mbid=MBID[:-1] + "9")
    await add(session.audio, "2", "b", "Ada", album="Live", album_mbid=mbid)
    source, target = (
        await album(session, "Live (Deluxe)", "Ada"),
        await album(session, "Live", "Ada"),
    )
    await star(session, source, 4)
    tracks = await tracks_of(session)
    await gather(play(session, tracks["a"]), play(session, tracks["b"]))
    await run(store, await session.listening.renaming.merge_albums(source[1], target[1]))
    assert await albums_of(session) == [("Live", "Ada", 2)]
    assert await notes(session, target) == (True, 4, 2)
    assert (await tracks_of(session))["a"].album_mbid == mbid
    assert await drift(store.table) == []


async def test_genres_become_one(store: Store) -> None:
    session = open_session(store)
    await shelf(session)
    await run(store, await session.listening.renaming.rename_genre("FOLK", "Rock"))
    assert (await tracks_of(session))["Wheat"].genres == ("Rock",)
    genres = await walk(session.audio.lists.genres)
    assert [(genre.name, genre.count) for genre in genres] == [("Rock", 2)]
    assert await drift(store.table) == []


async def test_what_has_an_empty_annotation_is_renamed(store: Store) -> None:
    session = open_session(store)
    await shelf(session)
    grain = await album(session, "Grain", "Mill")
    for thing in (artist("Mill"), grain):
        await star(session, thing, 3)
        await session.listening.annotations.rate(thing, None)
        await session.listening.favourites.unmark(thing)
    ended = await run(
        store, await session.listening.renaming.rename_artist(artist("Mill")[1], "Windmill")
    )
    assert (ended.state, ended.message) == (JobState.DONE, None)
    for thing in (artist("Windmill"), await album(session, "Grain", "Windmill")):
        assert await notes(session, thing) == (False, None, 0)
    left = [key.sk for key in await contents(store.table) if key.sk.startswith("AN:")]
    assert left == []
    assert await drift(store.table) == []


WRITES = 5
"""The writes of the job that renames a thing of one track."""


async def rename_amid(
    store: Store, name: str, write: int, say: Callable[[], Awaitable[Any]]
) -> bool:
    """Rename an artist, and say something before this write of the job; return whether it could."""
    outcomes: list[bool] = []

    async def try_to_say() -> None:
        with suppress(NotFound):
            await say()
            outcomes.append(True)

    renaming = open_session(store).listening.renaming
    await renaming.rename_artist(artist(name)[1], f"New {name}")
    interrupted = InterruptedTable(store.table, try_to_say, writes=write)
    assert await replace(store, table=interrupted).run_jobs("worker") == 1
    assert (interrupted.other is None) is (write < WRITES)
    return bool(outcomes)


@pytest.mark.parametrize("write", range(WRITES + 1))
@pytest.mark.parametrize("kind", [Kind.ALBUM, Kind.ARTIST])
async def test_what_is_said_of_a_thing_at_any_step_of_its_renaming_is_kept(
    store: Store, kind: Kind, write: int
) -> None:
    session = open_session(store)
    favourites, annotations = session.listening.favourites, session.listening.annotations
    ways: dict[str, Callable[[ThingKey, Audio], Awaitable[object]]] = {
        "star": lambda thing, _: favourites.mark(thing),
        "unstar": lambda thing, _: favourites.unmark(thing),
        "rate": lambda thing, _: annotations.rate(thing, 5),
        "clear": lambda thing, _: annotations.rate(thing, None),
        "play": lambda _, track: play(session, track),
    }
    for number, (before, way) in enumerate(
        product(("nothing", "starred", "rated", "emptied"), ways)
    ):
        name = f"Ada {number}"
        track = await add(session.audio, name, "Song", name, album="Solo")
        old, new = [thing_of(kind, track, by) for by in (name, f"New {name}")]
        if before != "nothing":
            await star(session, old, 2)
        if before in {"rated", "emptied"}:
            await favourites.unmark(old)
        if before != "rated":
            await annotations.rate(old, None)
        is_said = await rename_amid(store, name, write, partial(ways[way], old, track))
        said = way if is_said else None
        expected = (
            {"star": True, "unstar": False}.get(str(said), before == "starred"),
            {"rate": 5, "clear": None}.get(str(said), 2 if before == "rated" else None),
            int(said == "play" and kind is Kind.ALBUM),
        )
        assert (before, way, await notes(session, new)) == (before, way, expected)
        assert await notes(session, old) == (False, None, 0)
    assert await drift(store.table) == []


@pytest.mark.parametrize("kind", [Kind.ALBUM, Kind.ARTIST])
@pytest.mark.parametrize("way", ["star", "unstar", "rate", "clear"])
async def test_what_is_said_of_a_thing_as_its_last_track_leaves_is_refused(
    store: Store, kind: Kind, way: str
) -> None:
    session = open_session(store)
    track = await add(session.audio, "1", "Song", "Ada", album="Solo")
    old, new = [thing_of(kind, track, by) for by in ("Ada", "Eve")]
    await star(session, old, 2)
    await session.listening.renaming.rename_artist(artist("Ada")[1], "Eve")
    late = open_session(
        replace(store, table=InterruptedTable(store.table, lambda: store.run_jobs("worker")))
    ).listening
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "star": lambda: late.favourites.mark(old),
        "unstar": lambda: late.favourites.unmark(old),
        "rate": lambda: late.annotations.rate(old, 5),
        "clear": lambda: late.annotations.rate(old, None),
    }
    if way == "star":
        await session.listening.favourites.unmark(old)
    with pytest.raises(NotFound):
        await calls[way]()
    assert await notes(session, new) == (way != "star", 2, 0)
    assert await notes(session, old) == (False, None, 0)
    assert await drift(store.table) == []


async def test_a_play_as_the_last_track_leaves_counts_for_the_new_album(store: Store) -> None:
    session = open_session(store)
    track = await add(session.audio, "1", "Song", "Ada", album="Solo")
    await session.listening.renaming.rename_artist(artist("Ada")[1], "Eve")
    late = replace(store, table=InterruptedTable(store.table, lambda: store.run_jobs("worker")))
    await play(open_session(late), track)
    assert await notes(session, thing_of(Kind.ALBUM, track, "Eve")) == (False, None, 1)
    assert await notes(session, thing_of(Kind.ALBUM, track, "Ada")) == (False, None, 0)
    assert await notes(session, (Kind.AUDIO, track.id)) == (False, None, 1)


@on_sqlite
@pytest.mark.parametrize("writes", range(2, 24, 3))
async def test_a_worker_that_dies_loses_nothing(store: Store, watch: Watch, writes: int) -> None:
    session = open_session(store)
    await shelf(session)
    await star(session, artist("Mill"), 4)
    await star(session, await album(session, "Grain", "Mill"), 5)
    tracks = await tracks_of(session)
    await play(session, tracks["Wheat"])
    job = await session.listening.renaming.rename_artist(artist("Mill")[1], "Windmill")
    with suppress(ProcessDied):
        await replace(store, table=CutOffTable(store.table, writes)).run_jobs("first")
    assert await drift(store.table) == []
    watch.move(LEASE_TIME + timedelta(seconds=1))
    await store.run_jobs("second")
    (ended,) = await find_jobs(store.table, [job.id])
    assert ended is not None
    assert (ended.state, ended.total) == (JobState.DONE, 3)
    assert await notes(session, artist("Windmill")) == (True, 4, 0)
    assert await notes(session, await album(session, "Grain", "Windmill")) == (True, 5, 1)
    assert [one.name for one in await walk(session.audio.lists.get_artists_by_user_id)] == [
        "The Mill",
        "Windmill",
        "Zed",
    ]
    assert await drift(store.table) == []


@without_moto
async def test_a_worker_that_was_paused_leaves_what_came_after_the_job(
    store: Store, watch: Watch
) -> None:
    session, calls = open_session(store), 0
    while await pause_renaming(store, session, watch, calls):
        calls += 1
    assert calls > 20


async def pause_renaming(store: Store, session: Session, watch: Watch, calls: int) -> bool:
    """Pause a renaming behind so many calls, while another worker ends it and the name comes back.

    Returns False if it did not make as many.
    """
    old, other = f"Mill {calls}", f"Windmill {calls}"
    await add(session.audio, f"a{calls}", "Wheat", old, album="Grain", genres=("Folk",))
    await star(session, artist(old), 4)
    mix = await session.playlists.writing.create("Old", rule=rule(artists=(old,)))
    job = await session.listening.renaming.rename_artist(artist(old)[1], other)
    made: dict[Key, Attributes] = {}

    async def come_back() -> None:
        watch.move(LEASE_TIME + timedelta(seconds=1))
        await store.run_jobs("second")
        await add(session.audio, f"b{calls}", "Rye", old, album="Grain")
        await star(session, artist(old), 1)
        await session.playlists.writing.create("New", rule=rule(artists=(old,)))
        made.update(await rows_without_jobs(store))

    paused = PausedTable(store.table, come_back, calls=calls)
    await replace(store, table=paused).run_jobs("first")
    if paused.left >= 0:
        return False
    (ended,) = await find_jobs(store.table, [job.id])
    assert ended is not None
    assert ended.state is JobState.DONE
    standing = (await session.playlists.reading.one(mix.id)).rule
    assert standing is not None
    assert standing.filter.artists == (other,)
    assert await rows_without_jobs(store) == made, f"after {calls} calls"
    return True


async def rows_without_jobs(store: Store) -> dict[Key, Attributes]:
    rows = await contents(store.table)
    return {key: row for key, row in rows.items() if not key.pk.startswith(("J:", "JU:"))}


@on_sqlite
async def test_an_equal_renaming_is_the_same_job_and_eight_can_wait(store: Store) -> None:
    session = open_session(store)
    await shelf(session)
    renaming, place = session.listening.renaming, artist("Mill")[1]
    jobs = [await renaming.rename_artist(place, f"Mill {n}") for n in range(8)]
    assert await renaming.rename_artist(place, "Mill 3") == jobs[3]
    before = await contents(store.table)
    with pytest.raises(Invalid) as caught:
        await renaming.rename_artist(place, "Mill 9")
    assert [problem.code for problem in caught.value.problems] == ["TOO_MANY_JOBS"]
    assert await contents(store.table) == before
    await session.jobs.cancel(jobs[3].id)
    assert (await renaming.rename_artist(place, "Mill 9")).state is JobState.PENDING


@on_sqlite
async def test_what_is_not_there_or_no_name_begins_no_job(store: Store) -> None:
    session = open_session(store)
    await shelf(session)
    theirs = open_session(store, BOB).listening.renaming
    grain = (await album(session, "Grain", "Mill"))[1]
    renaming = session.listening.renaming
    before = await contents(store.table)
    for call in (
        theirs.rename_artist(artist("Mill")[1], "x"),
        theirs.rename_album(grain, "x", None),
        theirs.merge_albums(grain, grain),
        theirs.rename_genre("Folk", "x"),
        renaming.merge_albums(grain, "none:x"),
    ):
        with pytest.raises(NotFound):
            await call
    for call in (
        renaming.rename_artist(artist("Mill")[1], " "),
        renaming.rename_album(grain, "x" * 257, None),
        renaming.rename_album(grain, "x", "a\u200bb"),
        renaming.rename_genre("Folk", "a\nb"),
        renaming.merge_albums(grain, grain),
    ):
        with pytest.raises(Invalid):
            await call
    assert await contents(store.table) == before
