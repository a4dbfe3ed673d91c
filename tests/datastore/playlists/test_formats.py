"""Playlist files: a written file is read back unchanged, and files of other programs are read."""

import json
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.playlists.formats.document import (
    MAX_DURATION_MS,
    MAX_LOCATION,
    MAX_TEXT,
    FileTrack,
    PlaylistDocument,
    PlaylistFormat,
    location_uri,
    uri_location,
)
from penstock.datastore.playlists.formats.files import read, write

ID = "018f3b6e-0000-7000-8000-000000000001"
ALL = pytest.mark.parametrize("format", PlaylistFormat)

characters = st.characters(exclude_categories=["Cs"])
odd = st.sampled_from(
    ["\n", "\r\n", "\x00", " - ", "#EXTINF:1,x", '"', ",", "]]>", "&", "%20", "../", "\ufeff", ":"]
)
texts = st.one_of(
    st.none(),
    st.text(characters, min_size=1, max_size=40),
    st.lists(st.one_of(odd, st.text(characters, max_size=4)), min_size=1, max_size=6)
    .map("".join)
    .filter(bool),
)
tracks = st.builds(
    FileTrack,
    id=st.none() | st.uuids().map(str),
    location=texts | st.just("audio:x"),
    title=texts,
    creator=texts,
    album=texts,
    duration_ms=st.none() | st.integers(0, MAX_DURATION_MS),
)
titles = st.none() | st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=20
).map(lambda text: " ".join(text.split())).filter(bool)
documents = st.builds(
    PlaylistDocument, title=titles, tracks=st.lists(tracks, max_size=6).map(tuple)
).filter(lambda document: document.title is None or document.title.strip("\ufeff") != "")


@ALL
@given(documents)
def test_what_is_written_is_read_again_as_it_was(
    format: PlaylistFormat, document: PlaylistDocument
) -> None:
    text = write(format, document)
    assert read(format, text) == document
    assert read(format, text.encode()) == document


@ALL
def test_the_longest_texts_there_may_be_come_back(format: PlaylistFormat) -> None:
    long = FileTrack(location="\x01" * MAX_LOCATION, title="\x01" * MAX_TEXT, album="é" * MAX_TEXT)
    document = PlaylistDocument(title="t", tracks=(long,))
    assert read(format, write(format, document)) == document


@given(st.text(characters, max_size=30))
def test_a_path_comes_back_from_its_uri(path: str) -> None:
    assert uri_location(location_uri(path)) == path
    assert location_uri(path).isascii() or "://" in path


MIX = PlaylistDocument(
    title="Road trip",
    tracks=(
        FileTrack(
            id=ID,
            location="Abba/Gold/01 Mamma Mia.mp3",
            title="Mamma Mia",
            creator="Abba",
            album="Gold",
            duration_ms=212_500,
        ),
        FileTrack(id=ID),
        FileTrack(location="http://radio.example/live?a=1"),
        FileTrack(title="AC/DC - Live", creator="A - B", duration_ms=1_000),
    ),
)


def test_m3u8_is_written_as_players_expect_it() -> None:
    assert write(PlaylistFormat.M3U8, MIX).splitlines() == [
        "#EXTM3U",
        "#PLAYLIST:Road trip",
        "#EXTINF:212.500,Abba - Mamma Mia",
        "#EXTART:Abba",
        "#EXTALB:Gold",
        f'#PENSTOCK:{{"id":"{ID}"}}',
        "Abba/Gold/01 Mamma Mia.mp3",
        f"audio:{ID}",
        "http://radio.example/live?a=1",
        "#EXTINF:1,A - B - AC/DC - Live",
        "#EXTART:A - B",
        "audio:",
    ]


def test_xspf_is_written_as_the_specification_has_it() -> None:
    root = ElementTree.fromstring(write(PlaylistFormat.XSPF, MIX))
    spiff = "{http://xspf.org/ns/0/}"
    assert (root.tag, root.get("version")) == (f"{spiff}playlist", "1")
    assert root.findtext(f"{spiff}title") == "Road trip"
    first = root.findall(f"{spiff}trackList/{spiff}track")[0]
    assert {each.tag.removeprefix(spiff): each.text for each in first} == {
        "location": "Abba/Gold/01%20Mamma%20Mia.mp3",
        "identifier": f"audio:{ID}",
        "title": "Mamma Mia",
        "creator": "Abba",
        "album": "Gold",
        "duration": "212500",
    }


def test_jspf_is_written_as_xspf_in_json() -> None:
    found = json.loads(write(PlaylistFormat.JSPF, MIX))["playlist"]
    assert found["title"] == "Road trip"
    assert found["track"][0] == {
        "location": ["Abba/Gold/01%20Mamma%20Mia.mp3"],
        "identifier": [f"audio:{ID}"],
        "title": "Mamma Mia",
        "creator": "Abba",
        "album": "Gold",
        "duration": 212500,
    }
    assert found["track"][2] == {"location": ["http://radio.example/live?a=1"]}


M3U = """#EXTM3U
#PLAYLIST: Mixed

# a comment
#EXTINF:123, Björk - Jóga
../Björk/Jóga.mp3
#EXTINF:-1 tvg-id="a,b" group-title="News, all",The News
http://radio.example/a,b
#EXTVLCOPT:network-caching=1000
C:\\Music\\No tags.mp3
"""
READ = PlaylistDocument(
    title="Mixed",
    tracks=(
        FileTrack(location="../Björk/Jóga.mp3", title="Jóga", creator="Björk", duration_ms=123_000),
        FileTrack(location="http://radio.example/a,b", title="The News"),
        FileTrack(location="C:\\Music\\No tags.mp3"),
    ),
)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_m3u_of_others_is_read_in_any_encoding_and_with_any_line_ends(
    end: str, encoding: str
) -> None:
    text = M3U.replace("\n", end)
    assert read(PlaylistFormat.M3U8, text.encode(encoding)) == READ
    assert read(PlaylistFormat.M3U8, f"\ufeff{text}") == READ


def test_a_list_of_nothing_but_paths_is_a_playlist_too() -> None:
    found = read(PlaylistFormat.M3U8, "a.mp3\n\n  b.mp3  \n")
    assert found == PlaylistDocument(
        tracks=(FileTrack(location="a.mp3"), FileTrack(location="b.mp3"))
    )


def test_what_a_comment_says_is_of_the_next_line_alone() -> None:
    found = read(PlaylistFormat.M3U8, "#EXTINF:9,A - B\n#EXTALB:C\na.mp3\nb.mp3")
    assert found.tracks[1] == FileTrack(location="b.mp3")
    assert found.tracks[0] == FileTrack(
        location="a.mp3", title="B", creator="A", album="C", duration_ms=9_000
    )


XSPF = """<?xml version="1.0" encoding="{encoding}"?>
<!-- by hand -->
<playlist version="1" xmlns="http://xspf.org/ns/0/" xmlns:vlc="http://vlc.example/">
  <title> Mixed
    again </title>
  <creator>Someone</creator>
  <extension application="http://vlc.example">
    <vlc:node title="x"><title>No</title></vlc:node></extension>
  <trackList>
    <track>
      <title>J&#243;ga &amp; more</title><creator><![CDATA[Björk]]></creator>
      <location>file:///music/J%C3%B3ga.mp3</location><location>other.mp3</location>
      <identifier>urn:isbn:1</identifier><identifier>audio:{id}</identifier>
      <duration> 123000 </duration><trackNum>3</trackNum>
      <extension application="http://vlc.example"><vlc:id>0</vlc:id></extension>
    </track>
    <track/>
    <track><duration>soon</duration><vlc:title>No</vlc:title></track>
  </trackList>
</playlist>
"""


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_xspf_of_others_is_read_in_the_encoding_it_declares(encoding: str) -> None:
    text = XSPF.format(encoding=encoding, id=ID)
    for data in (text, text.encode(encoding)):
        assert read(PlaylistFormat.XSPF, data) == PlaylistDocument(
            title="Mixed again",
            tracks=(
                FileTrack(
                    id=ID,
                    location="file:///music/J%C3%B3ga.mp3",
                    title="Jóga & more",
                    creator="Björk",
                    duration_ms=123_000,
                ),
                FileTrack(),
                FileTrack(),
            ),
        )


def test_jspf_of_others_is_read_with_single_texts_for_lists() -> None:
    text = json.dumps(
        {
            "playlist": {
                "title": "Mixed",
                "annotation": [{"deep": []}],
                "track": [
                    {"location": "a%20b.mp3", "identifier": [f"audio:{ID}"], "duration": 1.5e3},
                    {"location": [], "title": None, "duration": -1, "extension": {"x": [{}]}},
                ],
            }
        }
    )
    assert read(PlaylistFormat.JSPF, text) == PlaylistDocument(
        title="Mixed", tracks=(FileTrack(id=ID, location="a b.mp3", duration_ms=1_500), FileTrack())
    )
