"""M3U8, a text format: one location on each line, with comments that describe it.

The reader and the writer know `#EXTM3U`, `#PLAYLIST:`, and for each track `#EXTINF:`, `#EXTART:`,
`#EXTALB:` and our own `#PENSTOCK:`. The reader ignores all other comments.
"""

import codecs
import re
from collections.abc import Iterator
from typing import Final

from penstock.datastore.playlists.formats import extension
from penstock.datastore.playlists.formats.document import (
    AUDIO,
    MAX_DURATION_MS,
    FileTrack,
    PlaylistDocument,
    Step,
    TrackCollector,
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

MAX_LINE: Final = 2**19
"""Bytes of a line; all that a track needs fits into it."""

_HEAD: Final = "#EXTM3U"
_TITLE: Final = "#PLAYLIST:"
_INFO: Final = "#EXTINF:"
_ARTIST: Final = "#EXTART:"
_ALBUM: Final = "#EXTALB:"
_EXTENSION: Final = "#PENSTOCK:"
_CREATOR_TITLE_SEPARATOR: Final = " - "


class M3uParser:
    """Reads a playlist with any line ends.

    A file with the byte order mark of UTF-16 is decoded as such. Else each line is UTF-8, or
    Latin-1 if it is no UTF-8. Of a line MAX_LINE bytes count.
    """

    def __init__(self) -> None:
        self._found: Final = TrackCollector()
        self._comments: dict[str, str] = {}
        self._number = 0
        self._head: bytes | None = b""
        self._decoder: codecs.IncrementalDecoder | None = None
        self._line = b""

    def feed(self, block: bytes, step: Step) -> None:
        if self._head is not None:
            self._head += block
            if len(self._head) < len(codecs.BOM_UTF8):
                return
            block, self._head = self._begin(self._head), None
        if self._decoder is not None:
            block = self._decoder.decode(block).encode()
        lines = (self._line + block).splitlines(keepends=True)
        # Behind a carriage return a line feed may follow, with the next bytes.
        self._line = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        for line in lines:
            if self._number % LINES_A_STEP == 0:
                step()
            self._read_line(line)
        self._line = _cut_line(self._line)

    def close(self) -> PlaylistDocument:
        block = b"" if self._head is None else self._begin(self._head)
        if self._decoder is not None:
            block = self._decoder.decode(block, final=True).encode()
        for line in (self._line + block).splitlines():
            self._read_line(line)
        return self._found.document()

    def _begin(self, head: bytes) -> bytes:
        """Find the encoding by the first bytes; return these without the mark of UTF-8."""
        if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            self._decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        return head.removeprefix(codecs.BOM_UTF8)

    def _read_line(self, line: bytes) -> None:
        self._number += 1
        text = _decode_line(line[:MAX_LINE]).strip(" \t\r\n")
        if not text.startswith("#"):
            if text:
                self._found.append(_build_track(self._comments, text, self._number))
                self._comments = {}
        elif text.startswith(_TITLE):
            self._found.title = text.removeprefix(_TITLE).strip() or self._found.title
        else:
            _collect_comment(text, self._comments)


def read(text: str) -> PlaylistDocument:
    """Read a playlist from text; raises UnreadablePlaylist and TooManyTracks."""
    parser = M3uParser()
    parser.feed(text.encode(), do_nothing)
    return parser.close()


def write(document: PlaylistDocument) -> str:
    """The text of a file; each line ends in a line feed."""
    lines = [_HEAD]
    if document.title is not None:
        lines.append(f"{_TITLE}{_one_line(document.title)}")
    for each in document.tracks:
        lines += _track_lines(each)
    return "\n".join([*lines, ""])


def _cut_line(line: bytes) -> bytes:
    """The bytes of an unfinished line that count, with its carriage return."""
    if len(line) <= MAX_LINE:
        return line
    return line[:MAX_LINE] + (b"\r" if line.endswith(b"\r") else b"")


def _decode_line(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")


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
    missing = extension.missing_fields(track, read("\n".join([_HEAD, *plain])).tracks[0])
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
