"""Edits and deletes of tracks: their list rows change with them, and counts stay exact."""

import asyncio
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from penstock.datastore.audio.records import Audio, Tags
from penstock.datastore.errors import Invalid, NotFound, ObjectTaken, VersionConflict
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.audio.sample_library import BOB, add, draft, drift, library_rows, listener
from tests.support.sample_resources import on_sqlite, without_moto
from tests.support.table_interceptors import InterruptedTable, TracedTable

ALL = Window(size=1000)


async def artist_counts(store: Store) -> dict[str, int]:
    page = await listener(store).lists.get_artists_by_user_id(ALL)
    return {artist.name: artist.count for _, artist in page.entries}


async def test_an_edit_of_tags_is_one_read_and_one_transaction(store: Store) -> None:
    library = listener(store)
    track = await add(library, "1", "Old", "A", album="X", year=1970, genres=("Rock", "Pop"))
    await add(library, "2", "Other", "A", album="X", genres=("Rock",))
    traced = TracedTable(store.table)
    changes = {
        "title": "New",
        "artists": ("B", "C"),
        "album": "Y",
        "year": 1971,
        "genres": ("Pop", "Jazz"),
        "track": 4,
    }
    edited = await listener(Store(traced)).editing.edit(track.id, changes, 1)
    assert traced.seen == (1, 1, 2)
    assert (edited.title, edited.artists, edited.version) == ("New", ("B", "C"), 2)
    assert await library.reading.many([track.id]) == [edited]
    assert await artist_counts(store) == {"A": 1, "B": 1, "C": 1}
    assert await drift(store.table) == []


async def test_a_name_nobody_carries_any_more_is_listed_no_longer(store: Store) -> None:
    library = listener(store)
    track = await add(library, "1", "t", "A", album="X", genres=("Rock",))
    await library.editing.edit(track.id, {"artists": ("B",), "album": None, "genres": ()})
    assert await artist_counts(store) == {"B": 1}
    assert (await library.lists.genres(ALL)).entries == ()
    assert await drift(store.table) == []


async def test_a_stale_edit_changes_nothing(store: Store) -> None:
    library = listener(store)
    track = await add(library, "1", "t", "A")
    await library.editing.edit(track.id, {"title": "u"}, 1)
    before = await library_rows(store.table)
    with pytest.raises(VersionConflict) as refused:
        await library.editing.edit(track.id, {"title": "v"}, 1)
    assert refused.value.current_version == 2
    with pytest.raises(VersionConflict):
        await library.editing.delete(track.id, 1)
    assert await library_rows(store.table) == before


@on_sqlite
async def test_an_edit_of_nothing_is_no_version(store: Store) -> None:
    library = listener(store)
    track = await add(library, "1", "t", "A")
    before = await library_rows(store.table)
    assert await library.editing.edit(track.id, {"artists": ("A",)}) == track
    assert await library_rows(store.table) == before


@on_sqlite
async def test_an_edit_that_breaks_a_rule_changes_nothing(store: Store) -> None:
    library = listener(store)
    track = await add(library, "1", "t", "A")
    before = await library_rows(store.table)
    with pytest.raises(Invalid):
        await library.editing.edit(track.id, {"title": "", "year": 10_000})
    assert await library_rows(store.table) == before


@on_sqlite
async def test_the_largest_edit_there_is_fits_in_one_transaction(store: Store) -> None:
    library = listener(store)
    track = await add(
        library,
        "1",
        "t",
        *(f"A{n}" for n in range(16)),
        album="X",
        album_artist="X",
        genres=tuple(f"g{n}" for n in range(6)),
    )
    changes = {
        "artists": tuple(f"B{n}" for n in range(16)),
        "album": "Y",
        "album_artist": "Y",
        "genres": tuple(f"h{n}" for n in range(6)),
    }
    await library.editing.edit(track.id, changes)
    assert await drift(store.table) == []


async def test_a_deleted_track_leaves_nothing(store: Store) -> None:
    library = listener(store)
    track = await add(library, "1", "t", "A", "B", album="X", genres=("Rock",))
    other = await add(library, "2", "t", "A", album="X")
    assert await library.editing.delete(track.id, 1) == track
    assert await artist_counts(store) == {"A": 1}
    assert await drift(store.table) == []
    with pytest.raises(NotFound):
        await library.editing.delete(track.id)
    await library.editing.delete(other.id)
    assert await library_rows(store.table) == {}
    again = await add(library, "1", "t")
    assert again.id != track.id


async def test_a_foreign_track_is_absent_for_every_write(store: Store) -> None:
    track = await add(listener(store), "1", "t", "A")
    before = await library_rows(store.table)
    theirs = listener(store, BOB)
    for call in (
        theirs.editing.edit(track.id, {"title": "mine"}, 1),
        theirs.editing.delete(track.id),
        theirs.editing.edit("no id", {"title": "mine"}),
        theirs.reading.get_audio_files_by_audio_id(track.id),
    ):
        with pytest.raises(NotFound, match="There is no audio with this id"):
            await call
    assert await library_rows(store.table) == before


async def test_the_album_shows_the_year_and_the_cover_that_came_last(store: Store) -> None:
    library = listener(store)
    track = await add(library, "1", "t", "A", album="X")
    await add(library, "2", "t", "A", album="X", artwork="aa", year=1970)
    (album,) = (await library.lists.get_album_by_user_id(ALL)).entries
    assert (album[1].year, album[1].artwork) == (1970, "aa")
    await library.editing.edit(track.id, {"year": 1971})
    (album,) = (await library.lists.get_album_by_user_id(ALL)).entries
    assert (album[1].year, album[1].artwork) == (1971, "aa")


@without_moto
async def test_edits_at_once_without_a_version_are_all_made(store: Store) -> None:
    library = listener(store)
    track = await add(library, "1", "t", "A")
    changes: list[dict[str, Any]] = [
        {"title": "u"},
        {"artists": ("B",)},
        {"album": "X"},
        {"genres": ("g",)},
        {"year": 1999},
    ]
    await asyncio.gather(*(library.editing.edit(track.id, change) for change in changes))
    (after,) = await library.reading.many([track.id])
    assert isinstance(after, Audio)
    assert (after.title, after.artists, after.album, after.genres, after.year, after.version) == (
        "u",
        ("B",),
        "X",
        ("g",),
        1999,
        6,
    )
    assert await drift(store.table) == []


@on_sqlite
async def test_an_edit_and_a_delete_that_meet_leave_no_rest(store: Store) -> None:
    library = listener(store)
    track = await add(library, "1", "t", "A", album="X")
    between = InterruptedTable(store.table, lambda: library.editing.edit(track.id, {"album": "Y"}))
    await listener(Store(between)).editing.delete(track.id)
    assert await library_rows(store.table) == {}
    track = await add(library, "1", "t", "A", album="X")
    between = InterruptedTable(store.table, lambda: library.editing.delete(track.id))
    with pytest.raises(NotFound):
        await listener(Store(between)).editing.edit(track.id, {"album": "Y"})
    assert await library_rows(store.table) == {}


def any_tags(random: Random) -> dict[str, Any]:
    """Tags with few names, so that tracks share artists, albums and genres."""
    return {
        "title": random.choice("tu"),
        "artists": tuple(random.sample(["A", "a", "The A", "B:#", "C"], random.randrange(4))),
        "album": random.choice([None, "X", "x ", "Y%"]),
        "album_artist": random.choice([None, "A", "D"]),
        "compilation": random.random() < 0.2,
        "year": random.choice([0, 1970]),
        "track": random.randrange(3),
        "genres": tuple(random.sample(["Rock", "rock", "Pop"], random.randrange(3))),
    }


@on_sqlite
@pytest.mark.parametrize("seed", range(3))
async def test_any_history_leaves_rows_and_counts_exact(store: Store, seed: int) -> None:
    random = Random(seed)
    libraries = {user: listener(store, Caller(user, {})) for user in ("a", "a-b")}
    tracks: list[Audio] = []
    for n in range(60):
        user = random.choice(tuple(libraries))
        mine = [track for track in tracks if track.owner == user]
        what = random.random()
        if what < 0.5 or not mine:
            key = draft(str(n % 20), user=user, duration_ms=1 + random.randrange(9)).file
            with suppress(ObjectTaken):
                tracks.append(await libraries[user].adding.add(Tags(**any_tags(random)), key))
        elif what < 0.8:
            await libraries[user].editing.edit(random.choice(mine).id, any_tags(random))
        else:
            gone = random.choice(mine)
            tracks.remove(gone)
            await libraries[user].editing.delete(gone.id)
        if n % 10 == 9:
            assert await drift(store.table) == []
    for user, library in libraries.items():
        mine = [track for track in tracks if track.owner == user]
        assert (await library.reading.totals()).count == len(mine)


async def listed_names(store: Store) -> dict[str, list[str]]:
    lists = listener(store).lists
    artists, albums, genres = (
        await lists.get_artists_by_user_id(ALL),
        await lists.get_album_by_user_id(ALL),
        await lists.genres(ALL),
    )
    return {
        "artists": [artist.name for _, artist in artists.entries],
        "albums": [f"{album.name} by {album.album_artist}" for _, album in albums.entries],
        "genres": [genre.name for _, genre in genres.entries],
    }


async def test_an_edit_corrects_the_spelling_of_each_listed_name(store: Store) -> None:
    library = listener(store)
    track = await add(library, "1", "t", "abba", album="gold", genres=("pop",))
    other = await add(library, "2", "u", "abba", album="gold", genres=("pop",))
    spelled = {"artists": ["abba"], "albums": ["gold by abba"], "genres": ["pop"]}
    assert await listed_names(store) == spelled
    for changes, corrected in (
        ({"artists": ("ABBA",)}, {"artists": ["ABBA"], "albums": ["gold by ABBA"]}),
        ({"album": "Gold"}, {"albums": ["Gold by ABBA"]}),
        ({"genres": ("Pop",)}, {"genres": ["Pop"]}),
        ({"album_artist": "Abba"}, {"albums": ["Gold by Abba"]}),
        ({"artists": ("ABBA",), "duration_ms": 7}, {}),
    ):
        await library.editing.edit(track.id, changes)
        spelled |= corrected
        assert await listed_names(store) == spelled
    await library.editing.delete(other.id)
    assert await listed_names(store) == spelled
    assert await drift(store.table) == []


@on_sqlite
async def test_a_track_that_is_added_or_edited_elsewhere_leaves_the_spelling(store: Store) -> None:
    library = listener(store)
    await add(library, "1", "t", "ABBA", album="Gold", genres=("Pop",))
    spelled = {"artists": ["ABBA"], "albums": ["Gold by ABBA"], "genres": ["Pop"]}
    track = await add(library, "2", "u", "abba", album="gold", genres=("pop",))
    assert await listed_names(store) == spelled
    await library.editing.edit(track.id, {"title": "v", "year": 1974})
    assert await listed_names(store) == spelled
    await library.editing.edit(track.id, {"artists": ("x",), "album": "y", "genres": ()})
    await library.editing.edit(
        track.id, {"artists": ("aBBa",), "album": "gOld", "genres": ("pOp",)}
    )
    assert await listed_names(store) == spelled
    assert await drift(store.table) == []
