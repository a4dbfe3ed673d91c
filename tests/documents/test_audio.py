"""The access patterns of the audio document and of its design, one test for each row."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.access.vault import LocalVault
from penstock.datastore.audio.artwork.cover_sizes import SizedCover
from penstock.datastore.audio.endpoint_rules import EndpointRules
from penstock.datastore.audio.library import AudioLibrary, BucketAccess
from penstock.datastore.audio.names import album_key, album_place_of, artist_place
from penstock.datastore.audio.records import Album
from penstock.datastore.audio.transcoding.formats import StreamFormat, choose_conversion
from penstock.datastore.errors import NotFound, ObjectTaken
from penstock.datastore.listening.records import Play
from penstock.datastore.name_search.words import NameFilter
from penstock.datastore.objects.port import Credentials
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Slice, Window
from tests.datastore.audio.sample_library import ANN, BOB, draft, drift, listener
from tests.datastore.audio.sample_transcoder import CountedTranscoder, key_behind
from tests.datastore.audio.sample_uploads import (
    COVER,
    TAGS,
    open_files,
    single_chunk,
    sound,
    upload_and_register,
)
from tests.support.sample_resources import walk
from tests.support.table_interceptors import TracedTable

KEYS = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG")


async def shelf(store: Store) -> AudioLibrary:
    """Make two albums of Ann's, and one of Bob's with the same names."""
    library = listener(store)
    tracks = [
        draft(f"{n}", f"t{n}", "AC/DC", album=("Live", "Black")[n % 2], track=n, genres=("Rock",))
        for n in range(4)
    ]
    await library.adding.add_many(tracks)
    theirs = draft("0", "theirs", "AC/DC", album="Live", user="bob", genres=("Rock",))
    await listener(store, BOB).adding.add(*theirs)
    return library


async def titles(
    store: Store, page: Callable[[AudioLibrary, Window], Awaitable[Slice[Any]]]
) -> list[str]:
    """Read Ann's list in one request, and again one track at a time."""
    traced = TracedTable(store.table)
    library = listener(replace(store, table=traced))
    found = [each for _, each in (await page(library, Window(size=50))).entries]
    assert traced.seen == (1, 0, 1)
    assert await walk(lambda window: page(library, window)) == found
    ids = [getattr(each, "audio_id", getattr(each, "id", "")) for each in found]
    tracks = await library.reading.many(ids)
    return [track.title for track in tracks if not isinstance(track, NotFound)]


async def test_use_case_1(store: Store) -> None:
    """getAudioFilesByAudioId"""
    library = await shelf(store)
    ((_, track), *_) = (await library.lists.audios(Window())).entries
    assert await library.reading.get_audio_files_by_audio_id(track.id) == track
    with pytest.raises(NotFound):
        await listener(store, BOB).reading.get_audio_files_by_audio_id(track.id)


async def test_use_case_2(store: Store) -> None:
    """getAudioIdByUserId"""
    await shelf(store)
    found = await titles(store, lambda library, w: library.lists.get_audio_id_by_user_id(w))
    assert sorted(found) == ["t0", "t1", "t2", "t3"]


async def test_use_case_3(store: Store) -> None:
    """getAudioIdByUserIdByArtist"""
    await shelf(store)
    found = await titles(
        store, lambda library, w: library.lists.get_audio_id_by_user_id_by_artist("ac/dc", w)
    )
    assert sorted(found) == ["t0", "t1", "t2", "t3"]


async def test_use_case_4(store: Store) -> None:
    """getAudioIdByUserIdByAlbum"""
    await shelf(store)
    found = await titles(
        store, lambda library, w: library.lists.get_audio_id_by_user_id_by_album("Live", w)
    )
    assert found == ["t0", "t2"]


async def test_use_case_5(store: Store) -> None:
    """getAudioIdByUserIdByS3bucketName"""
    await shelf(store)
    found = await titles(
        store,
        lambda library, w: library.lists.get_audio_id_by_user_id_by_s3bucket_name("penstock", w),
    )
    assert sorted(found) == ["t0", "t1", "t2", "t3"]


async def test_use_case_6(store: Store) -> None:
    """getArtistsByUserId"""
    library = await shelf(store)
    (artist,) = await walk(library.lists.get_artists_by_user_id)
    assert (artist.name, artist.count) == ("AC/DC", 4)


async def test_use_case_7(store: Store) -> None:
    """getAlbumByUserId"""
    library = await shelf(store)
    albums = await walk(library.lists.get_album_by_user_id)
    assert [(album.name, album.count) for album in albums] == [("Black", 2), ("Live", 2)]


async def test_adding(store: Store) -> None:
    """add audio"""
    traced = TracedTable(store.table)
    library = listener(replace(store, table=traced))
    track = await library.adding.add(*draft("x", "t", "A"))
    assert traced.seen == (0, 1, 1)
    with pytest.raises(ObjectTaken):
        await library.adding.add(*draft("x"))
    assert await library.reading.many([track.id]) == [track]


async def test_adding_albums(store: Store) -> None:
    """add audio of whole albums"""
    traced = TracedTable(store.table)
    library = listener(replace(store, table=traced))
    theirs = {"bucket": "mine", "connection_id": "c"}
    await library.adding.add_many(
        [draft(f"{n}", f"t{n}", "A", album="B", **theirs) for n in range(16)]
    )
    assert traced.seen == (0, 1, 1)
    assert await drift(store.table) == []


async def test_editing(store: Store) -> None:
    """edit the tags of audio"""
    library = await shelf(store)
    ((_, track), *_) = (await library.lists.audios(Window())).entries
    await library.editing.edit(track.id, {"album": "New"}, track.version)
    albums = await walk(library.lists.get_album_by_user_id)
    assert [album.name for album in albums] == ["Black", "Live", "New"]
    assert await drift(store.table) == []


async def test_deleting(store: Store) -> None:
    """delete audio"""
    library = await shelf(store)
    for track in await walk(library.lists.audios):
        await library.editing.delete(track.id)
    assert await walk(library.lists.get_artists_by_user_id) == []
    assert await drift(store.table) == []


async def test_newest(store: Store) -> None:
    """list audio by when it came"""
    await shelf(store)
    found = await titles(store, lambda library, w: library.lists.audios(w, newest_first=False))
    assert sorted(found) == ["t0", "t1", "t2", "t3"]


async def test_genre(store: Store) -> None:
    """list audio of a genre"""
    await shelf(store)
    found = await titles(store, lambda library, w: library.lists.by_genre("rock", w))
    assert sorted(found) == ["t0", "t1", "t2", "t3"]


async def test_title(store: Store) -> None:
    """list audio by a part of the title"""
    library = listener(store)
    for n, title in enumerate(("Nightwish", "Good Night", "Knight")):
        await library.adding.add(*draft(f"{n}", title))
    named = NameFilter(contains="NIGHT")
    read = partial(library.lists.by_title, named, newest_first=False)
    assert [track.title for track in await walk(read)] == ["Nightwish", "Good Night"]


async def test_getting_albums(store: Store) -> None:
    """get albums by id"""
    library = await shelf(store)
    albums = await walk(library.lists.get_album_by_user_id)
    traced = TracedTable(store.table)
    browsing = listener(replace(store, table=traced)).browsing
    assert await browsing.albums([album.id for album in albums]) == albums
    assert traced.seen == (3, 0, 2)
    theirs = listener(store, BOB).browsing
    assert await theirs.album(albums[1].id) != albums[1]
    for id in (albums[0].id, "a" * 32, "nonsense"):
        with pytest.raises(NotFound):
            await theirs.album(id)


async def test_getting_artists(store: Store) -> None:
    """get artists by id"""
    library = await shelf(store)
    await library.adding.add(*draft("z", "t", "Zoë", album="Live"))
    artists = await walk(library.lists.get_artists_by_user_id)
    traced = TracedTable(store.table)
    browsing = listener(replace(store, table=traced)).browsing
    assert await browsing.artists([artist.id for artist in artists]) == artists
    assert traced.seen == (4, 0, 3)
    for id in (artists[1].id, "a" * 16, "nonsense"):
        with pytest.raises(NotFound):
            await listener(store, BOB).browsing.artist(id)


async def test_artist_by_name(store: Store) -> None:
    """get an artist by name"""
    library = await shelf(store)
    (artist,) = await walk(library.lists.get_artists_by_user_id)
    traced = TracedTable(store.table)
    by_name = listener(replace(store, table=traced)).by_name
    assert await by_name.artist(" ac/dc") == artist
    assert traced.seen == (1, 0, 1)
    with pytest.raises(NotFound):
        await by_name.artist("AC")


async def test_album_by_name(store: Store) -> None:
    """get an album by its name and its artist"""
    library = await shelf(store)
    await library.adding.add(*draft("9", "t9", "Bon", album="Live"))
    await library.adding.add(*draft("10", "t10", "AC/DC", album="Live at home"))
    albums = {album_place_of(each): each for each in await walk(library.lists.get_album_by_user_id)}
    traced = TracedTable(store.table)
    by_name = listener(replace(store, table=traced)).by_name
    for artist, count in (("ac/dc", 2), ("BON", 1)):
        found = await by_name.album("LIVE", artist)
        assert (found.count, albums[album_place_of(found)]) == (count, found)
    assert traced.seen == (2, 0, 2)
    for name, artist in (("Live", "AC"), ("Liv", "AC/DC"), ("Black", "Bon")):
        with pytest.raises(NotFound):
            await by_name.album(name, artist)


async def test_genre_by_name(store: Store) -> None:
    """get a genre by name"""
    library = await shelf(store)
    (genre,) = await walk(library.lists.genres)
    traced = TracedTable(store.table)
    by_name = listener(replace(store, table=traced)).by_name
    assert await by_name.genre("rock") == genre
    assert traced.seen == (1, 0, 1)
    with pytest.raises(NotFound):
        await by_name.genre("Roc")


async def test_albums_of_an_artist(store: Store) -> None:
    """list the albums of an artist"""
    library = await shelf(store)
    (artist,) = await walk(library.lists.get_artists_by_user_id)
    traced = TracedTable(store.table)
    browsing = listener(replace(store, table=traced)).browsing
    albums = await browsing.albums_of(artist.id)
    assert albums == await walk(library.lists.get_album_by_user_id)
    assert traced.seen == (2, 0, 2)
    assert await browsing.albums_of("a" * 16) == []
    for backward in (False, True):
        page = partial(browsing.page_of_albums, artist.id)
        for size in (1, 2):
            assert await walk(page, size, backward=backward) == albums
    (theirs,) = await listener(store, BOB).browsing.albums_of(artist.id)
    assert (theirs.name, theirs.count) == ("Live", 1)


async def test_artists_of_an_album(store: Store) -> None:
    """list the artists of an album"""
    library = await shelf(store)
    track = await library.adding.add(*draft("9", "t9", "Bon", album="Live", album_artist="AC/DC"))
    id = album_key(track).id
    found = await walk(lambda window: library.browsing.page_of_artists(id, window))
    assert [artist.name for artist in found] == ["AC/DC", "Bon"]
    assert await walk(lambda window: library.browsing.page_of_artists("none", window)) == []


async def album_names(read: Callable[[Window], Awaitable[Slice[Album]]]) -> list[str]:
    return [album.name for album in await walk(read)]


async def test_newest_albums(store: Store) -> None:
    """list albums by when they came"""
    library = await shelf(store)
    albums = store.open_session(ANN).listening.albums
    assert sorted(await album_names(albums.newest)) == ["Black", "Live"]
    for album in ("Live", "Black"):
        await library.adding.add(*draft(album, "t9", "AC/DC", album=album))
        assert (await album_names(albums.newest))[0] == album


async def test_albums_by_year(store: Store) -> None:
    """list albums by year"""
    library = await shelf(store)
    await library.adding.add(*draft("9", "t9", "AC/DC", album="Live", year=1992))
    albums = store.open_session(ANN).listening.albums
    assert await album_names(albums.by_year) == ["Live", "Black"]


async def test_albums_by_plays(store: Store) -> None:
    """list albums by their plays"""
    library = await shelf(store)
    session = store.open_session(ANN)
    ((_, track), *_) = (await library.lists.audios(Window())).entries
    at = "2022-08-10T23:55:20.322Z"
    await session.listening.plays.record(
        Play(audio_id=track.id, started_at=at, listened_ms=240_000)
    )
    for read in (session.listening.albums.most_played, session.listening.albums.recently_played):
        assert await album_names(read) == [track.album]


async def test_albums_at_random(store: Store) -> None:
    """list albums at random"""
    await shelf(store)
    albums = store.open_session(ANN).listening.albums
    assert sorted(await album_names(albums.at_random)) == ["Black", "Live"]


async def test_tracks_at_random(store: Store) -> None:
    """list audio at random"""
    await shelf(store)
    everything = await titles(store, lambda lib, w: lib.lists.at_random(None, "seed", w))
    of_genre = await titles(store, lambda lib, w: lib.lists.at_random("ROCK", "seed", w))
    assert sorted(everything) == sorted(of_genre) == ["t0", "t1", "t2", "t3"]


async def test_times_of_albums(store: Store) -> None:
    """find when albums came"""
    library = await shelf(store)
    albums = await walk(library.lists.get_album_by_user_id)
    traced = TracedTable(store.table)
    browsing = listener(replace(store, table=traced)).browsing
    found = await browsing.first_tracks([*(album.id for album in albums), "nonsense"])
    assert traced.seen == (2, 0, 1)
    tracks = await library.reading.many([id for id in found if id is not None])
    assert [track.title for track in tracks if not isinstance(track, NotFound)] == ["t1", "t0"]
    assert found[2] is None


async def test_importing(store: Store, tmp_path: Path) -> None:
    """import audio below a prefix"""
    async with open_files("local", tmp_path) as files:
        over = replace(store, files=files)
        await files.write(
            "audio/ann/uploads/1/x.mp3", single_chunk(sound("mp3", 1, TAGS)), content_type="a/b"
        )
        await listener(over).importing.begin(None, "")
        assert await over.run_jobs("worker") == 1
    assert [track.title for track in await walk(listener(store).lists.audios)] == [TAGS.title]


async def test_converting(store: Store, tmp_path: Path) -> None:
    """play audio in another format"""
    async with open_files("local", tmp_path) as files:
        over = replace(store, files=files, transcoder=CountedTranscoder())
        track = await upload_and_register(listener(over), "x.flac", sound("flac", 1, TAGS))
        conversion = choose_conversion(track, StreamFormat.MP3, 96)
        traced = TracedTable(store.table)
        converting = listener(replace(over, table=traced)).converting
        first = await converting.sign(track, conversion)
        # the name, the rows of the copy, the copy under its name, and the name again
        assert traced.seen[:2] == (2, 2)
        traced.start()
        again = await converting.sign(track, conversion)
        assert traced.seen == (1, 0, 1)
        assert key_behind(files, first.url) == key_behind(files, again.url)


async def test_cover_sizes(store: Store, tmp_path: Path) -> None:
    """show a cover in a size"""
    async with open_files("local", tmp_path) as files:
        library = listener(replace(store, files=files))
        content = sound("mp3", 1, TAGS, COVER)
        track = await upload_and_register(library, "x.mp3", content)
        wanted = [SizedCover(str(track.artwork), size) for size in (64, 128)]
        first = await library.cover_sizes.sign_many(wanted)
        traced = TracedTable(store.table)
        again = listener(replace(store, files=files, table=traced)).cover_sizes
        keys = [key_behind(files, each.url) for each in await again.sign_many(wanted)]
        assert keys == [key_behind(files, each.url) for each in first]
        assert traced.seen == (1, 0, 1)


async def test_cover_uploads(store: Store, tmp_path: Path) -> None:
    """give an album a cover"""
    async with open_files("local", tmp_path) as files:
        library = listener(replace(store, files=files))
        await shelf(store)
        key = (await library.covers.uploads.form("x.png")).object_key
        await files.write(key, single_chunk(COVER), content_type="image/png")
        (album, *_) = await walk(library.lists.get_album_by_user_id)
        changed = await library.covers.set_for_album(album_place_of(album), key)
        tracks = [one for one in await walk(library.lists.audios) if one.album == album.name]
        assert {one.artwork for one in tracks} == {changed.artwork} != {None}
        assert await drift(store.table) == []


async def test_removing_a_cover(store: Store, tmp_path: Path) -> None:
    """remove the cover of an album"""
    async with open_files("local", tmp_path) as files:
        library = listener(replace(store, files=files))
        await shelf(store)
        key = (await library.covers.uploads.form("x.png")).object_key
        await files.write(key, single_chunk(COVER), content_type="image/png")
        (album, *_) = await walk(library.lists.get_album_by_user_id)
        await library.covers.set_for_album(album_place_of(album), key)
        bare = await library.removing_covers.remove_from_album(album_place_of(album))
        assert (bare.count, bare.artwork) == (2, None)
        assert {one.artwork for one in await walk(library.lists.audios)} == {None}
        assert await drift(store.table) == []


async def test_renaming(store: Store) -> None:
    """rename an artist, an album or a genre"""
    await shelf(store)
    renaming = store.open_session(ANN).listening.renaming
    await renaming.rename_artist(artist_place("AC/DC"), "Acca Dacca")
    await renaming.rename_genre("rock", "Hard Rock")
    assert await store.run_jobs("worker") == 2
    for track in await walk(listener(store).lists.audios):
        assert (track.artists, track.genres) == (("Acca Dacca",), ("Hard Rock",))
    assert await drift(store.table) == []


async def test_connecting(store: Store) -> None:
    """connect a bucket of one's own"""
    buckets = BucketAccess(LocalVault(b"k" * 32), rules=EndpointRules(private=True))
    library = listener(replace(store, user_buckets=buckets))
    made = await library.connections.add_keys("n", "my-music", "us-east-1", KEYS)
    assert await walk(library.connections.page) == [made]
    assert await library.connections.unseal_keys(made.id) == KEYS
    assert await walk(listener(store, BOB).connections.page) == []


async def test_letting_a_player_in(store: Store) -> None:
    """let a music player in"""
    with_vault = replace(store, user_buckets=BucketAccess(LocalVault(b"k" * 32)))
    made = await with_vault.open_session(ANN).player_passwords.create("Phone")
    traced = TracedTable(store.table)
    (found,) = await replace(with_vault, table=traced).find_player_passwords(ANN.user_id)
    assert traced.seen == (1, 0, 1)
    assert await with_vault.open_player_password(found) == made.text
    assert await with_vault.find_player_passwords(BOB.user_id) == []
