"""A track of a playlist file matches its track in the library in every spelling."""

import unicodedata
from cProfile import Profile
from pstats import Stats
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.datastore.audio.records import Audio, AudioFormat
from penstock.datastore.playlists import track_matching
from penstock.datastore.playlists.formats.document import FileTrack
from penstock.datastore.playlists.track_matching import TrackIndex

ID = "018f3b6e-0000-7000-8000-00000000000{}"


def audio(n: int, key: str, title: str, *artists: str, **more: Any) -> Audio:
    fields: dict[str, Any] = {
        "album": None,
        "bucket": "music",
        "object_key": key,
        "file_name": key.rpartition("/")[2],
        "connection_id": "c",
        "duration_ms": 200_000,
        "format": AudioFormat.MP3,
        "size": 1,
        "etag": "e",
        "version": 1,
        "created_at": "2022-08-10T23:55:20.322Z",
        "updated_at": "2022-08-10T23:55:20.322Z",
        **more,
    }
    return Audio(id=ID.format(n), owner="ann", title=title, artists=artists, **fields)


JOGA = audio(1, "Björk/Homogenic/02 Jóga.mp3", "Jóga", "Björk", album="Homogenic")
LIVE = audio(2, "Björk/Live/07 Jóga.mp3", "Jóga", "Björk", album="Live", duration_ms=310_000)
ONE = audio(3, "a/Various/01.mp3", "One", "U2", "Mary J. Blige")
OTHER = audio(4, "b/Various/01.mp3", "Other", "Abba", album_artist="Various Artists")
TWIN = audio(5, "x/One.mp3", "One", "U2")
ALL = (JOGA, LIVE, ONE, OTHER, TWIN)

FOUND: dict[str, tuple[FileTrack, Audio]] = {
    "our id": (FileTrack(id=ONE.id, location="Björk/Homogenic/02 Jóga.mp3"), ONE),
    "a foreign id and a place": (FileTrack(id=ID.format(9), location=JOGA.object_key), JOGA),
    "the key": (FileTrack(location="Björk/Live/07 Jóga.mp3", title="Other", creator="Abba"), LIVE),
    "bucket and key": (FileTrack(location="s3://music/x/One.mp3"), TWIN),
    "a key in other letters": (FileTrack(location="BJÖRK/homogenic/02 JÓGA.MP3"), JOGA),
    "a key decomposed": (
        FileTrack(location=unicodedata.normalize("NFD", "Björk/Homogenic/02 Jóga.mp3")),
        JOGA,
    ),
    "a path from elsewhere": (FileTrack(location="/mnt/disk/Music/Björk/Live/07 Jóga.mp3"), LIVE),
    "a path of Windows": (FileTrack(location="C:\\Music\\b\\Various\\01.mp3"), OTHER),
    "a relative path": (FileTrack(location="../../a/./Various/01.mp3"), ONE),
    "a URL of a file": (FileTrack(location="file:///m/Bj%C3%B6rk/Live/07%20J%C3%B3ga.mp3"), LIVE),
    "a URL of a server": (FileTrack(location="https://x.example/Various/b/x/One.mp3?t=1#a"), TWIN),
    "artist, title and length": (
        FileTrack(title="jÓGA", creator="bjÖrk", duration_ms=201_000),
        JOGA,
    ),
    "another length": (FileTrack(title="Jóga", creator="BJÖRK ", duration_ms=312_900), LIVE),
    "the album": (FileTrack(title="Jóga", creator="Björk", album="live"), LIVE),
    "one of several artists": (FileTrack(title="One", creator="Mary J. Blige"), ONE),
    "all of several artists": (FileTrack(title="One", creator="U2, Mary J. Blige"), ONE),
    "the album's artist": (FileTrack(title="other", creator="Various Artists"), OTHER),
    "the file name": (FileTrack(location="one.MP3"), TWIN),
    "the file name, of several by title": (
        FileTrack(location="elsewhere/One.mp3", title="One", creator="U2"),
        TWIN,
    ),
    "artist and title, of several of a name": (
        FileTrack(location="elsewhere/01.mp3", title="Other", creator="Abba"),
        OTHER,
    ),
}

NONE: dict[str, tuple[FileTrack, tuple[Audio, ...]]] = {
    "nothing at all": (FileTrack(), ()),
    "another song": (FileTrack(location="c/Two.mp3", title="Two", creator="U2"), ()),
    "a length too far off": (FileTrack(title="Other", creator="Abba", duration_ms=203_001), ()),
    "a title without an artist": (FileTrack(title="Other"), ()),
    "two of a title": (FileTrack(title="One", creator="U2"), (ONE, TWIN)),
    "two of a file name": (FileTrack(location="01.mp3"), (ONE, OTHER)),
    "two of a path's end": (FileTrack(location="/m/Various/01.mp3"), (ONE, OTHER)),
    "two at one length": (FileTrack(title="Jóga", creator="Björk"), (JOGA, LIVE)),
    "a folder": (FileTrack(location="Björk/Live/"), ()),
    "slashes": (FileTrack(location="///"), ()),
}


@pytest.mark.parametrize("by", FOUND)
def test_a_track_is_found_by(by: str) -> None:
    wanted, found = FOUND[by]
    for tracks in (ALL, ALL[::-1]):
        assert TrackIndex(tracks).match(wanted) == (found, ())


@pytest.mark.parametrize("case", NONE)
def test_what_is_no_one_track_is_none_and_its_candidates_are_told(case: str) -> None:
    wanted, candidates = NONE[case]
    found = TrackIndex(ALL).match(wanted)
    assert found.audio is None
    assert found.candidates == candidates


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("by", ["path", "title", "name"])
def test_of_very_many_tracks_that_are_alike_a_step_chooses_none(by: str, more: int) -> None:
    alike = [
        replace(TWIN, id=str(n), object_key=f"{n}/x/y.mp3", file_name="y.mp3")
        for n in range(track_matching.MOST_ALIKE + more)
    ]
    wanted = {
        "path": FileTrack(location="/m/x/y.mp3"),
        "title": FileTrack(title="One", creator="U2"),
        "name": FileTrack(location="/m/y.mp3"),
    }[by]
    found = TrackIndex([*alike, JOGA]).match(wanted)
    assert (found.audio, found.candidates) == (None, () if more else tuple(alike))
    if by == "path":
        by_both = FileTrack(location="/m/x/y.mp3", title="Jóga", creator="Björk")
        assert TrackIndex([*alike, JOGA]).match(by_both).audio == (JOGA if more else None)


def test_the_time_of_a_match_does_not_grow_with_the_tracks_of_its_file_name() -> None:
    """Counted in calls of a profiler: a match takes as many with ten times the tracks."""

    def count_calls(number: int) -> int:
        tracks = [
            replace(TWIN, id=str(n), object_key=f"{n}/y.mp3", file_name="y.mp3")
            for n in range(number)
        ]
        index = TrackIndex(tracks)
        wanted = FileTrack(location="a/y.mp3", title="One", creator="U2", album="b")
        index.match(wanted)
        with Profile() as profile:
            index.match(wanted)
        return Stats(profile).total_calls  # type: ignore[attr-defined, no-any-return]

    assert count_calls(10_000) == count_calls(1_000)


def test_lengths_may_differ_by_three_seconds() -> None:
    for ms in (197_000, 203_000):
        wanted = FileTrack(title="Other", creator="Abba", duration_ms=ms)
        assert TrackIndex(ALL).match(wanted).audio == OTHER
