"""Browsing a library by players: artists, albums, tracks, genres."""

import pytest

from tests.server.opensubsonic.players import Player

pytestmark = pytest.mark.usefixtures("library")


async def artists_of(player: Player) -> dict[str, str]:
    index = (await player.ask("getArtists"))["artists"]["index"]
    return {each["name"]: each["id"] for letter in index for each in letter["artist"]}


async def test_artists_stand_under_their_first_letter_without_the_article(player: Player) -> None:
    said = (await player.ask("getArtists"))["artists"]
    shown = [
        (letter["name"], [each["name"] for each in letter["artist"]]) for letter in said["index"]
    ]
    assert shown == [
        ("A", ["Abel"]),
        ("M", ["The Mill"]),
        ("V", ["Various Artists"]),
        ("Z", ["Zoë"]),
    ]
    assert said["ignoredArticles"].split() == sorted(said["ignoredArticles"].split())
    indexes = (await player.ask("getIndexes"))["indexes"]
    assert [
        (letter["name"], [each["name"] for each in letter["artist"]]) for letter in indexes["index"]
    ] == shown


async def test_an_artist_has_the_albums_of_all_their_tracks_by_year(player: Player) -> None:
    ids = await artists_of(player)
    mill = (await player.ask("getArtist", id=ids["The Mill"]))["artist"]
    assert (mill["name"], mill["albumCount"]) == ("The Mill", 2)
    assert [(album["name"], album["year"], album["songCount"]) for album in mill["album"]] == [
        ("Flour", 1999, 1),
        ("Grain", 2001, 2),
    ]
    zoe = (await player.ask("getArtist", id=ids["Zoë"]))["artist"]
    assert [album["name"] for album in zoe["album"]] == ["Grain", "Harvest"]


async def test_an_album_has_its_tracks_in_order_and_each_leads_back(player: Player) -> None:
    ids = await artists_of(player)
    (_, grain) = (await player.ask("getArtist", id=ids["The Mill"]))["artist"]["album"]
    album = (await player.ask("getAlbum", id=grain["id"]))["album"]
    assert [song["title"] for song in album["song"]] == ["Wheat", "Rye & <Oats>"]
    assert (album["songCount"], album["duration"], album["artist"]) == (2, 360, "The Mill")
    assert album["created"] == album["song"][0]["created"]
    song = (await player.ask("getSong", id=album["song"][1]["id"]))["song"]
    assert song == album["song"][1]
    assert (song["albumId"], song["parent"], song["artistId"]) == (
        grain["id"],
        grain["id"],
        ids["The Mill"],
    )
    assert [artist["id"] for artist in song["artists"]] == [ids["The Mill"], ids["Zoë"]]
    assert (song["duration"], song["suffix"], song["contentType"]) == (180, "mp3", "audio/mpeg")


async def test_genres_have_their_counts(player: Player) -> None:
    genres = (await player.ask("getGenres"))["genres"]["genre"]
    assert [(genre["value"], genre["songCount"]) for genre in genres] == [("Folk", 3), ("Jazz", 1)]


async def test_what_is_not_there_and_what_is_anothers_are_answered_alike(player: Player) -> None:
    for call, ids in {
        "getArtist": ("ar-" + "a" * 16, "ar-", "al-" + "a" * 32, "nonsense"),
        "getAlbum": ("al-" + "a" * 32, "al-", "al-\x00", "ar-" + "a" * 16, "nonsense"),
        "getSong": ("018f3b6e-0000-7000-8000-000000000001", "nonsense", "al-" + "a" * 32),
    }.items():
        answers = [await player.fail(call, id=id) for id in ids]
        assert {code for code, _ in answers} == {70}
        assert len({words for _, words in answers}) == 1
        assert (await player.fail(call))[0] == 10
