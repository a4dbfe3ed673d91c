"""Tracks are found by a part of the title, in the library of their listener only."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from penstock.datastore.access.access import Budget
from penstock.datastore.audio.library import AudioLibrary
from penstock.datastore.errors import Invalid
from penstock.datastore.name_search.words import NameFilter
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import MeteredTable
from penstock.datastore.table.layout import AUDIO_WORD
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Put
from tests.datastore.audio.sample_library import ANN, BOB, add, drift, library_rows, listener
from tests.support.sample_resources import on_sqlite, walk, without_moto
from tests.support.work_account import Account

TITLES = ("Thunderstruck", "Hells Bells", "Für Elise", "The Bell", "Bells of Hell (live)")


async def find_titles(library: AudioLibrary, newest_first: bool = False, **part: str) -> list[str]:
    """The titles that a search finds; every way to walk finds the same."""
    title = NameFilter(**part)
    read = partial(library.lists.by_title, title, newest_first=newest_first)
    titles = [track.title for track in await walk(read, 1)]
    for size, backward in ((1, True), (2, False), (100, True)):
        assert [each.title for each in await walk(read, size, backward=backward)] == titles
    return titles


@pytest.mark.parametrize("budget", [Budget(), Budget(candidates=1)], ids=["rare", "common"])
@without_moto
async def test_a_search_finds_titles_by_their_beginning_or_by_beginnings_of_words(
    store: Store, budget: Budget
) -> None:
    library = listener(replace(store, list_budget=budget))
    for n, title in enumerate(TITLES):
        await add(library, f"{n}", title)
    theirs = listener(store, BOB)
    await add(theirs, "1", "Bells of others")
    contains: Mapping[str, list[int]] = {
        "bell": [1, 3, 4],
        "hel bel": [1, 4],
        "fur": [2],
        "unders": [],
        "others": [],
    }
    for text, expected in contains.items():
        assert await find_titles(library, contains=text) == [TITLES[n] for n in expected]
    assert await find_titles(library, newest_first=True, contains="bell") == [
        "Bells of Hell (live)",
        "The Bell",
        "Hells Bells",
    ]
    assert await find_titles(library, starts_with="bells") == ["Bells of Hell (live)"]
    assert await find_titles(library, starts_with="the b") == ["The Bell"]
    assert await find_titles(theirs, contains="bell") == ["Bells of others"]
    assert await drift(store.table) == []


@without_moto
async def test_edits_and_deletes_are_seen_by_the_next_search(store: Store) -> None:
    library = listener(store)
    made = await add(library, "1", "Old song", "Someone", album="Best")
    await library.editing.edit(made.id, {"title": "New song"})
    assert [await find_titles(library, contains=text) for text in ("old", "new", "song")] == [
        [],
        ["New song"],
        ["New song"],
    ]
    await library.removing.delete(made.id)
    assert await find_titles(library, contains="song") == []
    assert [key for key in await library_rows(store.table) if key.sk.startswith("AUW:")] == []
    assert await drift(store.table) == []


@on_sqlite
async def test_a_word_that_a_title_no_longer_has_finds_nothing(store: Store) -> None:
    library = listener(store)
    made = await add(library, "1", "Now")
    stale = AUDIO_WORD.item(user=ANN.user_id, word="before", audio=made.id)
    new_id = store.clock.new_id()
    gone = AUDIO_WORD.item(user=ANN.user_id, word="before", audio=new_id)
    await store.table.transact([Put(stale), Put(gone)])
    assert await find_titles(library, contains="before") == []


@on_sqlite
async def test_a_title_that_can_find_nothing_is_refused(store: Store) -> None:
    with pytest.raises(Invalid, match="has no letter and no digit") as refused:
        await find_titles(listener(store), contains="?")
    assert [problem.path for problem in refused.value.problems] == [["title", "contains"]]


@on_sqlite
async def test_an_edit_of_all_that_a_track_has_fits_one_transaction(store: Store) -> None:
    library = listener(store)

    def names(side: str) -> dict[str, Any]:
        return {
            "title": f"{side} 1 2 3 4 5 6 7 8",
            "album": f"{side} album",
            "album_artist": f"{side} band",
            "artists": tuple(f"{side} artist {n}" for n in range(16)),
            "genres": tuple(f"{side} genre {n}" for n in range(6)),
        }

    old, new = names("old"), names("new")
    made = await add(library, "1", old.pop("title"), *old.pop("artists"), **old)
    await library.editing.edit(made.id, new)
    assert await drift(store.table) == []
    fewer = {**old, "title": "x 1 2 3 4 5 6 7", "artists": tuple(f"a {n}" for n in range(12))}
    await library.editing.edit(made.id, fewer)
    assert await drift(store.table) == []
    assert await find_titles(library, contains="7") == ["x 1 2 3 4 5 6 7"]


@on_sqlite
@pytest.mark.parametrize(("title", "added", "edited"), [("--", 16, 6), ("Hells Bells", 20, 10)])
async def test_each_word_of_a_title_costs_two_units(
    store: Store, title: str, added: float, edited: float
) -> None:
    metered = MeteredTable(store.table)
    library = listener(replace(store, table=metered, shards=1))
    await add(library, "0", "first")
    before = metered.units.wcu
    made = await add(library, "1", title)
    created = metered.units.wcu
    await library.editing.edit(made.id, {"title": "--"} if title != "--" else {"title": "?"})
    assert (created - before, metered.units.wcu - created) == (added, edited)


@on_sqlite
async def test_long_titles_that_are_compared_cost_more_than_short_ones(store: Store) -> None:
    library = listener(store)
    await add(library, "short", "ж")
    await add(library, "long", "ж " * 149 + "ж")

    async def search_price(limit: int) -> int:
        few = replace(store, list_budget=Budget(candidates=limit))
        session = few.open_session(ANN, account := Account())
        await session.audio.lists.by_title(NameFilter(contains="ж"), Window(size=1))
        return account.owed

    # The long title counts as three rows, among the rows of its word and in the list itself.
    assert await search_price(10) == (1 + 3) // 2
    assert await search_price(1) == 3 // 2
