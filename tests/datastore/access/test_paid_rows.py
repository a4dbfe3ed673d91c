"""Callers pay for the rows of lists that are read whole, or searched, for a short page."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias, TypeVar

import pytest
from msgspec import structs

from penstock.datastore.access.access import Budget, CallPayments
from penstock.datastore.access.work import INCLUDED_CALLS, MATCHED_ROWS, READ_ROWS
from penstock.datastore.audio import names
from penstock.datastore.errors import LimitExceeded, NotFound
from penstock.datastore.groups.repository import Groups
from penstock.datastore.listening.records import Kind, Play
from penstock.datastore.listening.ruled_entries import RuledRequest
from penstock.datastore.name_search.words import NameFilter, NameTerm
from penstock.datastore.playlists.change_target import ChangeTarget
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table import items
from penstock.datastore.table.instrumentation import Units
from penstock.datastore.table.pages import Slice, Window, walk_pages
from penstock.datastore.tag_search.tags import TagFilter
from tests.datastore.audio.sample_library import ANN, add
from tests.datastore.listening.sample_rules import make_smart, rule
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    USA,
    caller,
    create_groups,
    make,
    on_sqlite,
    tags,
)
from tests.support.work_account import Account

T = TypeVar("T")

Read: TypeAlias = Callable[[Session], Awaitable[object]]

FEW, MANY = 60, 140
ONE = Window(size=1)


async def fill_library(session: Session, start: int, end: int) -> None:
    """Add tracks, each of an album of its own, of one artist and one more, played and starred."""
    for n in range(start, end):
        track = await add(
            session.audio,
            f"{n}",
            f"Song {n}",
            "Ada",
            f"Guest {n}",
            album=f"Album {n}",
            genres=("Jazz", f"Genre {n}"),
        )
        at = session.audio.lists.access.clock.timestamp()
        await session.listening.plays.record(
            Play(audio_id=track.id, started_at=at, listened_ms=200_000)
        )
        for thing in ((Kind.AUDIO, track.id), (Kind.ALBUM, names.album_place(track))):
            await session.listening.favourites.mark(thing)
        await session.playlists.writing.create(f"Mix {n}")


async def read_all(read: Callable[[Window], Awaitable[Slice[T]]]) -> list[T]:
    """Read a list as music players do: page after page."""
    return [one async for one in walk_pages(read, 50)]


LISTS: dict[str, Read] = {
    "tracks at random": lambda s: s.audio.lists.at_random(None, "seed", ONE),
    "tracks of a genre at random": lambda s: s.audio.lists.at_random("Jazz", "seed", ONE),
    "tracks by a part of the title": lambda s: s.audio.lists.by_title(
        NameFilter(contains="song"), ONE
    ),
    "newest albums": lambda s: s.listening.albums.newest(ONE),
    "albums by year": lambda s: s.listening.albums.by_year(ONE),
    "most played albums": lambda s: s.listening.albums.most_played(ONE),
    "recently played albums": lambda s: s.listening.albums.recently_played(ONE),
    "albums at random": lambda s: s.listening.albums.at_random(ONE),
    "albums of an artist": lambda s: s.audio.browsing.page_of_albums(names.artist_id("Ada"), ONE),
    "smart playlists": lambda s: s.listening.ruled.choose(RuledRequest(make_smart(rule(limit=1)))),
    "all tracks": lambda s: read_all(s.audio.lists.audios),
    "all tracks of a genre": lambda s: read_all(partial(s.audio.lists.by_genre, "Jazz")),
    "all artists": lambda s: read_all(s.audio.lists.get_artists_by_user_id),
    "all albums": lambda s: read_all(s.audio.lists.get_album_by_user_id),
    "all genres": lambda s: read_all(s.audio.lists.genres),
    "all plays": lambda s: read_all(s.listening.plays.page),
    "all annotations": lambda s: read_all(partial(s.listening.annotations.page, Kind.AUDIO)),
    "all favourites": lambda s: read_all(partial(s.listening.favourites.page, Kind.ALBUM)),
    "all playlists": lambda s: read_all(s.playlists.reading.get_playlist_ids_by_user_id),
}


async def price(store: Store, read: Read) -> int:
    """The units of a read beyond those of its operation."""
    await read(store.open_session(ANN, account := Account()))
    return account.taken + account.owed


@on_sqlite
async def test_the_price_of_a_short_page_grows_with_the_rows_of_the_library(store: Store) -> None:
    session = store.open_session(ANN)
    await fill_library(session, 0, FEW)
    few = {name: await price(store, read) for name, read in LISTS.items()}
    await fill_library(session, FEW, MANY)
    grown = {name: await price(store, read) - few[name] for name, read in LISTS.items()}
    assert {name for name, units in grown.items() if units < (MANY - FEW) // READ_ROWS} == set()


@on_sqlite
async def test_entries_of_a_playlist_that_is_searched_whole_are_paid(store: Store) -> None:
    session = store.open_session(ANN)
    made = await session.playlists.writing.create("Mix")
    track = await add(session.audio, "t")
    for _ in range(2):
        await session.playlists.adding.add(ChangeTarget(id=made.id), [track.id] * 90)
    session = store.open_session(ANN, account := Account())
    await session.playlists.reading.entries(await session.playlists.reading.one(made.id), ONE)
    assert account.owed == 0
    with pytest.raises(NotFound):
        await session.playlists.moving.remove(ChangeTarget(id=made.id), [track.id])
    assert account.owed >= (180 - INCLUDED_CALLS) // READ_ROWS


NONE = TagFilter(none=tags("m=a"))
NAMED = NameFilter(contains="h")

SEARCHES: dict[str, ListRequest] = {
    "by name and without a tag": ListRequest(group=NORTHWEST, name=NAMED, tags=NONE),
    "without a tag": ListRequest(group=NORTHWEST, tags=NONE),
    "with and without a tag": ListRequest(
        group=NORTHWEST, tags=TagFilter(all=tags("m=a"), none=tags("m=a"))
    ),
    "below": ListRequest(group=USA, include_child_groups=True, tags=NONE),
}


async def search_price(store: Store, listed: ListRequest, *, counts: bool = False) -> int:
    reader = caller({NORTHWEST: Role.READER, USA: Role.READER})
    session = store.open_session(reader, account := Account())
    if counts:
        await session.pipelines.tag_counter.count_keys(listed)
    else:
        await session.pipelines.listing.page(listed, ONE)
    return account.taken + account.owed


@on_sqlite
async def test_the_price_of_a_search_grows_with_the_rows_that_it_compares(store: Store) -> None:
    store = replace(store, list_budget=Budget(candidates=5))
    session = await create_groups(store)
    searches = [(listed, counts) for listed in SEARCHES.values() for counts in (False, True)]
    searches += [(ListRequest(group=NORTHWEST, name=NAMED), True)]

    async def prices() -> list[int]:
        return [await search_price(store, listed, counts=counts) for listed, counts in searches]

    async def plant(start: int, end: int) -> None:
        for n in range(start, end):
            await make(session, NORTHWEST, f"h{n}", "m=a")

    await plant(0, FEW)
    few = await prices()
    await plant(FEW, MANY)
    many = await prices()
    more = MANY - FEW
    for (listed, counts), before, after in zip(searches, few, many, strict=True):
        compared = more // MATCHED_ROWS if listed.name else 0
        assert after - before >= more // READ_ROWS + compared, (listed, counts)


@on_sqlite
async def test_counters_of_tags_of_which_a_list_reads_several_for_each_are_paid(
    store: Store,
) -> None:
    session = await create_groups(store)

    async def price_of_keys() -> int:
        session = store.open_session(caller({USA: Role.READER}), account := Account())
        await session.pipelines.tags.keys(NORTHWEST, Window(size=MANY))
        await session.pipelines.tags.values("m", None, NORTHWEST, Window(size=MANY))
        return account.owed

    for n in range(FEW):
        await make(session, NORTHWEST, f"h{n}", f"m={n}", f"k{n}=a")
    few = await price_of_keys()
    for n in range(FEW, MANY):
        await make(session, USA, f"h{n}", f"m={n}", f"k{n}=a")
    assert await price_of_keys() - few >= 2 * (MANY - FEW) // READ_ROWS


@on_sqlite
async def test_the_price_of_a_search_tells_nothing_of_what_is_out_of_sight(store: Store) -> None:
    store = replace(store, list_budget=Budget(candidates=5))
    session = await create_groups(store)
    for n in range(FEW):
        await make(session, NORTHWEST, f"h{n}", "m=a")

    async def prices() -> list[int]:
        return [
            await search_price(store, listed, counts=counts)
            for listed in (*SEARCHES.values(), ListRequest(group=NORTHWEST, name=NAMED))
            for counts in (False, True)
        ]

    before = await prices()
    for n in range(FEW):
        await make(session, EU, f"hidden h{n}", "m=a")
    assert await prices() == before


@on_sqlite
async def test_others_have_their_turn_while_many_names_are_compared(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = replace(store, list_budget=Budget(candidates=5))
    session = await create_groups(store)
    for n in range(FEW):
        await make(session, NORTHWEST, f"h{n}", "m=a")
    monkeypatch.setattr(items, "AT_ONCE", 3)
    turn, compared, matches = 0, Counter[int](), NameTerm.matches

    async def count_turns() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    def compare(term: NameTerm, form: str, *rest: object) -> bool:
        compared[turn] += 1
        return matches(term, form, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(NameTerm, "matches", compare)
    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(count_turns())
        for counts in (False, True):
            await search_price(store, SEARCHES["by name and without a tag"], counts=counts)
        await search_price(store, ListRequest(group=NORTHWEST, name=NAMED), counts=True)
        counting.cancel()
    assert compared.total() >= 3 * FEW
    assert max(compared.values()) <= 3 + 1


def test_rows_beyond_those_that_the_operation_paid_are_owed_once() -> None:
    account = Account()
    account.paid = 80
    payments = CallPayments(account, 8, Units())
    payments.note_rows(100)
    assert (account.taken, account.owed) == (0, 0)
    payments.note_rows(READ_ROWS - 1)
    assert account.owed == 0
    payments.note_rows(1)
    assert account.owed == 1
    for _ in range(3):
        payments.note_rows(READ_ROWS * 10)
        payments.end_call()
    assert (account.taken, account.owed) == (0, 31)


async def test_groups_that_are_found_to_be_too_many_are_paid(store: Store) -> None:
    session = await create_groups(store, USA, *[GroupPath(f"{USA}/g{n}") for n in range(120)])
    account = Account()
    access = session.pipelines.reading.access
    budget, payments = Budget(groups=100), CallPayments(account, 2, Units())
    with pytest.raises(LimitExceeded):
        await Groups(structs.replace(access, budget=budget, payments=payments)).subtree(USA)
    assert account.owed >= (100 - INCLUDED_CALLS) // READ_ROWS
