"""M3U8, a text format: one location on each line, with comments that describe it.

The reader and the writer know `#EXTM3U`, `#PLAYLIST:`, and for each track `#EXTINF:`, `#EXTART:`,
`#EXTALB:` and our own `#PENSTOCK:`. The reader ignores all other comments.
"""

import codecs
import re
from collections.abc import Iterator
from io import StringIO
from typing import Final

from penstock.datastore.playlists.formats import extension
from penstock.datastore.playlists.formats.document import (
    AUDIO,
    MAX_DURATION_MS,
    FileTrack,
    PlaylistDocument,
    Step,
    append_track,
    build_track,
    do_nothing,
    location_fields,
)

_LINE_END = re.compile(r"\r\n|\n|\r")
_SECONDS = re.compile(r"[ \t]*(-?\d{1,12}(?:\.\d{1,9})?)", re.ASCII)
_ATTRIBUTES = re.compile(r'[^",]*(?:"[^"]*"[^",]*)*')
LINES_A_STEP: Final = 1_000
MAX_ATTRIBUTES: Final = 65_536
"""Characters between the seconds and the comma; behind them a line says nothing."""

_HEAD: Final = "#EXTM3U"
_TITLE: Final = "#PLAYLIST:"
_INFO: Final = "#EXTINF:"
_ARTIST: Final = "#EXTART:"
_ALBUM: Final = "#EXTALB:"
_EXTENSION: Final = "#PENSTOCK:"
_CREATOR_TITLE_SEPARATOR: Final = " - "


def decode_text(data: bytes) -> str:
    """Decode a file: UTF-8, or the encoding of its byte order mark, or else Latin-1."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read(text: str, step: Step) -> PlaylistDocument:
    """Read a playlist from text with any line ends; raises UnreadablePlaylist and TooManyTracks."""
    title: str | None = None
    tracks: list[FileTrack] = []
    comments: dict[str, str] = {}
    # Line by line: a list of millions of lines would be made in one piece.
    lines = StringIO(text.removeprefix("\ufeff"), newline=None)
    for number, line in enumerate((line.strip(" \t\n") for line in lines), 1):
        if number % LINES_A_STEP == 0:
            step()
        if not line.startswith("#"):
            if line:
                append_track(tracks, _build_track(comments, line, number))
                comments = {}
        elif line.startswith(_TITLE):
            title = line.removeprefix(_TITLE).strip() or title
        else:
            _collect_comment(line, comments)
    return PlaylistDocument(title=title, tracks=tuple(tracks))


def write(document: PlaylistDocument) -> str:
    """The text of a file; each line ends in a line feed."""
    lines = [_HEAD]
    if document.title is not None:
        lines.append(f"{_TITLE}{_one_line(document.title)}")
    for each in document.tracks:
        lines += _track_lines(each)
    return "\n".join([*lines, ""])


def _collect_comment(line: str, comments: dict[str, str]) -> None:
    for name in (_INFO, _ARTIST, _ALBUM, _EXTENSION):
        if line.startswith(name):
            comments[name] = line.removeprefix(name).strip(" \t")


def _build_track(comments: dict[str, str], location: str, line: int) -> FileTrack:
    fields = location_fields(location) | {"album": comments.get(_ALBUM)}
    seconds, text = _read_info(comments.get(_INFO, ""))
    artist = comments.get(_ARTIST)
    if artist is None and _CREATOR_TITLE_SEPARATOR in text:
        fields["creator"], _, fields["title"] = text.partition(_CREATOR_TITLE_SEPARATOR)
    else:
        fields["creator"] = artist
        fields["title"] = text.removeprefix(f"{artist}{_CREATOR_TITLE_SEPARATOR}")
    milliseconds = round(float(seconds) * 1000)
    if 0 < milliseconds <= MAX_DURATION_MS:
        fields["duration_ms"] = milliseconds
    if _EXTENSION in comments:
        fields |= extension.read_fields(extension.parse_extension(comments[_EXTENSION], line), line)
    return build_track(fields, line)


def _read_info(text: str) -> tuple[str, str]:
    """The seconds, and the text after the comma; attributes between them are ignored."""
    seconds = _SECONDS.match(text)
    if seconds is None:
        return "0", ""
    # Two patterns, which never fail behind each other: one would try each length of the number.
    attributes = _ATTRIBUTES.match(text, seconds.end(), seconds.end() + MAX_ATTRIBUTES)
    end = attributes.end() if attributes else 0
    return (seconds[1], text[end + 1 :].strip(" \t")) if text.startswith(",", end) else ("0", "")


def _track_lines(track: FileTrack) -> Iterator[str]:
    plain = list(_plain_lines(track))
    # The extension holds only what a reader could not restore from the other lines.
    reread = read("\n".join([_HEAD, *plain]), do_nothing)
    missing = extension.missing_fields(track, reread.tracks[0])
    if missing:
        plain.insert(-1, f"{_EXTENSION}{extension.write_extension(missing)}")
    yield from plain


def _plain_lines(track: FileTrack) -> Iterator[str]:
    if (track.title, track.creator, track.duration_ms) != (None, None, None):
        seconds = f"{(track.duration_ms or -1000) / 1000:.3f}".removesuffix(".000")
        text = _CREATOR_TITLE_SEPARATOR.join(filter(None, (track.creator, track.title)))
        yield f"{_INFO}{seconds},{_one_line(text)}"
    if track.creator is not None:
        yield f"{_ARTIST}{_one_line(track.creator)}"
    if track.album is not None:
        yield f"{_ALBUM}{_one_line(track.album)}"
    yield _location_line(track)


def _location_line(track: FileTrack) -> str:
    """The line of the location, which must not be empty or look like a comment."""
    location = _one_line(track.location or "").strip(" \t")
    if not location:
        return f"{AUDIO}{_one_line(track.id or '')}"
    return f"./{location}" if location.startswith("#") else location


def _one_line(text: str) -> str:
    return _LINE_END.sub(" ", text)
