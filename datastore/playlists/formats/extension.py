"""Our own extension of every format: what its plain words cannot say of a track, as JSON.

It names the track of the library by its id, and holds the fields that a reader of the plain words
alone would get otherwise than they are; so whatever is written is read again as it was.
"""

import json
from typing import Final

import msgspec
from msgspec.structs import asdict

from penstock.datastore.playlists.formats.document import Said, Track, Unreadable

APPLICATION: Final = "urn:penstock:track"

_NAMES: Final = {
    "id": "id",
    "location": "location",
    "title": "title",
    "creator": "creator",
    "album": "album",
    "durationMs": "duration_ms",
}
_FIELDS: Final = {field: name for name, field in _NAMES.items()}


def extension(track: Track, plain: Track) -> dict[str, str | int | None]:
    """What the plain words leave out or change of the track; empty where they say it all."""
    said = asdict(plain)
    return {_FIELDS[name]: value for name, value in asdict(track).items() if value != said[name]}


def written(extension: dict[str, str | int | None]) -> str:
    """The extension as one line of printable ASCII."""
    return json.dumps(extension, separators=(",", ":"))


def parsed(text: str, line: int | None = None) -> object:
    """The extension that was written; raises Unreadable for what is no JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise Unreadable("Our own extension of a track is no JSON.", line) from None


def said(extension: object, line: int | None = None) -> Said:
    """What an extension says, by Track's fields; names that we do not know are left aside."""
    if not isinstance(extension, dict):
        raise Unreadable("Our own extension of a track is no object.", line)
    found: Said = {}
    for name, value in extension.items():
        if name in _NAMES:
            kind = int if name == "durationMs" else str
            if value is not None and type(value) is not kind:
                raise Unreadable(f"The {name} of our own extension is of another type.", line)
            found[_NAMES[name]] = value
    return found
