"""Our own extension of every format: the fields that the format itself cannot express, as JSON.

It names the track of the library by its id, and holds the fields that a reader of the standard
elements alone would get wrong. A file with it is always read back exactly as it was written.
"""

import json
from typing import Final

import msgspec
from msgspec.structs import asdict

from penstock.datastore.playlists.formats.document import (
    MAX_LOCATION,
    FileTrack,
    TrackFields,
    UnreadablePlaylist,
)
from penstock.datastore.unreadable_json import JSON_ERRORS

APPLICATION: Final = "urn:penstock:track"

MAX_WRITTEN: Final = 12 * 2 * MAX_LOCATION
"""Characters of an extension, in which one of a text may take up to twelve."""

_NAMES: Final = {
    "id": "id",
    "location": "location",
    "title": "title",
    "creator": "creator",
    "album": "album",
    "durationMs": "duration_ms",
}
_FIELDS: Final = {field: name for name, field in _NAMES.items()}


def missing_fields(track: FileTrack, plain: FileTrack) -> dict[str, str | int | None]:
    """The fields that the standard elements omit or change; empty if they express everything."""
    restored = asdict(plain)
    return {
        _FIELDS[name]: value for name, value in asdict(track).items() if value != restored[name]
    }


def write_extension(extension: dict[str, str | int | None]) -> str:
    """The extension as one line of printable ASCII."""
    return json.dumps(extension, separators=(",", ":"))


def parse_extension(text: str | bytes, line: int | None = None) -> object:
    """Decode an extension; raises UnreadablePlaylist if it is not JSON."""
    try:
        return msgspec.json.decode(text)
    except JSON_ERRORS:
        raise UnreadablePlaylist("Our own extension of a track is no JSON.", line) from None


def read_fields(extension: object, line: int | None = None) -> TrackFields:
    """The fields in an extension, by FileTrack's field names; unknown names are ignored."""
    if not isinstance(extension, dict):
        raise UnreadablePlaylist("Our own extension of a track is no object.", line)
    found: TrackFields = {}
    for name, value in extension.items():
        if name in _NAMES:
            kind = int if name == "durationMs" else str
            if value is not None and type(value) is not kind:
                raise UnreadablePlaylist(
                    f"The {name} of our own extension is of another type.", line
                )
            found[_NAMES[name]] = value
    return found
