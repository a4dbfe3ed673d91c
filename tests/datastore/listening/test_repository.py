"""Annotations, plays, positions and queues are exact, and private to their listener."""

from asyncio import gather
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.errors import Invalid, LimitExceeded, NotFound
from penstock.datastore.listening.records import Annotation, Favourite, Kind, Play, PlayQueue
from penstock.datastore.listening.repository import Listening
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.layout import PLAY_QUEUE
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Table, Update
from tests.datastore.audio.sample_library import draft
from tests.datastore.playlists.sample_playlists import (
    ABSENT,
    ANN,
    BOB,
    add_tracks,
    make_mix,
    open_session,
)
from tests.support.consistency_check import contents
from tests.support.sample_resources import Watch, on_sqlite, walk, without_moto

NOW = "2022-08-10T23:55:20.322Z"
MINUTE = timedelta(minutes=1)


@pytest.fixture
def store(table: Table, watch: Watch) -> Store:
    return Store(table, Clock(now=watch))


async def songs(session: Session, count: int = 1) -> list[tuple[Kind, str]]:
    return [(Kind.AUDIO, id) for id in await add_tracks(session, count)]


async def marks(listening: Listening, kind: Kind = Kind.AUDIO) -> list[Favourite]:
    return await walk(lambda window: listening.favourites.page(kind, window))


async def test_a_favourite_is_listed_by_its_date_until_it_is_none(
    store: Store, watch: Watch
) -> None:
    session = open_session(store)
    listening = session.listening
    things = await songs(session, 3)
    playlist, _ = await make_mix(session, 1)
    for thing in (*things, (Kind.PLAYLIST, playlist.id)):
        _, marked = await listening.favourites.mark(thing)
        assert (marked.id, marked.favourite_at) == (thing[1], store.clock.timestamp())
        watch.move(MINUTE)
    listed = await marks(listening)
    assert [each.id for each in listed] == [id for _, id in reversed(things)]
    assert listed[-1] == Favourite(kind=Kind.AUDIO, id=things[0][1], at=NOW)
    assert [each.id for each in await marks(listening, Kind.PLAYLIST)] == [playlist.id]
    assert (await listening.favourites.mark(things[0]))[1].favourite_at == NOW
    for _ in range(2):
        assert (await listening.favourites.unmark(things[1]))[1].favourite_at is None
    assert [each.id for each in await marks(listening)] == [things[2][1], things[0][1]]
    backwards = await walk(
        lambda window: listening.favourites.page(Kind.AUDIO, window), backward=True
    )
    assert backwards == await marks(listening)


@without_moto
async def test_marking_and_unmarking_at_once_leaves_mark_and_list_agreeing(store: Store) -> None:
    session = open_session(store)
    (thing,) = await songs(session)
    favourites = session.listening.favourites
    for _ in range(5):
        calls: list[Callable[[Any], Awaitable[object]]] = [favourites.mark, favourites.unmark]
        await gather(*(call(thing) for call in calls * 4))
        (kept,) = await session.listening.annotations.many([thing])
        assert [each.at for each in await marks(session.listening)] == (
            [kept.favourite_at] if kept.favourite_at else []
        )


async def test_a_rating_is_1_to_5_or_none(store: Store) -> None:
    session = open_session(store)
    (thing,) = await songs(session)
    annotations = session.listening.annotations
    assert (await annotations.rate(thing, None))[1].rating is None
    for rating in (5, 1):
        assert (await annotations.rate(thing, rating))[1].rating == rating
    before = await contents(store.table)
    for rating in (0, 6, -1):
        with pytest.raises(Invalid) as caught:
            await annotations.rate(thing, rating)
        assert caught.value.path == ["rating"]
    assert await contents(store.table) == before
    assert (await annotations.rate(thing, None))[1].rating is None


def play(thing: tuple[Kind, str], at: str = NOW, ms: int = 500) -> Play:
    return Play(audio_id=thing[1], started_at=at, listened_ms=ms)


async def test_a_play_is_counted_once_for_its_track_and_time(store: Store) -> None:
    session = open_session(store)
    first, second = await songs(session, 2)
    plays = session.listening.plays
    for _ in range(3):
        _, kept, counts = await plays.record(play(first))
        assert (kept.play_count, kept.last_played_at, counts) == (1, NOW, True)
    earlier = "2022-08-10T23:00:00.000Z"
    _, kept, _ = await plays.record(play(first, earlier))
    assert (kept.play_count, kept.last_played_at) == (2, NOW)
    _, kept, _ = await plays.record(play(second, ms=501))
    assert kept.play_count == 1
    listed = await walk(plays.page)
    assert {each.audio_id for each in listed[:2]} == {first[1], second[1]}
    assert listed[2] == play(first, earlier)
    assert await walk(plays.page, 2, backward=True) == listed


@without_moto
async def test_one_play_told_by_many_at_once_is_one_play(store: Store) -> None:
    session = open_session(store)
    (thing,) = await songs(session)
    times = [f"2022-08-10T23:0{n}:00.000Z" for n in range(4)]
    await gather(*(open_session(store).listening.plays.record(play(thing, at)) for at in times * 3))
    (kept,) = await session.listening.annotations.many([thing])
    assert (kept.play_count, kept.last_played_at) == (4, times[-1])
    assert len(await walk(session.listening.plays.page)) == 4


@on_sqlite
async def test_half_of_a_track_or_four_minutes_count_and_less_leaves_no_trace(store: Store) -> None:
    session = open_session(store)
    (short,) = await songs(session)
    hour = draft("hour.mp3", "Hour", duration_ms=3_600_000)
    long = (await session.audio.adding.add(*hour)).id
    before = await contents(store.table)
    for id, ms in ((short[1], 499), (long, 239_999), (short[1], 0)):
        _, kept, counts = await session.listening.plays.record(play((Kind.AUDIO, id), ms=ms))
        assert (kept, counts) == (Annotation(kind=Kind.AUDIO, id=id), False)
    assert await contents(store.table) == before
    for id, ms in ((short[1], 500), (long, 240_000)):
        _, kept, counts = await session.listening.plays.record(play((Kind.AUDIO, id), ms=ms))
        assert (kept.play_count, counts) == (1, True)


@on_sqlite
async def test_a_play_that_cannot_be_is_refused(store: Store) -> None:
    session = open_session(store)
    (thing,) = await songs(session)
    before = await contents(store.table)
    for odd, path in (
        (play(thing, "2022-08-10T23:56:20.323Z"), ["startedAt"]),
        (play(thing, ms=-1), ["listenedMs"]),
    ):
        with pytest.raises(Invalid) as caught:
            await session.listening.plays.record(odd)
        assert caught.value.path == path
    assert await contents(store.table) == before
    _, _, counts = await session.listening.plays.record(play(thing, "2022-08-10T23:56:20.322Z"))
    assert counts


async def test_the_place_in_a_track_is_kept_until_there_is_none(store: Store) -> None:
    session = open_session(store)
    (thing,) = await songs(session)
    annotations = session.listening.annotations
    _, kept = await annotations.set_position(thing[1], 1_000)
    assert (kept.position_ms, kept.position_at) == (1_000, NOW)
    before = await contents(store.table)
    for odd in (-1, 1_001):
        with pytest.raises(Invalid) as caught:
            await annotations.set_position(thing[1], odd)
        assert caught.value.path == ["positionMs"]
    assert await contents(store.table) == before
    _, kept = await annotations.set_position(thing[1], None)
    assert (kept.position_ms, kept.position_at) == (None, None)


async def test_the_queue_is_what_was_saved_last(store: Store) -> None:
    session = open_session(store)
    queue = session.listening.queue
    assert await queue.get() == PlayQueue()
    first, second = await add_tracks(session, 2)
    saved = await queue.save([first, second, first], 2, 500)
    wanted = PlayQueue(audio_ids=(first, second, first), index=2, position_ms=500, updated_at=NOW)
    assert saved == wanted
    assert await queue.get() == wanted
    assert await open_session(store, BOB).listening.queue.get() == PlayQueue()
    before = await contents(store.table)
    for odd, path in (
        (([first], 1, 0), ["index"]),
        (([first], -1, 0), ["index"]),
        (([], 1, 0), ["index"]),
        (([first], 0, -1), ["positionMs"]),
        (([first], 0, 2**31), ["positionMs"]),
        ((["x"], 0, 0), ["audioIds"]),
    ):
        with pytest.raises(Invalid) as caught:
            await queue.save(*odd)
        assert caught.value.path == path
    (theirs,) = await add_tracks(open_session(store, BOB), 1)
    before = await contents(store.table)
    for foreign in (theirs, ABSENT):
        with pytest.raises(NotFound) as missing:
            await queue.save([first, foreign, second], 0, 0)
        assert (missing.value.path, missing.value.positions) == (["audioIds"], (1,))
    with pytest.raises(LimitExceeded) as passed:
        await queue.save([first] * 1_001, 0, 0)
    assert (passed.value.maximum, passed.value.path) == (1_000, ["audioIds"])
    assert await contents(store.table) == before
    assert (await queue.save([first] * 1_000, 999, 0)).index == 999
    assert (await queue.save([], 0, 0)).audio_ids == ()


async def test_a_position_that_an_earlier_release_saved_is_one_that_can_be_shown(
    store: Store,
) -> None:
    queue = open_session(store).listening.queue
    await queue.save([], 0, 2**31 - 1)
    key = PLAY_QUEUE.key(user=ANN.user_id)
    await store.table.transact([Update(key=key, set={"positionMs": 2**31})])
    assert (await queue.get()).position_ms == 2**31 - 1


async def test_what_is_anothers_is_told_as_what_is_not_there_and_keeps_nothing(
    store: Store,
) -> None:
    session = open_session(store)
    (song,) = await songs(session)
    playlist, _ = await make_mix(session, 1)
    await session.listening.favourites.mark(song)
    before = await contents(store.table)
    other = open_session(store, BOB).listening
    for kind, ids in (
        (Kind.AUDIO, (song[1], ABSENT, "no id", "x" * 2_000)),
        (Kind.PLAYLIST, (playlist.id, ABSENT, "no id", "x" * 2_000)),
    ):
        for id in ids:
            calls: list[Awaitable[object]] = [
                other.favourites.mark((kind, id)),
                other.favourites.unmark((kind, id)),
                other.annotations.rate((kind, id), 3),
            ]
            if kind is Kind.AUDIO:
                calls.append(other.annotations.set_position(id, 1))
                calls.append(other.plays.record(play((kind, id))))
            for call in calls:
                with pytest.raises(NotFound):
                    await call
    assert await other.annotations.many([song]) == [Annotation(kind=Kind.AUDIO, id=song[1])]
    assert await marks(other) == []
    assert (await other.plays.page(Window())).entries == ()
    assert await contents(store.table) == before
