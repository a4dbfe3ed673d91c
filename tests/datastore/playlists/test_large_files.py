"""Files of any size are read piece by piece, with the same result and in bounded memory."""

import tracemalloc
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, repeat

import pytest

from penstock.datastore.errors import Invalid, LimitExceeded
from penstock.datastore.playlists.formats import document, jspf_scanner
from penstock.datastore.playlists.formats.document import (
    FileTrack,
    PlaylistDocument,
    PlaylistFormat,
)
from penstock.datastore.playlists.formats.files import BLOCK_BYTES, FileParser, read, write

NS = 'xmlns="http://xspf.org/ns/0/"'
ODD = PlaylistDocument(
    title='Ünïcode "quoted" \\ & <b>',
    tracks=(
        FileTrack(id="1", location="a/ü.mp3", title='{"track": [{}]}', creator="[x]", album="\\"),
        FileTrack(location="http://x/b.mp3", title="Ω 𝄞", duration_ms=1_234),
        FileTrack(title="only a title", creator="Zoë - Ann"),
    ),
)
BOUND = 2**20
"""The most bytes of one part of a file in these tests."""

MORE = 3 * BOUND // 2
"""Bytes of what a file says besides tracks."""


@pytest.fixture(autouse=True)
def lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jspf_scanner, "MAX_BYTES", BOUND)


def parse(format: PlaylistFormat, blocks: Iterable[bytes]) -> PlaylistDocument:
    parser = FileParser(format, "objectKey")
    for block in blocks:
        parser.feed(block)
    return parser.close()


def cut(content: bytes, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    return (content[start : start + size] for start in range(0, len(content), size))


def contents_of(format: PlaylistFormat) -> Iterator[bytes]:
    """The same playlist in different encodings, with and without marks, and with line ends."""
    text = write(format, ODD)
    yield text.encode()
    yield b"\xef\xbb\xbf" + text.encode()
    yield text.replace("\n", "\r\n").encode()
    if format is not PlaylistFormat.JSPF:
        yield text.replace('encoding="UTF-8"', 'encoding="UTF-16"').encode("utf-16")
    if format is PlaylistFormat.M3U8:
        yield text.replace("\n", "\r").encode()


@pytest.mark.parametrize("format", PlaylistFormat)
def test_a_file_in_pieces_of_any_size_is_the_same_playlist(format: PlaylistFormat) -> None:
    for content in contents_of(format):
        assert parse(format, [content]) == ODD
        for size in (1, 2, 3, 7, 64):
            assert parse(format, cut(content, size)) == ODD


def test_a_line_that_is_no_utf8_is_latin1_and_the_others_stay_what_they_are() -> None:
    content = "a/ü.mp3\n".encode() + b"b/\xfc.mp3\n"
    for size in (1, 9, 99):
        found = parse(PlaylistFormat.M3U8, cut(content, size))
        assert [track.location for track in found.tracks] == ["a/ü.mp3", "b/ü.mp3"]


def pad_file(format: PlaylistFormat) -> Iterator[bytes]:
    """The blocks of a file with so much besides its two tracks, of parts that are not kept."""
    filler = partial(repeat, b"x" * BLOCK_BYTES, 4 * MORE // BLOCK_BYTES)
    match format:
        case PlaylistFormat.M3U8:
            return chain([b"#EXTM3U\na.mp3\n#"], filler(), [b"\nb.mp3\n"])
        case PlaylistFormat.XSPF:
            track = b"<track><location>%b.mp3</location></track>"
            head = f"<playlist {NS}><trackList>".encode() + track % b"a" + b"<image>"
            return chain([head], filler(), [b"</image>", track % b"b", b"</trackList></playlist>"])
        case PlaylistFormat.JSPF:
            # Each track has a picture, as far as the bound of one track goes.
            filled = b'{"location": ["%b.mp3"], "image": "%b"}'
            rest = (filled % (name, b"x" * (MORE // 2)) for name in (b"a", b"b"))
            return chain.from_iterable(
                map(cut, (b'{"playlist": {"track": [', next(rest), b",", next(rest), b"]}}"))
            )


@pytest.mark.parametrize("format", PlaylistFormat)
def test_a_large_file_is_read_in_bounded_memory(format: PlaylistFormat) -> None:
    blocks = pad_file(format)
    tracemalloc.start()
    try:
        found = parse(format, blocks)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [track.location for track in found.tracks] == ["a.mp3", "b.mp3"]
    # The parser of XML is not traced, but holds little back.
    assert peak < {PlaylistFormat.JSPF: 5 * BOUND}.get(format, 2 * BOUND)


def make_hostile(kind: str) -> tuple[PlaylistFormat, Iterator[bytes]]:
    filler = repeat(b"x" * BLOCK_BYTES, MORE // BLOCK_BYTES)
    opened = f"<playlist {NS}>".encode()
    jspf = PlaylistFormat.JSPF
    match kind:
        case "a comment of XML":
            return PlaylistFormat.XSPF, chain([opened, b"<!--"], filler)
        case "a tag":
            return PlaylistFormat.XSPF, chain([opened, b"<title a='"], filler)
        case "a track":
            return jspf, chain([b'{"playlist": {"track": [{"image": "'], filler)
        case "the rest":
            return jspf, chain([b'{"playlist": {"annotation": "'], filler)
        case _:
            return jspf, chain([b'{"playlist": {"track": ['], repeat(b"1," * 2**17, 8))


@pytest.mark.parametrize("kind", ["a comment of XML", "a tag", "a track", "the rest", "numbers"])
def test_a_part_that_never_ends_is_refused(kind: str) -> None:
    format, blocks = make_hostile(kind)
    with pytest.raises(Invalid) as caught:
        parse(format, blocks)
    (problem,) = caught.value.problems
    assert problem.path == ["objectKey"]
    assert problem.message in (
        "A part of the file is too long.",
        "A tag or a comment has more than 262144 bytes.",
    )
    assert next(blocks, None) is not None


def test_more_text_than_tracks_may_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = write(PlaylistFormat.M3U8, ODD)
    monkeypatch.setattr(document, "MAX_CHARACTERS", 20)
    with pytest.raises(Invalid, match="have more than 20 characters"):
        read(PlaylistFormat.M3U8, text)


def test_tracks_without_end_are_refused() -> None:
    blocks = repeat(b"a.mp3\n" * 1_000)
    with pytest.raises(LimitExceeded) as caught:
        parse(PlaylistFormat.M3U8, blocks)
    assert caught.value.path == ["objectKey"]


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ('{"pl\\u0061ylist": {"tr\\u0061ck": [{"title": "a"}]}}', ["a"]),
        ('{"track": [{"title": "a"}], "playlist": {"track": []}}', []),
        ('{"playlist": {"meta": [{"track": [{"title": "a"}]}], "title": "t"}}', []),
        ('{"playlist": {"title": "track", "meta": [{}], "track": [{"title": "a"}]}}', ["a"]),
        ('{"x": {"track": [{"title": "a"}]}, "playlist": {"track": [{"title": "b"}]}}', ["b"]),
        ('{"playlist": {"track": [{"meta": [{"x": "]}"}], "title": "a"}, {}]}}', ["a", None]),
        ('{"playlist": {"track": [{"title": "\\\\\\""}]}}', ['\\"']),
    ],
)
def test_tracks_of_jspf_are_found_where_they_belong(text: str, titles: list[str | None]) -> None:
    for size in (1, 5, 999):
        found = parse(PlaylistFormat.JSPF, cut(text.encode(), size))
        assert [track.title for track in found.tracks] == titles


@pytest.mark.parametrize(
    "text",
    [
        '{"playlist": {"track": [{"title": "a"}]}',
        '{"playlist": {"track": [{"title": "a"}}}]',
        '{"playlist": {"track": [{"title": "a"]}}}',
        '{"playlist": {"track": [{"title" "a"}]}}',
        '{"playlist": {"track": [{"title": "a"} {}]}}',
        '{"playlist": {"track": [{}]}}}',
        '{"playlist": {"track": [{}]}} x',
    ],
)
def test_what_is_no_json_is_refused_though_tracks_are_found(text: str) -> None:
    with pytest.raises(Invalid, match="it is no JSON"):
        parse(PlaylistFormat.JSPF, cut(text.encode(), 5))
