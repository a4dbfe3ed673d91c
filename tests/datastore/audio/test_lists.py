"""The lists of a library are exact, in order, paged, and only the caller's own."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeAlias

import pytest

from penstock.datastore.audio.library import AudioLibrary
from penstock.datastore.audio.names import album_place, artist_place
from penstock.datastore.audio.records import Artist, AudioLink
from penstock.datastore.errors import NotFound
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Slice, Window
from tests.datastore.audio.sample_library import ANN, BOB, add, listener
from tests.support.sample_resources import on_sqlite, walk
from tests.support.table_interceptors import TracedTable

Page: TypeAlias = Callable[[Window], Awaitable[Slice[Any]]]
ALL = Window(size=1000)


async def shelf(store: Store) -> AudioLibrary:
    """A library of two artists, three albums of which two share a name, and a compilation."""
    library = listener(store)
    for key, title, artists, more in (
        ("1", "Thunderstruck", ("AC/DC",), {"album": "Live", "year": 1992, "track": 1}),
        ("2", "Black", ("AC/DC",), {"album": "Live", "year": 1992, "track": 3}),
        ("3", "Hells Bells", ("AC/DC",), {"album": "Black", "year": 1980, "track": 1}),
        ("4", "Alive", ("The Band", "ac/dc"), {"album": "Live", "year": 1970, "disc": 2}),
        ("5", "Intro", ("The Band",), {"album": "LIVE", "year": 1970, "disc": 1, "track": 9}),
        ("6", "Song", ("Zed",), {"album": "Mix", "compilation": True, "bucket": "mine"}),
    ):
        connection = {"connection_id": "c"} if "bucket" in more else {}
        genres = ("Rock",) if "AC/DC" in artists else ("rock ", "Folk")
        await add(library, key, title, *artists, **more, **connection, genres=genres)
    theirs = listener(store, BOB)
    await add(theirs, "1", "Foreign", "AC/DC", album="Live", genres=("Rock",), bucket="penstock")
    return library


async def titles(library: AudioLibrary, page: Page) -> list[str]:
    """Walk the list with every page size in both directions; return the titles of its tracks."""
    links = (await page(ALL)).entries
    ids = [link.audio_id for _, link in links]
    for size in (1, 2, 4):
        for backward in (False, True):
            walked = await walk(page, size, backward=backward)
            assert [link.audio_id for link in walked] == ids
    tracks = await library.reading.many(ids)
    return [track.title for track in tracks if not isinstance(track, NotFound)]


async def test_tracks_of_an_artist_stand_in_the_order_of_years_albums_and_tracks(
    store: Store,
) -> None:
    library = await shelf(store)
    lists = library.lists
    found = await titles(library, lambda w: lists.get_audio_id_by_user_id_by_artist("ac/Dc ", w))
    assert found == ["Alive", "Hells Bells", "Thunderstruck", "Black"]


async def test_tracks_of_albums_of_one_name_stand_album_by_album(store: Store) -> None:
    library = await shelf(store)
    lists = library.lists
    found = await titles(library, lambda w: lists.get_audio_id_by_user_id_by_album("live", w))
    band, acdc = ["Intro", "Alive"], ["Thunderstruck", "Black"]
    assert found in (band + acdc, acdc + band)
    by_artist = {}
    for _, album in (await lists.get_album_by_user_id(ALL)).entries:
        by_artist[album.album_artist, album.name] = await titles(
            library, partial(lists.by_album, album.id)
        )
    assert by_artist["The Band", "Live"] == band
    assert by_artist["AC/DC", "Live"] == acdc
    assert by_artist["Various Artists", "Mix"] == ["Song"]


async def test_tracks_of_a_bucket_and_all_tracks_are_listed_by_id(store: Store) -> None:
    library = await shelf(store)
    lists = library.lists
    found = await titles(
        library, lambda w: lists.get_audio_id_by_user_id_by_s3bucket_name("mine", w)
    )
    assert found == ["Song"]
    everything = await titles(library, lists.get_audio_id_by_user_id)
    assert sorted(everything) == ["Alive", "Black", "Hells Bells", "Intro", "Song", "Thunderstruck"]


async def test_tracks_of_a_genre_are_listed_newest_first(store: Store) -> None:
    library = await shelf(store)
    lists = library.lists
    assert await titles(library, lambda w: lists.by_genre(" ROCK", w)) == [
        "Song",
        "Intro",
        "Alive",
        "Hells Bells",
        "Black",
        "Thunderstruck",
    ]
    assert await titles(library, lambda w: lists.by_genre("Folk", w)) == ["Song", "Intro", "Alive"]


async def test_a_seed_draws_the_same_order_of_all_tracks_or_of_a_genre_each_time(
    store: Store,
) -> None:
    lists = (await shelf(store)).lists

    def ids_of(page: Slice[AudioLink]) -> list[str]:
        return [link.audio_id for _, link in page.entries]

    everything = sorted(ids_of(await lists.get_audio_id_by_user_id(ALL)))
    rock = sorted(ids_of(await lists.by_genre("rock", ALL)))
    for genre, wanted in ((None, everything), ("ROCK", rock), ("none", [])):
        read = partial(lists.at_random, genre, "monday")
        order = ids_of(await read(ALL))
        assert sorted(order) == wanted
        for size in (1, 2):
            for backward in (False, True):
                walked = await walk(read, size, backward=backward)
                assert [link.audio_id for link in walked] == order
        others = {tuple(ids_of(await lists.at_random(genre, f"{n}", ALL))) for n in range(60)}
        assert (len(others) > 1) is bool(wanted)


async def test_without_a_seed_each_list_has_its_own_order_and_its_pages_belong_together(
    store: Store,
) -> None:
    lists = (await shelf(store)).lists
    read = partial(lists.at_random, None, None)
    assert len({link.audio_id for link in await walk(read)}) == 6
    orders = {tuple(link.audio_id for _, link in (await read(ALL)).entries) for _ in range(60)}
    assert len(orders) > 1


async def test_whole_tracks_are_listed_by_when_they_were_added(store: Store) -> None:
    lists = (await shelf(store)).lists
    newest = ["Song", "Intro", "Alive", "Hells Bells", "Black", "Thunderstruck"]
    for size in (1, 2, 1000):
        found = await walk(lists.audios, size)
        assert [track.title for track in found] == newest
        oldest = await walk(lambda w: lists.audios(w, newest_first=False), size)
        assert [track.title for track in oldest] == newest[::-1]


@pytest.mark.parametrize(
    ("prefix", "names"),
    [
        ("", ["AC/DC 4", "The Band 2", "Various Artists 1", "Zed 1"]),
        ("b", ["The Band 2"]),
        ("The B", ["The Band 2"]),
        ("AC/d", ["AC/DC 4"]),
        ("a%", []),
        ("bandit", []),
    ],
)
@on_sqlite
async def test_artists_are_listed_once_with_their_counts_and_found_by_prefix(
    store: Store, prefix: str, names: list[str]
) -> None:
    lists = (await shelf(store)).lists
    for size in (1, 2, 1000):
        found = await walk(lambda w: lists.get_artists_by_user_id(w, prefix), size)
        assert [f"{artist.name} {artist.count}" for artist in found] == names


async def test_albums_and_genres_are_listed_once_with_their_counts(store: Store) -> None:
    lists = (await shelf(store)).lists
    albums = await walk(lists.get_album_by_user_id)
    assert sorted((a.name, a.album_artist, a.count, a.year) for a in albums) == [
        ("Black", "AC/DC", 1, 1980),
        ("Live", "AC/DC", 2, 1992),
        ("Live", "The Band", 2, 1970),
        ("Mix", "Various Artists", 1, 0),
    ]
    assert [album.name for album in await walk(lambda w: lists.get_album_by_user_id(w, "LI"))] == [
        "Live",
        "Live",
    ]
    genres = await walk(lists.genres)
    assert [(genre.name, genre.count) for genre in genres] == [("Folk", 3), ("Rock", 6)]
    assert [genre.name for genre in await walk(lambda w: lists.genres(w, "r"))] == ["Rock"]


async def test_nothing_of_another_user_is_seen_or_named(store: Store) -> None:
    library = await shelf(store)
    theirs = listener(store, BOB)
    (foreign,) = [link.audio_id for link in await walk(theirs.lists.get_audio_id_by_user_id)]
    unheard = "018f3b6e-0000-7000-8000-000000000001"
    answers = await library.reading.many([foreign, unheard, "no id"])
    assert [repr(answer) for answer in answers] == [
        repr(NotFound("There is no audio with this id."))
    ] * 3
    assert {track.owner for track in await walk(library.lists.audios)} == {"ann"}
    stranger = listener(store, type(ANN)("a", {}))
    for page in (
        stranger.lists.get_audio_id_by_user_id,
        stranger.lists.audios,
        stranger.lists.get_artists_by_user_id,
        stranger.lists.get_album_by_user_id,
        stranger.lists.genres,
    ):
        assert (await page(ALL)).entries == ()


@on_sqlite
async def test_each_use_case_of_the_document_is_one_request(store: Store) -> None:
    library = await shelf(store)
    track = (await library.lists.audios(ALL)).entries[0][1]
    traced = TracedTable(store.table)
    mine = listener(Store(traced))
    lists = mine.lists
    window = Window(size=50)
    for call in (
        lambda: mine.reading.get_audio_files_by_audio_id(track.id),
        lambda: lists.get_audio_id_by_user_id(window),
        lambda: lists.get_audio_id_by_user_id_by_artist("AC/DC", window),
        lambda: lists.get_audio_id_by_user_id_by_album("Live", window),
        lambda: lists.get_audio_id_by_user_id_by_s3bucket_name("mine", window),
        lambda: lists.get_artists_by_user_id(window),
        lambda: lists.get_album_by_user_id(window),
    ):
        traced.start()
        await call()
        assert traced.seen == (1, 0, 1)


@on_sqlite
async def test_artists_and_albums_are_read_by_their_places_in_one_request(store: Store) -> None:
    library = await shelf(store)
    tracks = [track for _, track in (await library.lists.audios(ALL)).entries]
    traced = TracedTable(store.table)
    reading = listener(Store(traced)).reading
    found = await reading.albums([album_place(track) for track in tracks])
    assert [album.name for album in found if not isinstance(album, NotFound)] == [
        "Mix",
        "Live",
        "Live",
        "Black",
        "Live",
        "Live",
    ]
    assert traced.seen == (1, 0, 1)
    known, unknown = await reading.artists([artist_place("ac/dc"), artist_place("Nobody")])
    assert isinstance(known, Artist)
    assert (known.name, known.count) == ("AC/DC", 4)
    assert isinstance(unknown, NotFound)


@on_sqlite
async def test_an_album_id_that_is_none_lists_nothing(store: Store) -> None:
    lists = (await shelf(store)).lists
    for id in ("", "x", "x" * 32, ":" * 32):
        assert (await lists.by_album(id, ALL)).entries == ()
