"""Playlist files of every format: read into a document, and written from one."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from penstock.datastore.errors import FieldProblem, Invalid, LimitExceeded
from penstock.datastore.playlists.formats import jspf, m3u, xspf
from penstock.datastore.playlists.formats.document import (
    MAX_BYTES,
    MAX_TRACKS,
    PlaylistDocument,
    PlaylistFormat,
    PlaylistParser,
    Step,
    TooManyTracks,
    UnreadablePlaylist,
    do_nothing,
)

BLOCK_BYTES: Final = 2**18
"""The bytes of a file that are read at once."""

MAX_NAME: Final = 100
MEDIA_TYPES: Final = {
    PlaylistFormat.M3U8: "application/vnd.apple.mpegurl",
    PlaylistFormat.XSPF: "application/xspf+xml",
    PlaylistFormat.JSPF: "application/jspf+json",
}

_UNNAMEABLE = re.compile(r'[\x00-\x1f\x7f-\x9f"*/:<>?\\|]')


class PlaylistFile(NamedTuple):
    """A playlist as a file to download."""

    text: str
    media_type: str
    file_name: str


def playlist_file(format: PlaylistFormat, document: PlaylistDocument) -> PlaylistFile:
    """The file of a document, named after its title."""
    name = _UNNAMEABLE.sub("_", document.title or "playlist").strip(" .")[:MAX_NAME]
    return PlaylistFile(write(format, document), MEDIA_TYPES[format], f"{name or '_'}.{format}")


class FileParser:
    """Reads a file of a format piece by piece, for a field of the input that names it.

    Raises Invalid with line and column, and LimitExceeded. A `text` is UTF-8, whatever it declares.
    """

    def __init__(self, format: PlaylistFormat, field: str, *, is_text: bool = False) -> None:
        self._parser: Final = _make_parser(format, is_text=is_text)
        self._field: Final = field

    def feed(self, block: bytes, step: Step = do_nothing) -> None:
        """Read the next bytes of the file, of which no step takes long."""
        with self._named_failures():
            self._parser.feed(block, step)

    def close(self) -> PlaylistDocument:
        """Return what the file says, once all bytes are read."""
        with self._named_failures():
            return self._parser.close()

    @contextmanager
    def _named_failures(self) -> Iterator[None]:
        path = [self._field]
        try:
            yield
        except UnreadablePlaylist as error:
            problem = FieldProblem(path, error.message, None, error.line, error.column)
            raise Invalid([problem]) from None
        except TooManyTracks:
            limit = "entries of a playlist"
            raise LimitExceeded(limit, MAX_TRACKS, MAX_TRACKS + 1, path) from None


def read(format: PlaylistFormat, data: str | bytes, step: Step = do_nothing) -> PlaylistDocument:
    """Read a playlist from the text or the bytes of a file of at most MAX_BYTES, in short steps.

    Raises Invalid with line and column, about the field `text` or `file`, and LimitExceeded.
    """
    field = "text" if isinstance(data, str) else "file"
    if len(data) > MAX_BYTES:
        raise LimitExceeded("bytes of a playlist file", MAX_BYTES, len(data), (field,))
    try:
        content = data.encode() if isinstance(data, str) else data
    except UnicodeEncodeError:
        raise Invalid([FieldProblem([field], "holds half of a character")]) from None
    parser = FileParser(format, field, is_text=isinstance(data, str))
    for start in range(0, len(content), BLOCK_BYTES):
        parser.feed(content[start : start + BLOCK_BYTES], step)
    return parser.close()


def write(format: PlaylistFormat, document: PlaylistDocument) -> str:
    """The text of a file; reading it gives exactly this document."""
    match format:
        case PlaylistFormat.M3U8:
            return m3u.write(document)
        case PlaylistFormat.XSPF:
            return xspf.write(document)
        case PlaylistFormat.JSPF:
            return jspf.write(document)


def _make_parser(format: PlaylistFormat, *, is_text: bool) -> PlaylistParser:
    match format:
        case PlaylistFormat.M3U8:
            return m3u.M3uParser()
        case PlaylistFormat.XSPF:
            return xspf.XspfParser("utf-8" if is_text else None)
        case PlaylistFormat.JSPF:
            return jspf.JspfParser()
