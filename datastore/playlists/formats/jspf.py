"""JSPF, the form of XSPF in JSON: reader and writer."""

from typing import Any

import msgspec

from penstock.datastore.playlists.formats import extension as own
from penstock.datastore.playlists.formats.document import (
    AUDIO,
    MAX_DURATION_MS,
    Document,
    Said,
    Track,
    Unreadable,
    add,
    location,
    place,
    track,
    uri,
)


class _Track(msgspec.Struct, omit_defaults=True):
    """A track in JSON; some writers use one text where the format requires a list."""

    location: list[str] | str | None = None
    identifier: list[str] | str | None = None
    title: str | None = None
    creator: str | None = None
    album: str | None = None
    duration: float | None = None
    extension: dict[str, Any] | None = None


class _Playlist(msgspec.Struct, omit_defaults=True):
    title: str | None = None
    track: list[_Track] = []


class _File(msgspec.Struct):
    playlist: _Playlist


def read(data: str | bytes) -> Document:
    """Read a playlist from a text or from UTF-8 bytes; raises Unreadable and TooManyTracks."""
    text = (
        data.removeprefix("\ufeff") if isinstance(data, str) else data.removeprefix(b"\xef\xbb\xbf")
    )
    try:
        found = msgspec.json.decode(text, type=_File).playlist
    except msgspec.DecodeError as error:
        raise Unreadable(f"This is no JSPF: {error}.") from None
    except (RecursionError, UnicodeError):
        raise Unreadable("This is no JSPF: it is nested too deeply, or no UTF-8.") from None
    tracks: list[Track] = []
    for each in found.track:
        add(tracks, _read(each))
    return Document(title=found.title, tracks=tuple(tracks))


def write(document: Document) -> str:
    """The text of a file, with indentation."""
    tracks = [_written(each) for each in document.tracks]
    encoded = msgspec.json.encode(_File(_Playlist(document.title, tracks)))
    return msgspec.json.format(encoded, indent=2).decode() + "\n"


def _read(found: _Track) -> Track:
    said: Said = {"title": found.title, "creator": found.creator, "album": found.album}
    if places := _several(found.location):
        said |= place(location(places[0]))
    ids = [text for text in _several(found.identifier) if text.startswith(AUDIO)]
    if ids:
        said["id"] = ids[0].removeprefix(AUDIO)
    if found.duration is not None and 0 <= found.duration <= MAX_DURATION_MS:
        said["duration_ms"] = round(found.duration)
    extensions = (found.extension or {}).get(own.APPLICATION)
    if isinstance(extensions, list) and extensions:
        said |= own.said(extensions[0])
    return track(said)


def _several(found: list[str] | str | None) -> list[str]:
    return [found] if isinstance(found, str) else found or []


def _written(one: Track) -> _Track:
    plain = _Track(
        location=None if one.location is None else [uri(one.location)],
        identifier=None if one.id is None else [f"{AUDIO}{one.id}"],
        title=one.title,
        creator=one.creator,
        album=one.album,
        duration=one.duration_ms,
    )
    if missing := own.extension(one, _read(plain)):
        plain.extension = {own.APPLICATION: [missing]}
    return plain
