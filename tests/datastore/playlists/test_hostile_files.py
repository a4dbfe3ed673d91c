"""Malicious or malformed files end in an error with its position."""

import gc
from collections.abc import Iterator
from contextlib import suppress
from encodings.aliases import aliases
from itertools import count
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import FieldProblem, Invalid, LimitExceeded
from penstock.datastore.interruptible_work import WorkInterrupted
from penstock.datastore.playlists.formats import extension, m3u, xspf
from penstock.datastore.playlists.formats.document import (
    MAX_BYTES,
    MAX_TEXT,
    MAX_TRACKS,
    PlaylistDocument,
    PlaylistFormat,
    UnreadablePlaylist,
)
from penstock.datastore.playlists.formats.files import read
from tests.support.processor_time import yardsticks

NS = 'xmlns="http://xspf.org/ns/0/"'


def read_refused(format: PlaylistFormat, data: str | bytes) -> FieldProblem:
    with pytest.raises(Invalid) as caught:
        read(format, data)
    (problem,) = caught.value.problems
    assert problem.path == (["text"] if isinstance(data, str) else ["file"])
    return problem


BILLION = (
    '<!DOCTYPE p [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
    f"<playlist {NS}><title>&b;</title></playlist>"
)
OUTSIDE = (
    '<?xml version="1.0"?>\n<!DOCTYPE p [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    f"<playlist {NS}><title>&x;</title></playlist>"
)
FOREIGN = f'<!DOCTYPE playlist SYSTEM "http://127.0.0.1/evil.dtd"><playlist {NS}/>'


@pytest.mark.parametrize("text", [BILLION, OUTSIDE, FOREIGN])
def test_every_document_type_declaration_is_refused_before_any_entity(text: str) -> None:
    problem = read_refused(PlaylistFormat.XSPF, text)
    assert problem.message == "A document type declaration is refused."
    assert problem.line == text[: text.index("<!DOCTYPE")].count("\n") + 1


XML = {
    "": (1, 1),
    "no xml": (1, 1),
    f"<playlist {NS}>\n<title>": (2, 8),
    f"<playlist {NS}><title>&x;</title></playlist>": (1, 52),
    f"<playlist {NS}><title>\x00</title></playlist>": (1, 52),
    f"<playlist {NS}><title>&#0;</title></playlist>": (1, 52),
}


@pytest.mark.parametrize("text", XML)
def test_what_is_no_xml_is_told_with_its_place(text: str) -> None:
    line, column = XML[text]
    problem = read_refused(PlaylistFormat.XSPF, text)
    assert problem.message == "This is no XML."
    assert problem.line == line
    assert problem.column is not None
    assert abs(problem.column - column) <= 4


def test_xml_of_another_kind_is_no_playlist() -> None:
    for text in ("<html><body/></html>", '<playlist xmlns="urn:other"/>'):
        assert "no playlist of XSPF" in read_refused(PlaylistFormat.XSPF, text).message


def test_elements_nested_too_deeply_are_refused() -> None:
    deep = f"<playlist {NS}>" + "<a>" * 100_000
    assert "32 levels" in read_refused(PlaylistFormat.XSPF, deep).message


PYTHONS = sorted({*aliases.values(), *aliases, "idna", "palmos", "raw_unicode_escape", "utf_8_sig"})
"""The names under which Python finds a codec, besides those of the list that may be declared."""


@pytest.mark.parametrize("encoding", ["nope", "utf-7", "idna", "unicode_escape", "gb18030"])
def test_an_encoding_that_is_not_listed_is_refused(encoding: str) -> None:
    data = f'<?xml version="1.0" encoding="{encoding}"?><playlist {NS}/>'.encode()
    problem = read_refused(PlaylistFormat.XSPF, data)
    assert problem.message == (
        "The encoding that the file declares is not UTF-8, UTF-16, ISO-8859-1, Windows-1252 or "
        "US-ASCII."
    )
    assert problem.line == 1


def test_no_codec_of_python_is_an_encoding() -> None:
    for encoding in PYTHONS:
        data = f'<?xml version="1.0" encoding="{encoding}"?><playlist {NS}/>'.encode()
        assert read_refused(PlaylistFormat.XSPF, data).line == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("", "it is no JSON"),
        ("{", "it is no JSON"),
        ("{}", "$.playlist is missing, or of another kind"),
        ("[]", "$.playlist is missing, or of another kind"),
        ('{"playlist": []}', "$.playlist is missing, or of another kind"),
        (
            '{"playlist": {"track": [{"title": 1}]}}',
            "$.playlist.track[0].title is missing, or of another kind",
        ),
        (
            '{"playlist": {"track": [{"location": {}}]}}',
            "$.playlist.track[0].location is missing, or of another kind",
        ),
        ('{"playlist": {"x": ' + "[" * 100_000, "it is nested too deeply, or no UTF-8"),
        (b'{"playlist": {"title": "\xff"}}', "it is nested too deeply, or no UTF-8"),
        ('{"playlist": {"title": "\\ud800"}}', "it is no JSON"),
    ],
)
def test_what_is_no_jspf_is_told_in_words_of_our_own(data: str | bytes, reason: str) -> None:
    assert read_refused(PlaylistFormat.JSPF, data).message == f"This is no JSPF: {reason}."


@pytest.mark.parametrize(
    "text",
    [
        "#PENSTOCK:{",
        "#PENSTOCK:[]",
        '#PENSTOCK:{"id":1}',
        '#PENSTOCK:{"durationMs":true}',
        '#PENSTOCK:{"durationMs":-1}',
        '#PENSTOCK:{"title":"\\ud800"}',
        "#PENSTOCK:" + "[" * 99_999,
    ],
)
def test_our_own_extension_badly_written_is_told_with_its_line(text: str) -> None:
    assert read_refused(PlaylistFormat.M3U8, f"\n{text}\na.mp3").line == 3


def test_our_own_extension_with_a_name_that_is_no_utf_8_is_told() -> None:
    name = b'{"urn:penstock:track": [{"si\xc3": 1}]}'
    data = b'{"playlist": {"track": [{"location": ["x"], "extension": %b}]}}' % name
    refused = read_refused(PlaylistFormat.JSPF, data)
    assert refused.message == "Our own extension of a track is no JSON."


@pytest.mark.parametrize("format", [PlaylistFormat.M3U8, PlaylistFormat.XSPF])
def test_a_text_longer_than_any_title_is_refused_with_its_line(format: PlaylistFormat) -> None:
    long = "x" * (MAX_TEXT + 1)
    text = {
        PlaylistFormat.M3U8: f"#EXTINF:1,{long}\na.mp3",
        PlaylistFormat.XSPF: f"<playlist {NS}><trackList>\n<track>\n<title>{long}</title></track>"
        "</trackList></playlist>",
    }[format]
    problem = read_refused(format, text)
    assert (problem.line, problem.message) == (
        2,
        f"The title is longer than {MAX_TEXT} characters.",
    )


def test_a_text_of_megabytes_inside_of_an_element_is_refused() -> None:
    text = f"<playlist {NS}><title>{'x' * 200_000}</title></playlist>"
    assert read_refused(PlaylistFormat.XSPF, text).message == "A text is too long."


LONG_TEXT = "x" * (xspf.MAX_MARKUP + xspf.PIECE)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'<playlist {NS} a="{LONG_TEXT}"/>', "A tag or a comment has more than 262144 bytes."),
        (f"<playlist {NS}><!--{LONG_TEXT}-->", "A tag or a comment has more than 262144 bytes."),
        (
            f'<playlist {NS} xmlns:p="{"u" * (xspf.MAX_NAMESPACE + 1)}"/>',
            "The name of a namespace has more than 256 characters.",
        ),
    ],
    ids=range(3),
)
def test_what_the_parser_of_xml_holds_as_one_is_short(text: str, message: str) -> None:
    assert read_refused(PlaylistFormat.XSPF, text).message == message


NAMES = range(xspf.MAX_NAMES + 1)


@pytest.mark.parametrize(
    "content",
    [
        "".join(f"<a{number}/>" for number in NAMES),
        "".join(f'<a a{number}=""/>' for number in NAMES),
        "<a " + " ".join(f"a{number}=''" for number in NAMES) + "/>",
        "".join(f'<a xmlns:p{number}="u"/>' for number in NAMES),
        "".join(f'<p:a xmlns:p="u{number}"/>' for number in NAMES),
    ],
    ids=["elements", "attributes", "attributes of one", "prefixes", "namespaces"],
)
def test_a_playlist_has_few_different_names(content: str) -> None:
    problem = read_refused(PlaylistFormat.XSPF, f"<playlist {NS}>{content}</playlist>")
    assert problem.message == "There are more than 1000 different names of elements and attributes."


@pytest.mark.parametrize("ending", ["</playlist>", "<"])
def test_a_playlist_that_was_read_leaves_nothing_for_the_collector(ending: str) -> None:
    parser = xspf.XspfParser()
    seen = ref(parser)
    gc.disable()
    try:
        with suppress(UnreadablePlaylist):
            parser.feed(f"<playlist {NS}>{ending}".encode(), lambda: None)
            parser.close()
        del parser
        assert seen() is None
    finally:
        gc.enable()


def test_extensions_of_others_are_passed_over_and_ours_is_short() -> None:
    own = f'{{"{extension.APPLICATION}":[{{"title":"One"}}%s],"other":[[1],{{}}]}}'
    text = f'{{"playlist":{{"track":[{{"extension":{own}}}]}}}}'
    assert [track.title for track in read(PlaylistFormat.JSPF, text % "").tracks] == ["One"]
    found = read_refused(PlaylistFormat.JSPF, text % (",1" * extension.MAX_WRITTEN))
    assert found.message == "Our own extension of a track is too long."


@pytest.mark.parametrize("format", PlaylistFormat)
def test_a_reading_ends_with_its_next_step(format: PlaylistFormat) -> None:
    steps = count()

    def end_the_third() -> None:
        if next(steps) == 2:
            raise WorkInterrupted

    with pytest.raises(WorkInterrupted):
        read(format, dict(lists_of(MAX_TRACKS))[format], step=end_the_third)
    assert next(steps) == 3


@pytest.mark.parametrize("format", PlaylistFormat)
def test_half_a_character_is_refused(format: PlaylistFormat) -> None:
    read_refused(format, "\ud800")


def lists_of(count: int) -> Iterator[tuple[PlaylistFormat, str]]:
    yield PlaylistFormat.M3U8, "a.mp3\n" * count
    track = "<track><location>a.mp3</location></track>"
    yield PlaylistFormat.XSPF, f"<playlist {NS}><trackList>{track * count}</trackList></playlist>"
    yield PlaylistFormat.JSPF, '{"playlist":{"track":[' + ",".join(["{}"] * count) + "]}}"


def test_as_many_tracks_as_a_playlist_may_hold_are_read_and_one_more_is_not() -> None:
    for format, text in lists_of(MAX_TRACKS):
        assert len(read(format, text).tracks) == MAX_TRACKS
    for format, text in lists_of(MAX_TRACKS + 1):
        with pytest.raises(LimitExceeded) as caught:
            read(format, text)
        assert (caught.value.maximum, caught.value.path) == (MAX_TRACKS, ["text"])


@pytest.mark.parametrize("format", PlaylistFormat)
def test_a_file_of_more_than_eight_megabytes_is_not_looked_at(format: PlaylistFormat) -> None:
    with pytest.raises(LimitExceeded) as caught:
        read(format, b"x" * (MAX_BYTES + 1))
    assert (caught.value.actual, caught.value.path) == (MAX_BYTES + 1, ["file"])


NUMBER = "#EXTINF:123456789012.123456789"


@pytest.mark.parametrize(
    "line",
    [
        '#EXTINF:1 "',
        '#EXTINF:1 ""',
        "#EXTINF:1 x,",
        "#EXTINF:1 - ",
        *(f"{NUMBER}{end}" for end in ("", "x", '"', '"x"', " ", "\t")),
        "#EXTINF: ",
        "#",
        "x ",
    ],
)
def test_a_line_of_a_megabyte_takes_no_time(line: str) -> None:
    text = line + line[-1] * 1_000_000 + "\na.mp3"

    def read_line() -> None:
        with suppress(Invalid):
            read(PlaylistFormat.M3U8, text)

    assert yardsticks(read_line, below=20) < 20


@pytest.mark.parametrize(
    ("between", "title"), [(m3u.MAX_ATTRIBUTES, "One"), (m3u.MAX_ATTRIBUTES + 1, None)]
)
def test_attributes_of_a_line_end_at_a_bound(between: int, title: str | None) -> None:
    (track,) = read(PlaylistFormat.M3U8, f"#EXTINF:1{' ' * between},One\na.mp3").tracks
    assert (track.title, track.duration_ms) == (title, 1000 if title else None)


@pytest.mark.parametrize("format", PlaylistFormat)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200)))
def test_no_input_ends_in_anything_but_a_document_or_a_typed_error(
    format: PlaylistFormat, data: str | bytes
) -> None:
    with suppress(Invalid):
        assert isinstance(read(format, data), PlaylistDocument)
