"""Names: their equality, their order, and keys that no two things share."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.audio.derived_rows import object_claim, track_rows
from penstock.datastore.audio.names import (
    SORT_BYTES,
    AlbumKey,
    album_artist,
    album_key,
    album_place,
    artist_id,
    artist_place,
    artists_of,
    genres_of,
    normalize_name,
    object_hash,
    sort_name,
)
from penstock.datastore.audio.object_keys import (
    artwork_key,
    check_file_name,
    is_owned,
    owned_prefix,
    playlist_files_prefix,
    track_key,
    upload_key,
)
from penstock.datastore.audio.records import Tags
from penstock.datastore.audio.tracks import audio_item, audio_of, new_audio
from penstock.datastore.clock import Clock
from penstock.datastore.errors import BadArgument, Invalid
from penstock.datastore.objects.checks import check_key
from penstock.datastore.roles import Caller
from penstock.datastore.table.port import Key, key_of
from penstock.datastore.text import escape
from tests.datastore.audio.sample_library import draft
from tests.datastore.table.test_keys import TEXTS

NAMES = st.text(st.sampled_from("aA-:#% b/é\u0301あTthe"), min_size=1, max_size=8).filter(
    lambda text: bool(text.strip())
)
USERS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8) | (
    st.text(st.sampled_from("ab-./%:#@"), min_size=1, max_size=6)
)


@pytest.mark.parametrize(
    ("name", "sorted_by"),
    [
        ("The Beatles", "beatles"),
        ("  the   BEATLES ", "beatles"),
        ("The", "the"),
        ("A", "a"),
        ("A-ha", "a-ha"),
        ("Los Lobos", "lobos"),
        ("Theatre", "theatre"),
        ("AC/DC", "ac/dc"),
        ("Ｂｊöｒｋ", "björk"),
    ],
)
def test_names_are_sorted_without_a_leading_article(name: str, sorted_by: str) -> None:
    assert sort_name(name) == sorted_by


@pytest.mark.parametrize(
    ("one", "other"),
    [("AC/DC ", "Ac/Dc"), ("Beyonce\u0301", "Beyoncé"), ("A  B", "a b"), ("ﬁn", "fin")],
)
def test_spellings_of_one_name_are_one_artist(one: str, other: str) -> None:
    assert artist_id(one) == artist_id(other)
    assert artist_place(one) == artist_place(other)


def test_an_article_in_front_makes_another_artist_who_is_sorted_alike() -> None:
    assert artist_id("The Band") != artist_id("Band")
    assert artist_place("The Band").partition(":")[0] == artist_place("Band").partition(":")[0]


@pytest.mark.parametrize("letter", ["x", "%", "é", "あ", "\U0001f600"])
def test_a_sort_name_never_fills_the_sort_key(letter: str) -> None:
    cut = sort_name(letter * 2000)
    assert SORT_BYTES - 6 < len(escape(cut).encode()) <= SORT_BYTES
    assert artist_id(letter * 2000) != artist_id(letter * 1999)


def test_letters_keep_their_order_whatever_their_script() -> None:
    names = ["Zebra", "Ähnlich", "あ", "apple"]
    assert sorted(map(artist_place, names)) == [
        artist_place(name) for name in ("apple", "Zebra", "Ähnlich", "あ")
    ]


@given(NAMES, NAMES, NAMES, NAMES)
def test_two_albums_share_an_id_only_where_artist_and_name_are_the_same(
    artist: str, album: str, other_artist: str, other_album: str
) -> None:
    one = Tags(title="t", album=album, album_artist=artist)
    other = Tags(title="t", album=other_album, album_artist=other_artist)
    same = (normalize_name(artist), normalize_name(album)) == (
        normalize_name(other_artist),
        normalize_name(other_album),
    )
    assert (album_key(one) == album_key(other)) == same
    assert (album_key(one).title == album_key(other).title) == (
        normalize_name(album) == normalize_name(other_album)
    )


def test_an_album_is_the_musicbrainz_one_where_that_is_known() -> None:
    mbid = "018f3b6e-0000-7000-8000-000000000001"
    one = Tags(title="t", album="Best", album_artist="A", album_mbid=mbid)
    other = Tags(title="t", album="Best", album_artist="B", album_mbid=mbid)
    assert album_key(one) == album_key(other)
    assert album_key(one) != album_key(Tags(title="t", album="Best", album_artist="A"))


def test_an_album_is_not_told_by_its_date_or_by_a_later_artist() -> None:
    one = Tags(title="t", album="Best", artists=("A", "B"), year=1980)
    other = Tags(title="t", album="Best", artists=("A", "C"), year=1999)
    assert album_key(one) == album_key(other)


@pytest.mark.parametrize(
    ("tags", "listed_under"),
    [
        (Tags(title="t", artists=("A", "B"), album_artist="C"), "C"),
        (Tags(title="t", artists=("A",), compilation=True), "Various Artists"),
        (Tags(title="t", artists=("A", "B")), "A"),
        (Tags(title="t"), "[Unknown Artist]"),
    ],
)
def test_whom_an_album_is_listed_under(tags: Tags, listed_under: str) -> None:
    assert album_artist(tags) == listed_under


def test_a_track_is_listed_once_under_each_artist_and_its_first_spelling() -> None:
    tags = Tags(title="t", artists=("Ac/Dc", "AC/DC", "B"), compilation=True, genres=("a", "A"))
    assert set(artists_of(tags).values()) == {"Ac/Dc", "B", "Various Artists"}
    assert list(genres_of(tags).values()) == ["a"]


def test_an_album_id_is_taken_apart_only_where_it_is_as_long_as_one() -> None:
    key = album_key(Tags(title="t", album="Best"))
    assert AlbumKey.parse(key.id) == key
    assert AlbumKey.parse(key.id[1:]) is None
    assert album_place(Tags(title="t", album="The Best")).startswith("best:")


@given(TEXTS, TEXTS)
def test_different_objects_have_different_hashes(one: str, other: str) -> None:
    assert (object_hash(one) == object_hash(other)) == (one == other)


def keys_of(user: str, artist: str, album: str, bucket: str) -> set[Key]:
    access = Access(None, Caller(user, {}), Clock(), Budget())  # type: ignore[arg-type]
    tags, file, _ = draft("x", "t", artist, album=album, bucket=bucket, genres=(artist,))
    track = new_audio(access, tags, file)
    assert audio_of(audio_item(track)) == track
    own = track_rows(track)
    return {key_of(audio_item(track)), key_of(object_claim(track)), *own.items, *own.counters}


@given(USERS, USERS, NAMES, NAMES, NAMES)
def test_no_two_users_ever_share_a_row(
    one: str, other: str, artist: str, album: str, bucket: str
) -> None:
    meet = keys_of(one, artist, album, bucket) & keys_of(other, artist, album, bucket)
    assert bool(meet) == (one == other)
    assert {key.pk for key in keys_of(one, artist, album, bucket)} == {f"U:{escape(one)}"}


def test_the_collision_of_the_document_is_none() -> None:
    """User `a` and artist `b-c` shared the key `a-b-c` with user `a-b` and artist `c`."""
    assert not keys_of("a", "b-c", "b-c", "b-c") & keys_of("a-b", "c", "c", "c")


@given(USERS, USERS)
def test_the_objects_of_one_user_never_begin_like_those_of_another(one: str, other: str) -> None:
    assert owned_prefix(one).startswith(owned_prefix(other)) == (one == other)
    check_key(f"{owned_prefix(one)}file")


@pytest.mark.parametrize(
    ("user", "prefix"),
    [
        ("ann@example.org", "audio/ann@example.org/"),
        ("a/b", "audio/a%2Fb/"),
        ("..", "audio/%2E%2E/"),
        ("auth0|5", "audio/auth0%7C5/"),
    ],
)
def test_a_user_id_is_one_segment_of_a_file_key(user: str, prefix: str) -> None:
    assert owned_prefix(user) == prefix


@pytest.mark.parametrize("user", ["é" * 255, "%" * 255, "\U0001d11e" * 255, "a" * 255, "ü" * 107])
def test_every_key_of_a_user_with_a_long_id_is_one(user: str) -> None:
    id, name = "018f3b6e-0000-7000-8000-000000000001", "x" * 255
    for key in (
        upload_key(user, id, name),
        track_key(user, id, name),
        f"{playlist_files_prefix(user)}{id}/{name}",
        artwork_key(user, "a" * 64),
    ):
        check_key(key)
        assert is_owned(user, key)
        assert not is_owned(user[1:], key)


@pytest.mark.parametrize("letter", ["a", "é", ".", "a/", "\ud83d"])
def test_a_key_that_is_too_long_is_refused_before_its_letters_are_looked_at(letter: str) -> None:
    with patch("unicodedata.category") as looked_at:
        for refuse, error in ((check_key, BadArgument), (check_file_name, Invalid)):
            with pytest.raises(error, match="has at most 1024 bytes"):
                refuse(letter * 1_025)
        assert not is_owned("ann", f"{owned_prefix('ann')}{letter * 1_025}")
    assert looked_at.call_count == 0
