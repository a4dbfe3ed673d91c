"""Rules of smart playlists are checked as a whole, and decide alone on the entries."""

from typing import Any

import pytest

from penstock.datastore.errors import Invalid, NotFound, VersionConflict
from penstock.datastore.playlists.change_target import ChangeTarget
from penstock.datastore.playlists.rules import (
    MAX_FILTERS,
    MAX_NAMES,
    PlaylistRule,
    TrackFilter,
    TrackOrder,
)
from penstock.datastore.store import Store
from tests.datastore.playlists.sample_playlists import BOB, add_tracks, drift, open_session
from tests.support.consistency_check import contents
from tests.support.sample_resources import on_sqlite

RULE = PlaylistRule(filter=TrackFilter(genres=("Folk",)), order=TrackOrder.TITLE, limit=10)
OTHER = PlaylistRule(order=TrackOrder.RANDOM, seed="s", limit=1)
STARRED = TrackFilter(favourite=True)


def problems_of(**fields: Any) -> list[tuple[str, str]]:
    given: dict[str, Any] = {"order": TrackOrder.TITLE, "limit": 10, **fields}
    with pytest.raises(Invalid) as caught:
        PlaylistRule(**given).require_valid()
    assert all(problem.path[0] == "rule" for problem in caught.value.problems)
    return [(".".join(problem.path[1:]), problem.message) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({"limit": 0}, "limit", "must be 1 to 10000"),
        ({"limit": 10_001}, "limit", "must be 1 to 10000"),
        ({"seed": "s"}, "seed", "can be used with the order RANDOM only"),
        ({"seed": "", "order": TrackOrder.RANDOM}, "seed", "must not be empty"),
    ],
)
def test_a_rule_with_a_problem_is_refused(fields: Any, path: str, message: str) -> None:
    assert problems_of(**fields) == [(path, message)]


@pytest.mark.parametrize(
    ("fields", "path", "message"),
    [
        ({"genres": ("",)}, "genres.0", "must not be empty"),
        ({"artists": ("a", "x" * 257)}, "artists.1", "is longer than 256 characters"),
        ({"albums": ("a",) * (MAX_NAMES + 1)}, "albums", "at most 20 are allowed"),
        ({"title_contains": "!"}, "titleContains", "has no letter and no digit"),
        ({"title_starts_with": ""}, "titleStartsWith", "must not be empty"),
        (
            {"title_starts_with": "a", "title_contains": "b"},
            "titleStartsWith",
            "cannot be used together with titleContains",
        ),
        ({"path": ""}, "path", "must not be empty"),
        ({"from_year": -1}, "fromYear", "must be 0 to 9999"),
        ({"from_year": 2, "to_year": 1}, "toYear", "must not be below fromYear"),
        ({"max_rating": 6}, "maxRating", "must be 0 to 5"),
        ({"min_plays": -1}, "minPlays", "must be 0 to 1000000000"),
        ({"played_within_days": 0}, "playedWithinDays", "must be 1 to 36500"),
        ({"added_within_days": 36_501}, "addedWithinDays", "must be 1 to 36500"),
        ({"any_of": (TrackFilter(),)}, "anyOf.0", "must have a condition"),
        (
            {"none_of": (STARRED, TrackFilter(max_plays=-1))},
            "noneOf.1.maxPlays",
            "must be 0 to 1000000000",
        ),
        ({"any_of": (STARRED,) * MAX_FILTERS}, "", "has 21 filters; at most 20 are allowed"),
    ],
)
def test_a_filter_with_a_problem_is_refused_with_its_place(
    fields: Any, path: str, message: str
) -> None:
    assert problems_of(filter=TrackFilter(**fields)) == [(f"filter.{path}".rstrip("."), message)]


def test_all_problems_are_told_at_once() -> None:
    filter = TrackFilter(to_year=10_000, any_of=(TrackFilter(genres=("",)),))
    paths = [path for path, _ in problems_of(filter=filter, limit=0, seed="s")]
    assert paths == ["limit", "seed", "filter.toYear", "filter.anyOf.0.genres.0"]


async def test_a_smart_playlist_is_made_once_renamed_ruled_anew_and_deleted(store: Store) -> None:
    session = open_session(store)
    writing, reading = session.playlists.writing, session.playlists.reading
    made = await writing.create("Folk", "key", RULE)
    assert (made.rule, made.version, made.entry_count) == (RULE, 1, 0)
    assert await reading.one(made.id) == made
    assert await writing.create("Folk", "key", RULE) == made
    with pytest.raises(Invalid):
        await writing.create("Folk", "key", OTHER)
    renamed = await writing.rename(made.id, "Airs")
    assert (renamed.name, renamed.rule, renamed.version) == ("Airs", RULE, 2)
    changed = await writing.set_rule(made.id, OTHER, 2)
    assert (changed.rule, changed.version) == (OTHER, 3)
    assert await writing.set_rule(made.id, OTHER) == changed
    assert await reading.one(made.id) == changed
    assert await drift(store.table) == []
    await session.playlists.deleting.delete(made.id)
    with pytest.raises(NotFound):
        await reading.one(made.id)
    assert await drift(store.table) == []


@on_sqlite
async def test_a_refused_rule_changes_nothing(store: Store) -> None:
    session, bob = open_session(store), open_session(store, BOB)
    writing = session.playlists.writing
    smart, plain = await writing.create("Smart", rule=RULE), await writing.create("Plain")
    before = await contents(store.table)
    wrong = PlaylistRule(order=TrackOrder.TITLE, limit=0)
    with pytest.raises(Invalid):
        await writing.create("Wrong", rule=wrong)
    with pytest.raises(Invalid):
        await writing.set_rule(smart.id, wrong)
    with pytest.raises(VersionConflict):
        await writing.set_rule(smart.id, OTHER, 7)
    with pytest.raises(NotFound):
        await bob.playlists.writing.set_rule(smart.id, OTHER)
    with pytest.raises(Invalid, match="no smart playlist"):
        await writing.set_rule(plain.id, RULE)
    assert await contents(store.table) == before


@on_sqlite
async def test_nobody_adds_moves_or_removes_entries_of_a_smart_playlist(store: Store) -> None:
    session = open_session(store)
    smart = await session.playlists.writing.create("Smart", rule=RULE)
    (track,) = await add_tracks(session, 1)
    target, before = ChangeTarget(id=smart.id), await contents(store.table)
    for call in (
        session.playlists.adding.add(target, [track]),
        session.playlists.adding.add(target, [track], skip_duplicates=True),
        session.playlists.moving.move(target, [track]),
        session.playlists.moving.remove(target, [track]),
    ):
        with pytest.raises(Invalid, match="whose rule decides") as caught:
            await call
        assert caught.value.path == ["id"]
    assert await contents(store.table) == before
