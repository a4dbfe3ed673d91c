"""Playlist files of every format: read into a document, and written from one."""

import re
from typing import Final, NamedTuple

from penstock.datastore.errors import FieldProblem, Invalid, LimitExceeded
from penstock.datastore.playlists.formats import jspf, m3u, xspf
from penstock.datastore.playlists.formats.document import (
    MAX_BYTES,
    MAX_TRACKS,
    PlaylistDocument,
    PlaylistFormat,
    Step,
    TooManyTracks,
    UnreadablePlaylist,
    do_nothing,
)

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


def read(
    format: PlaylistFormat,
    data: str | bytes,
    field: str | None = None,
    step: Step = do_nothing,
) -> PlaylistDocument:
    """Read a playlist from the text or the bytes of a file, of which no step takes long.

    Raises Invalid with line and column, about the field (`text` or `file` by default), and
    LimitExceeded.
    """
    field = field or ("text" if isinstance(data, str) else "file")
    if len(data) > MAX_BYTES:
        raise LimitExceeded("bytes of a playlist file", MAX_BYTES, len(data), (field,))
    try:
        return _read(format, data, step)
    except UnicodeEncodeError:
        raise Invalid([FieldProblem([field], "holds half of a character")]) from None
    except UnreadablePlaylist as error:
        problem = FieldProblem([field], error.message, None, error.line, error.column)
        raise Invalid([problem]) from None
    except TooManyTracks:
        limit = "entries of a playlist"
        raise LimitExceeded(limit, MAX_TRACKS, MAX_TRACKS + 1, (field,)) from None


def write(format: PlaylistFormat, document: PlaylistDocument) -> str:
    """The text of a file; reading it gives exactly this document."""
    match format:
        case PlaylistFormat.M3U8:
            return m3u.write(document)
        case PlaylistFormat.XSPF:
            return xspf.write(document)
        case PlaylistFormat.JSPF:
            return jspf.write(document)


def _read(format: PlaylistFormat, data: str | bytes, step: Step) -> PlaylistDocument:
    match format:
        case PlaylistFormat.M3U8:
            text = _require_encodable(data) if isinstance(data, str) else m3u.decode_text(data)
            return m3u.read(text, step)
        case PlaylistFormat.XSPF:
            return xspf.read(data, step)
        case PlaylistFormat.JSPF:
            return jspf.read(data, step)


def _require_encodable(text: str) -> str:
    """Return the text; raises UnicodeEncodeError if it has half of a surrogate pair."""
    text.encode()
    return text
