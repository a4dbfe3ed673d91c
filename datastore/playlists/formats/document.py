"""The content of a playlist file in any format, and the helpers of all readers and writers."""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Final, Protocol, TypeAlias
from urllib.parse import quote, unquote

from penstock.datastore.records import StoredRecord

MAX_BYTES: Final = 8_000_000
"""The most bytes of a file in a request; also of one part of a larger file."""

MAX_CHARACTERS: Final = 8_000_000
"""The most characters of all texts of the tracks of a file."""

MAX_TRACKS: Final = 10_000
MAX_TEXT: Final = 1_024
MAX_LOCATION: Final = 4_096
MAX_DURATION_MS: Final = 2**31 - 1
"""The largest number that the type Int of an entry's length can hold."""

AUDIO: Final = "audio:"
"""The scheme of the URIs that name a track of the library by its id."""

Step: TypeAlias = Callable[[], object]
"""Told by a reader at each part of a file; what it raises ends the reading."""


def do_nothing() -> None:
    """Be the step of a reading that may go on to its end."""


_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*", re.ASCII)
_PATH_SAFE: Final = "/!$&'()*+,;=@"


class PlaylistFormat(StrEnum):
    """A format of playlist files."""

    M3U8 = "m3u8"
    XSPF = "xspf"
    JSPF = "jspf"


class FileTrack(StoredRecord, frozen=True, kw_only=True):
    """One track in a file; an absent field is None.

    `id` names a track of the library. `location` is a path or a URL, `duration_ms` is in
    milliseconds.
    """

    id: str | None = None
    location: str | None = None
    title: str | None = None
    creator: str | None = None
    album: str | None = None
    duration_ms: int | None = None


class PlaylistDocument(StoredRecord, frozen=True, kw_only=True):
    """The content of a playlist file: a title of one line, and tracks in order."""

    title: str | None = None
    tracks: tuple[FileTrack, ...] = ()


TrackFields: TypeAlias = "dict[str, str | int | None]"
"""The fields of one track in a file, by the names of FileTrack's fields."""


class UnreadablePlaylist(Exception):
    """The text is no playlist of the format, or exceeds a limit; line and column count from 1."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


class TooManyTracks(Exception):
    """The file has more tracks than a playlist may have."""


def location_fields(location: str) -> TrackFields:
    """The fields that a location sets: `audio:<id>` sets the id of a track, others the location."""
    if location.startswith(AUDIO):
        return {"id": location.removeprefix(AUDIO)}
    return {"location": location}


def build_track(fields: TrackFields, line: int | None = None) -> FileTrack:
    """Make the track of a file's fields; raises UnreadablePlaylist if a field is too long."""
    fields = {name: value for name, value in fields.items() if value not in (None, "")}
    for name, value in fields.items():
        _check_field(name, value, line)
    return FileTrack(**fields)  # type: ignore[arg-type]  # checked just above


class TrackCollector:
    """Collects the tracks of a file that is read piece by piece, within their limits."""

    def __init__(self) -> None:
        self.title: str | None = None
        self._tracks: Final[list[FileTrack]] = []
        self._characters = 0

    @property
    def count(self) -> int:
        """The number of tracks that were appended."""
        return len(self._tracks)

    def append(self, one: FileTrack) -> None:
        """Append a track; raises TooManyTracks, or UnreadablePlaylist for too many characters."""
        if len(self._tracks) >= MAX_TRACKS:
            raise TooManyTracks
        texts = (one.id, one.location, one.title, one.creator, one.album)
        self._characters += sum(len(text) for text in texts if text is not None)
        if self._characters > MAX_CHARACTERS:
            message = f"The texts of the tracks have more than {MAX_CHARACTERS} characters."
            raise UnreadablePlaylist(message)
        self._tracks.append(one)

    def document(self) -> PlaylistDocument:
        return PlaylistDocument(title=self.title, tracks=tuple(self._tracks))


class PlaylistParser(Protocol):
    """A reader of a file in one format, which takes the bytes of the file piece by piece.

    Both methods raise UnreadablePlaylist and TooManyTracks.
    """

    def feed(self, block: bytes, step: Step) -> None:
        """Read the next bytes of the file, of which no step takes long."""

    def close(self) -> PlaylistDocument:
        """Return what the file says, once all bytes are read."""


def location_uri(location: str) -> str:
    """The location as a URI: a URL stays unchanged, a path is percent-encoded."""
    return location if _URL.fullmatch(location) else quote(location, safe=_PATH_SAFE)


def uri_location(uri: str) -> str:
    """The location in a URI; a URL, or an invalid encoding, stays unchanged."""
    if _URL.fullmatch(uri):
        return uri
    try:
        return unquote(uri, errors="strict")
    except UnicodeDecodeError:
        return uri


def _check_field(name: str, value: str | int | None, line: int | None) -> None:
    if name == "duration_ms":
        if not isinstance(value, int) or not 0 <= value <= MAX_DURATION_MS:
            raise UnreadablePlaylist(f"A duration is 0 to {MAX_DURATION_MS} ms.", line)
        return
    maximum = MAX_LOCATION if name == "location" else MAX_TEXT
    if not isinstance(value, str) or len(value) > maximum:
        raise UnreadablePlaylist(f"The {name} is longer than {maximum} characters.", line)
