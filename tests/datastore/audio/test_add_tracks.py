"""Additions of tracks are atomic, once for each object, and counted exactly."""

import asyncio
from typing import Any

import pytest

from penstock.datastore.audio.add_tracks import TrackDraft
from penstock.datastore.audio.records import Album, Artist, Audio, AudioLink
from penstock.datastore.errors import Invalid, ObjectTaken
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from tests.datastore.audio.sample_library import BOB, add, draft, drift, library_rows, listener
from tests.support.sample_resources import on_sqlite, without_moto
from tests.support.table_interceptors import TracedTable

ALL = Window(size=1000)


async def test_a_track_is_added_in_one_transaction_with_all_that_lists_it(store: Store) -> None:
    traced = TracedTable(store.table)
    library = listener(Store(traced))
    track = await library.adding.add(
        *draft(
            "b.mp3",
            "Hells Bells",
            "AC/DC",
            album="Back in Black",
            disc=1,
            track=1,
            year=1980,
            genres=("Hard Rock",),
            artwork="c0ffee",
        )
    )
    assert traced.seen == (0, 1, 1)
    assert (track.owner, track.version, track.created_at) == ("ann", 1, track.updated_at)
    assert await library.reading.many([track.id]) == [track]
    (artist,) = (await library.lists.get_artists_by_user_id(ALL)).entries
    assert artist[1] == Artist(id=artist[1].id, name="AC/DC", count=1)
    (album,) = (await library.lists.get_album_by_user_id(ALL)).entries
    assert album[1] == Album(
        id=album[1].id,
        name="Back in Black",
        album_artist="AC/DC",
        count=1,
        duration_ms=180_000,
        year=1980,
        artwork="c0ffee",
    )
    assert await drift(store.table) == []


async def test_a_track_without_any_tag_is_listed_under_the_unknown(store: Store) -> None:
    library = listener(store)
    track = await add(library, "x.mp3")
    artists = await library.lists.get_artists_by_user_id(ALL)
    assert [artist.name for _, artist in artists.entries] == ["[Unknown Artist]"]
    albums = await library.lists.get_album_by_user_id(ALL)
    assert [album.name for _, album in albums.entries] == ["[Unknown Album]"]
    found = await library.lists.get_audio_id_by_user_id_by_album("[unknown album]", ALL)
    link = AudioLink(audio_id=track.id, title="Untitled", duration_ms=180_000)
    assert [each for _, each in found.entries] == [link]


async def test_an_object_is_in_a_library_once(store: Store) -> None:
    library = listener(store)
    track = await add(library, "x.mp3", "First")
    before = await library_rows(store.table)
    with pytest.raises(ObjectTaken) as refused:
        await add(library, "x.mp3", "Second", "Somebody")
    assert refused.value.existing == track.id
    assert await library_rows(store.table) == before


async def test_two_users_may_hold_objects_of_the_same_name(store: Store) -> None:
    mine, theirs = listener(store), listener(store, BOB)
    await add(mine, "x.mp3", "Mine", "A", bucket="shared", connection_id="c")
    before = await library_rows(store.table)
    await add(theirs, "x.mp3", "Theirs", "A", bucket="shared", connection_id="c")
    rows = await library_rows(store.table)
    assert {key: row for key, row in rows.items() if key.pk == "U:ann"} == before
    assert await drift(store.table) == []


@pytest.mark.parametrize(
    "key", ["audio/bob/x.mp3", "audio/ann", "audio/ann2/x.mp3", "pipelines/x", "/audio/ann/x"]
)
@on_sqlite
async def test_an_object_of_ours_under_another_prefix_is_refused(store: Store, key: str) -> None:
    tags, file, _ = draft("x.mp3", object_key=key)
    with pytest.raises(Invalid) as refused:
        await listener(store).adding.add(tags, file)
    assert [(p.path, p.message) for p in refused.value.problems] == [
        (["objectKey"], "must begin with audio/ann/")
    ]
    assert await library_rows(store.table) == {}


@on_sqlite
async def test_every_broken_rule_is_told_and_nothing_is_written(store: Store) -> None:
    bad = draft(
        "x.mp3",
        " ",
        *(["A"] * 17),
        album="x" * 257,
        album_artist="a\x00",
        year=10_000,
        disc=-1,
        track=10_000,
        track_total=10_000,
        genres=("ok", ""),
        recording_mbid="no",
        album_mbid="NO",
        duration_ms=0,
        bucket="",
    )
    with pytest.raises(Invalid) as refused:
        await listener(store).adding.add(*bad)
    assert [".".join(problem.path) for problem in refused.value.problems] == [
        "title",
        "album",
        "albumArtist",
        "recordingMbid",
        "albumMbid",
        "artists",
        "genres.1",
        "disc",
        "track",
        "trackTotal",
        "year",
        "bucket",
        "duration",
    ]
    assert await library_rows(store.table) == {}


@on_sqlite
async def test_names_that_take_long_to_compare_are_refused_unread(store: Store) -> None:
    with pytest.raises(Invalid, match="marks"):
        await add(listener(store), "x.mp3", "t", "a" + "\u0301" * 200)


def albums(*sizes: int, **more: Any) -> list[TrackDraft]:
    return [
        draft(f"{n}-{m}", f"t{m}", f"Artist {n % 3}", album=f"Album {n}", track=m, **more)
        for n, size in enumerate(sizes)
        for m in range(size)
    ]


async def test_many_are_added_by_album_in_as_few_transactions_as_hold_them(store: Store) -> None:
    traced = TracedTable(store.table)
    library = listener(Store(traced))
    drafts = albums(30, 10, 1)
    added = await library.adding.add_many(drafts)
    # 19 tracks of one album are 5 * 19 + 3 operations; the others share the next transactions.
    assert traced.seen == (0, 3, 3)
    assert [track.title for track in added if isinstance(track, Audio)] == [
        draft.tags.title for draft in drafts
    ]
    assert (await library.reading.totals()).count == 41
    assert await drift(store.table) == []


async def test_of_many_those_that_fail_do_so_alone(store: Store) -> None:
    library = listener(store)
    there = await add(library, "0-1", "There already")
    drafts = [*albums(3), draft("0-0", "Twice in one call"), draft("bad", "")]
    outcomes = await library.adding.add_many(drafts)
    first, second, third, twice, bad = outcomes
    assert isinstance(first, Audio)
    assert isinstance(third, Audio)
    assert isinstance(second, ObjectTaken)
    assert second.existing == there.id
    assert isinstance(twice, ObjectTaken)
    assert twice.existing == first.id
    assert isinstance(bad, Invalid)
    assert (await library.reading.totals()).count == 3
    assert await drift(store.table) == []


@on_sqlite
async def test_adding_many_again_adds_nothing_twice(store: Store) -> None:
    library = listener(store)
    drafts = albums(5, 3)
    added = await library.adding.add_many(drafts)
    before = await library_rows(store.table)
    again = await library.adding.add_many(drafts)
    assert [failure.existing for failure in again if isinstance(failure, ObjectTaken)] == [
        track.id for track in added if isinstance(track, Audio)
    ]
    assert await library_rows(store.table) == before


@without_moto
async def test_of_many_who_add_one_object_at_once_one_succeeds(store: Store) -> None:
    library = listener(store)
    outcomes = await asyncio.gather(
        *(add(library, "x.mp3", f"t{n}", f"Artist {n}") for n in range(12)), return_exceptions=True
    )
    (track,) = [outcome for outcome in outcomes if isinstance(outcome, Audio)]
    taken = [outcome for outcome in outcomes if isinstance(outcome, ObjectTaken)]
    assert [failure.existing for failure in taken] == [track.id] * 11
    assert [key.sk for key in await library_rows(store.table) if key.sk.startswith("AU:")] == [
        f"AU:{track.id}"
    ]
    assert await drift(store.table) == []


@without_moto
async def test_many_who_add_to_one_album_at_once_are_all_counted(store: Store) -> None:
    library = listener(store)
    await asyncio.gather(
        *(add(library, f"{n}.mp3", f"t{n}", "A", album="B", track=n) for n in range(12))
    )
    (album,) = (await library.lists.get_album_by_user_id(ALL)).entries
    assert album[1].count == 12
    assert await drift(store.table) == []
