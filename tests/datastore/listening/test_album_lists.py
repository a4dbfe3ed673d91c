"""Albums are listed by their time, year and plays and at random, page by page."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TypeAlias
from weakref import WeakSet

import pytest

from penstock.datastore.audio.records import Album
from penstock.datastore.clock import Clock
from penstock.datastore.listening import album_lists
from penstock.datastore.listening.records import Annotation, Kind, Play
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table import pages
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.table.port import Table
from tests.datastore.audio.sample_library import BOB, add, listener
from tests.datastore.playlists.sample_playlists import open_session
from tests.support.sample_resources import Watch, on_sqlite, walk
from tests.support.table_interceptors import TracedTable

Read: TypeAlias = Callable[[Window], Awaitable[Slice[Album]]]
ALL = Window(size=100)


@pytest.fixture
def store(table: Table, watch: Watch) -> Store:
    return Store(table, Clock(now=watch))


async def shelf(store: Store, watch: Watch) -> tuple[Session, dict[str, str]]:
    """Make four albums, the first of which gets its last track last; return ids by titles."""
    session = open_session(store)
    ids = {}
    for key, album, year in (
        ("a1", "Attic", 1999),
        ("b1", "Barn", 2010),
        ("c1", "Cellar", 0),
        ("b2", "Barn", 2010),
        ("d1", "Den", 2010),
        ("a2", "Attic", 1999),
    ):
        track = await add(session.audio, key, key, "Ada", album=album, year=year)
        ids[key] = track.id
        watch.move(timedelta(minutes=5))
    await add(listener(store, BOB), "x", "x", "Bob", album="Bob's")
    return session, ids


async def names_of(read: Read) -> list[str]:
    """Read a list at once; pages of each size give the same in both directions."""
    found = [album.name for _, album in (await read(ALL)).entries]
    for size in (1, 2):
        for backward in (False, True):
            walked = await walk(read, size, backward=backward)
            assert [album.name for album in walked] == found
    return found


async def play(session: Session, id: str, at: str) -> None:
    started = f"2022-08-10T{at}:00.000Z"
    await session.listening.plays.record(Play(audio_id=id, started_at=started, listened_ms=90_000))


async def test_the_newest_album_is_the_one_with_the_newest_track(
    store: Store, watch: Watch
) -> None:
    session, ids = await shelf(store, watch)
    assert await names_of(session.listening.albums.newest) == ["Attic", "Den", "Barn", "Cellar"]
    await session.audio.editing.delete(ids["a2"])
    assert await names_of(session.listening.albums.newest) == ["Den", "Barn", "Cellar", "Attic"]


@on_sqlite
async def test_a_page_of_newest_albums_goes_on_behind_many_tracks_of_one_album(
    store: Store, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, _ = await shelf(store, watch)
    monkeypatch.setattr(pages, "SEARCHED", 1)
    monkeypatch.setattr(pages, "MAX_SEARCHES", 2)
    assert [album.name for album in await walk(session.listening.albums.newest)] == [
        "Attic",
        "Den",
        "Barn",
        "Cellar",
    ]


async def test_albums_are_listed_by_year_and_those_without_one_come_last(
    store: Store, watch: Watch
) -> None:
    session, _ = await shelf(store, watch)
    assert await names_of(session.listening.albums.by_year) == ["Barn", "Den", "Attic", "Cellar"]


async def test_plays_of_tracks_order_their_albums(store: Store, watch: Watch) -> None:
    session, ids = await shelf(store, watch)
    albums = session.listening.albums
    assert await names_of(albums.most_played) == await names_of(albums.recently_played) == []
    for track, at in (("b1", "10:00"), ("b2", "11:00"), ("d1", "12:00"), ("b1", "09:00")):
        await play(session, ids[track], at)
    await play(session, ids["d1"], "12:00")
    assert await names_of(albums.most_played) == ["Barn", "Den"]
    assert await names_of(albums.recently_played) == ["Den", "Barn"]
    await session.audio.editing.delete(ids["d1"])
    assert await names_of(albums.most_played) == ["Barn"]


async def test_a_random_order_is_drawn_for_a_list_and_kept_through_its_pages(
    store: Store, watch: Watch
) -> None:
    session, _ = await shelf(store, watch)
    albums = session.listening.albums
    whole = [album.name for album in await walk(albums.at_random)]
    assert sorted(whole) == ["Attic", "Barn", "Cellar", "Den"]
    first = await albums.at_random(Window(size=4))
    ((place, _), *_, (last, _)) = first.entries
    rest = await albums.at_random(Window(size=4, after=place))
    assert rest.entries == first.entries[1:]
    before = await albums.at_random(Window(size=4, after=last, backward=True))
    assert before.entries == first.entries[:-1]
    orders = [(await albums.at_random(ALL)).entries[0][1].name for _ in range(60)]
    assert len(set(orders)) > 1


@on_sqlite
async def test_an_order_reads_the_rows_of_albums_at_once(store: Store, watch: Watch) -> None:
    await shelf(store, watch)
    traced = TracedTable(store.table)
    albums = open_session(replace(store, table=traced)).listening.albums
    for read, seen in (
        (albums.by_year, (1, 0, 1)),
        (albums.at_random, (1, 0, 1)),
        (albums.most_played, (1, 0, 1)),
        # the tracks, the rows of the four albums side by side, and the albums
        (albums.newest, (6, 0, 3)),
    ):
        traced.start()
        await read(ALL)
        assert traced.seen == seen


class CountedNote(Annotation, frozen=True, weakref=True):
    """An annotation of which those that are held can be counted."""


async def test_of_many_albums_that_were_played_few_are_held_and_sorted_at_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, most, last = WeakSet[CountedNote](), [0], 2_000

    async def walk_many(*_: object, **__: object) -> AsyncIterator[CountedNote]:
        for n in range(1, last + 1):
            note = CountedNote(kind=Kind.ALBUM, id=f"{n:04}", play_count=n)
            held.add(note)
            yield note
            del note
            most[0] = max(most[0], len(held))

    async def find_even(_: object, ids: Sequence[str]) -> list[str | None]:
        return [None if int(id) % 2 else id for id in ids]

    monkeypatch.setattr(album_lists, "walk_rows", walk_many)
    monkeypatch.setattr(album_lists, "SEARCHED", 10)
    monkeypatch.setattr(album_lists, "MAX_SEARCHES", 4)
    monkeypatch.setattr(pages, "SEARCHED", 10)
    monkeypatch.setattr(pages, "MAX_SEARCHES", 4)
    monkeypatch.setattr(album_lists.AlbumLists, "_existing_albums", find_even)
    page = await open_session(store).listening.albums.most_played(Window(size=10))
    assert [str(id) for _, id in page.entries] == [f"{n:04}" for n in range(last, last - 20, -2)]
    assert page.more
    assert most[0] <= 2 * (10 + 4 * 10 + 1) + 1
