"""Smart playlists hold exactly the tracks of their rule, in its order, and read what they must."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import msgspec
import pytest

from penstock.datastore.access.work import matching_units
from penstock.datastore.audio import names
from penstock.datastore.clock import Clock
from penstock.datastore.listening import ruled_entries
from penstock.datastore.listening.records import Annotation, Kind
from penstock.datastore.listening.rule_matching import FilterMatcher, TrackForms
from penstock.datastore.listening.ruled_entries import (
    COMPARED_AT_ONCE,
    NAMES_OF_A_ROW,
    RuledEntries,
    RuledRequest,
)
from penstock.datastore.playlists.records import Entry
from penstock.datastore.playlists.rules import PlaylistRule, TrackFilter, TrackOrder
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.table.port import Table
from tests.datastore.audio.sample_library import ANN, BOB, add, listener
from tests.datastore.listening.sample_rules import choose, letters, make_smart, rule, shelve
from tests.support.sample_resources import Watch, on_sqlite, walk
from tests.support.table_interceptors import TracedTable
from tests.support.work_account import Account

FOLK = TrackFilter(genres=("folk",))
STARRED = TrackFilter(favourite=True)


@pytest.fixture
def store(table: Table, watch: Watch) -> Store:
    return Store(table, Clock(now=watch))


FILTERS: list[tuple[dict[str, Any], str]] = [
    ({}, "abcde"),
    ({"genres": ("FOLK",)}, "ab"),
    ({"genres": ("folk", "Rock")}, "abe"),
    ({"genres": ("none",)}, ""),
    ({"artists": ("ZOË",)}, "bc"),
    ({"artists": ("abel", "zoë")}, "abc"),
    ({"artists": ("various artists",)}, "e"),
    ({"albums": ("GRAIN",)}, "ab"),
    ({"albums": ("[Unknown Album]", "wood")}, "cde"),
    ({"title_contains": "pal"}, "d"),
    ({"title_contains": "elan"}, "e"),
    ({"title_starts_with": "the c"}, "c"),
    ({"title_starts_with": "c"}, ""),
    ({"path": "WOOD/"}, "cd"),
    ({"path": ".flac"}, "ab"),
    ({"from_year": 1987, "to_year": 2001}, "abd"),
    ({"to_year": 2001}, "abd"),
    ({"from_year": 2002}, "e"),
    ({"favourite": True}, "ae"),
    ({"favourite": False}, "bcd"),
    ({"min_rating": 2}, "bd"),
    ({"max_rating": 2}, "acde"),
    ({"min_rating": 1, "max_rating": 4}, "d"),
    ({"min_plays": 1}, "ab"),
    ({"max_plays": 0}, "cde"),
    ({"min_plays": 2, "max_plays": 3}, "a"),
    ({"played_within_days": 3}, "b"),
    ({"played_within_days": 4}, "ab"),
    ({"played_since": "2022-08-18T23:55:20.322Z"}, "b"),
    ({"added_within_days": 7}, "e"),
    ({"added_since": "2022-08-13T23:55:20.322Z"}, "de"),
    ({"any_of": (STARRED, TrackFilter(min_rating=5))}, "abe"),
    ({"any_of": (FOLK, TrackFilter(genres=("rock",)))}, "abe"),
    ({"none_of": (FOLK,)}, "cde"),
    ({"none_of": (TrackFilter(min_plays=1),)}, "cde"),
    ({"none_of": (TrackFilter(played_within_days=3),)}, "acde"),
    ({"artists": ("Abel",), "genres": ("jazz",)}, "b"),
    ({"favourite": True, "genres": ("rock",)}, "e"),
    ({"favourite": True, "title_contains": "ash", "from_year": 2000}, "a"),
    ({"path": "wood", "none_of": (TrackFilter(title_contains="palm"),)}, "c"),
    ({"any_of": (TrackFilter(any_of=(STARRED,), none_of=(FOLK,)),)}, "e"),
]


@on_sqlite
async def test_a_filter_finds_exactly_the_tracks_that_match(
    store: Store, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await shelve(store, watch)
    for filter, wanted in FILTERS:
        assert await choose(session, rule(**filter)) == wanted, filter

    async def read_everything(*_: object) -> None:
        return None

    monkeypatch.setattr(RuledEntries, "_narrow", read_everything)
    for filter, wanted in FILTERS:
        assert await choose(session, rule(**filter)) == wanted, filter


ORDERS = {
    TrackOrder.TITLE: "abcde",
    TrackOrder.ARTIST: "badec",
    TrackOrder.ALBUM: "ebadc",
    TrackOrder.YEAR: "ebadc",
    TrackOrder.NEWEST: "edcba",
    TrackOrder.OLDEST: "abcde",
    TrackOrder.MOST_PLAYED: "abcde",
    TrackOrder.LEAST_PLAYED: "cdeba",
    TrackOrder.RECENTLY_PLAYED: "bacde",
    TrackOrder.LEAST_RECENTLY_PLAYED: "cdeab",
    TrackOrder.HIGHEST_RATED: "bdace",
    TrackOrder.LATEST_FAVOURITE: "eabcd",
}


async def test_tracks_stand_in_the_order_of_the_rule_and_only_the_first_are_chosen(
    store: Store, watch: Watch
) -> None:
    session = await shelve(store, watch)
    assert {*ORDERS, TrackOrder.RANDOM} == {*TrackOrder}
    for order, wanted in ORDERS.items():
        assert await choose(session, rule(order)) == wanted, order
        for limit in (1, 2, 4):
            assert await choose(session, rule(order, limit)) == wanted[:limit], order
    jazz = rule(TrackOrder.HIGHEST_RATED, genres=("jazz",))
    assert await choose(session, jazz) == "bd"


async def read(session: Session, rule: PlaylistRule, window: Window) -> Slice[Entry]:
    request = RuledRequest.behind(make_smart(rule), window.after)
    return (await session.listening.ruled.choose(request)).page(window)


async def test_pages_of_each_size_give_the_whole_list_in_both_directions(
    store: Store, watch: Watch
) -> None:
    session = await shelve(store, watch)
    for order in (TrackOrder.MOST_PLAYED, TrackOrder.RANDOM):
        chosen = rule(order, 4)
        whole = await choose(session, chosen)
        assert len({*whole}) == 4
        for size in (1, 3):
            for backward in (False, True):
                walked = await walk(partial(read, session, chosen), size, backward=backward)
                assert letters(walked) == whole


@on_sqlite
async def test_a_seed_draws_one_order_and_without_one_each_day_has_its_own(
    store: Store, watch: Watch
) -> None:
    session = await shelve(store, watch)
    seeded = [PlaylistRule(order=TrackOrder.RANDOM, seed=f"{n}", limit=100) for n in range(60)]
    orders = [await choose(session, each) for each in seeded]
    assert {"".join(sorted(order)) for order in orders} == {"abcde"}
    assert len({*orders}) > 1
    watch.move(timedelta(days=400))
    assert [await choose(session, each) for each in seeded] == orders
    daily, days = rule(TrackOrder.RANDOM), set[str]()
    for _ in range(60):
        first = await choose(session, daily)
        watch.time = watch.time.replace(hour=0)
        assert await choose(session, daily) == first
        days.add(first)
        watch.move(timedelta(days=1))
    assert len(days) > 1


@on_sqlite
async def test_a_walk_at_random_goes_on_in_its_order_on_the_next_day(
    store: Store, watch: Watch
) -> None:
    session = await shelve(store, watch)
    daily = rule(TrackOrder.RANDOM)

    async def read_at_night(window: Window) -> Slice[Entry]:
        watch.move(timedelta(days=1))
        return await read(session, daily, window)

    for _ in range(20):
        assert sorted(letters(await walk(read_at_night, 2))) == list("abcde")


async def test_no_track_and_no_star_of_another_user_is_seen(store: Store, watch: Watch) -> None:
    session = await shelve(store, watch)
    bob = store.open_session(BOB)
    folk = RuledRequest(make_smart(rule(genres=("folk",))))
    assert len((await bob.listening.ruled.choose(folk)).entries) == 5
    starred = RuledRequest(make_smart(rule(favourite=True)))
    assert (await bob.listening.ruled.choose(starred)).entries == ()
    assert len((await session.listening.ruled.choose(folk)).entries) == 2


async def test_an_entry_is_the_track_as_it_is_now(store: Store, watch: Watch) -> None:
    session = await shelve(store, watch)
    smart = RuledRequest(make_smart(rule(favourite=True)))
    first = (await session.listening.ruled.choose(smart)).entries[0]
    assert (first.id, first.title, first.artist) == (first.audio_id, "Ash", "Abel")
    await session.audio.editing.edit(first.id, {"title": "Ash tree", "genres": ("Pop",)})
    (again, _) = chosen = (await session.listening.ruled.choose(smart)).entries
    assert (again.id, again.title) == (first.id, "Ash tree")
    assert sum(entry.duration_ms or 0 for entry in chosen) == 6 * 60_000
    await session.audio.editing.delete(first.id)
    assert len((await session.listening.ruled.choose(smart)).entries) == 1


@on_sqlite
async def test_few_calls_choose_the_entries(store: Store, watch: Watch) -> None:
    await shelve(store, watch)
    traced = TracedTable(store.table)
    session = replace(store, table=traced).open_session(ANN)
    for filter, order, calls in (
        ({}, TrackOrder.TITLE, 1),
        ({"favourite": False}, TrackOrder.TITLE, 2),
        ({}, TrackOrder.MOST_PLAYED, 2),
        ({"genres": ("folk",)}, TrackOrder.TITLE, 2),
        ({"genres": ("folk",)}, TrackOrder.MOST_PLAYED, 3),
        ({"favourite": True}, TrackOrder.MOST_PLAYED, 2),
        ({"title_contains": "ash"}, TrackOrder.TITLE, 2),
    ):
        traced.start()
        await choose(session, rule(order, **filter))
        assert traced.seen == (calls, 0, calls), (filter, order)


@on_sqlite
@pytest.mark.parametrize("few", [0, 1, 100])
async def test_tracks_and_annotations_of_several_pages_are_put_together(
    store: Store, watch: Watch, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    session = await shelve(store, watch)
    monkeypatch.setattr("penstock.datastore.audio.browsing.LINKS", 2)
    monkeypatch.setattr(ruled_entries, "AT_ONCE", 2)
    monkeypatch.setattr(ruled_entries, "FEW", few)
    monkeypatch.setattr(ruled_entries, "SHARE", 2)
    for filter, wanted in FILTERS:
        assert await choose(session, rule(**filter)) == wanted, filter
    for order, wanted in ORDERS.items():
        assert await choose(session, rule(order)) == wanted


def test_a_rule_is_stored_and_read_without_loss() -> None:
    whole = PlaylistRule(
        filter=TrackFilter(
            **{name: value for filter, _ in FILTERS for name, value in filter.items()}
        ),
        order=TrackOrder.RANDOM,
        seed="s",
        limit=7,
    )
    assert msgspec.convert(msgspec.to_builtins(whole), PlaylistRule) == whole


@on_sqlite
@pytest.mark.parametrize(
    ("filter", "wanted"),
    [
        (TrackFilter(from_year=2000), []),
        (TrackFilter(title_contains="other"), []),
        (TrackFilter(genres=("folk",)), ["folk", "Jazz"]),
        (TrackFilter(albums=("flour",)), ["flour", "Grain"]),
    ],
)
async def test_a_filter_normalises_no_names_that_it_does_not_compare(
    store: Store, monkeypatch: pytest.MonkeyPatch, filter: TrackFilter, wanted: list[str]
) -> None:
    track = await add(listener(store), "t", "Rye", "Ada", "Zoë", album="Grain", genres=("Jazz",))
    given: list[str] = []

    def compare(text: str) -> str:
        given.append(text)
        return text.lower()

    monkeypatch.setattr(names, "comparison_form", compare)
    FilterMatcher.of(filter, store.clock.now()).matches_tags(TrackForms(track))
    assert given == wanted


@on_sqlite
async def test_names_of_a_track_are_normalised_once_for_all_filters_and_paid(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    guests = [f"Guest {n}" for n in range(15)]
    track = await add(listener(store), "t", "Rye", "Ada", *guests, genres=("Jazz", "Folk"))
    within = tuple(TrackFilter(artists=(f"x{n}",)) for n in range(18))
    other = TrackFilter(any_of=(TrackFilter(genres=("jazz",)),))
    session = store.open_session(ANN, account := Account())
    matcher = FilterMatcher.of(TrackFilter(none_of=(*within, other)), store.clock.now())
    given: list[str] = []

    def compare(one: str) -> str:
        given.append(one)
        return one.lower()

    monkeypatch.setattr(names, "comparison_form", compare)
    assert not matcher.matches(TrackForms(track), Annotation(kind=Kind.AUDIO, id=track.id))
    assert sorted(given) == sorted(["Ada", *guests, "Ada", "Jazz", "Folk"])
    assert matcher.count_names(track) == len(given)
    smart = make_smart(rule(none_of=within))
    assert len((await session.listening.ruled.choose(RuledRequest(smart))).entries) == 1
    assert account.owed == matching_units(1 + 17 // NAMES_OF_A_ROW)


@on_sqlite
@pytest.mark.parametrize("narrow", [False, True])
async def test_long_names_are_compared_in_short_turns(
    store: Store, monkeypatch: pytest.MonkeyPatch, narrow: bool
) -> None:
    library, signs = listener(store), "abcdefgh"
    for n in range(30):
        await add(library, f"{n}", "Rye", *(one * 250 for one in signs), genres=("Jazz",))
    turn, given = 0, Counter[int]()

    async def count_turns() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    def compare(text: str) -> str:
        given[turn] += len(text)
        return text.lower()

    monkeypatch.setattr(names, "comparison_form", compare)
    none = TrackFilter(artists=("nobody",))
    smart = make_smart(rule(none_of=(none,), genres=("Jazz",) if narrow else ()))
    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(count_turns())
        found = await store.open_session(ANN).listening.ruled.choose(RuledRequest(smart))
        counting.cancel()
    assert len(found.entries) == 30
    assert sum(given.values()) > 30 * 2_000
    assert max(given.values()) < COMPARED_AT_ONCE + 5_000
