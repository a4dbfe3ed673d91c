"""JSPF, the form of XSPF in JSON: reader and writer."""

from codecs import BOM_UTF8
from typing import Final, TypeVar

import msgspec

from penstock.datastore.playlists.formats import extension as playlist_extension
from penstock.datastore.playlists.formats.document import (
    AUDIO,
    MAX_DURATION_MS,
    FileTrack,
    PlaylistDocument,
    Step,
    TrackCollector,
    TrackFields,
    UnreadablePlaylist,
    build_track,
    location_fields,
    location_uri,
    uri_location,
)
from penstock.datastore.playlists.formats.jspf_scanner import NO_JSON, JspfScanner
from penstock.datastore.unreadable_json import describe_unreadable

T = TypeVar("T")


class _Extensions(msgspec.Struct):
    """Our own extension; those of others are passed over, however many they are."""

    own: msgspec.Raw = msgspec.field(name=playlist_extension.APPLICATION, default=msgspec.Raw())


class _Track(msgspec.Struct, omit_defaults=True):
    """A track in JSON; some writers use one text where the format requires a list."""

    location: list[str] | str | None = None
    identifier: list[str] | str | None = None
    title: str | None = None
    creator: str | None = None
    album: str | None = None
    duration: float | None = None
    extension: _Extensions | None = None


class _Playlist(msgspec.Struct, omit_defaults=True):
    title: str | None = None
    track: list[_Track] = []


class _File(msgspec.Struct):
    playlist: _Playlist


class JspfParser:
    """Reads a playlist in UTF-8, track by track."""

    def __init__(self) -> None:
        self._found: Final = TrackCollector()
        self._scanner: Final = JspfScanner()
        self._head: bytes | None = b""

    def feed(self, block: bytes, step: Step) -> None:
        if self._head is not None:
            self._head += block
            if len(self._head) < len(BOM_UTF8):
                return
            block, self._head = self._head.removeprefix(BOM_UTF8), None
        for text in self._scanner.scan(block):
            step()
            place = f"$.playlist.track[{self._found.count}]"
            self._found.append(_read_track(_decode(text, _Track, place)))

    def close(self) -> PlaylistDocument:
        if self._head is not None:
            self._scanner.scan(self._head)
        self._found.title = _decode(bytes(self._scanner.rest), _File, "$").playlist.title
        return self._found.document()


def _decode(text: bytes, type: type[T], place: str) -> T:
    """Decode a part of the file, which stands at a place of it."""
    try:
        return msgspec.json.decode(text, type=type)
    except msgspec.ValidationError as error:
        words = describe_unreadable(error, "$" if place != "$" else "$.playlist")
        raise UnreadablePlaylist(f"This is no JSPF: {place}{words.removeprefix('$')}.") from None
    except msgspec.DecodeError:
        raise UnreadablePlaylist(NO_JSON) from None
    except (RecursionError, UnicodeError):
        raise UnreadablePlaylist("This is no JSPF: it is nested too deeply, or no UTF-8.") from None


def write(document: PlaylistDocument) -> str:
    """The text of a file, with indentation."""
    tracks = [_track_object(each) for each in document.tracks]
    encoded = msgspec.json.encode(_File(_Playlist(document.title, tracks)))
    return msgspec.json.format(encoded, indent=2).decode() + "\n"


def _read_track(found: _Track) -> FileTrack:
    fields: TrackFields = {"title": found.title, "creator": found.creator, "album": found.album}
    if places := _as_list(found.location):
        fields |= location_fields(uri_location(places[0]))
    ids = [text for text in _as_list(found.identifier) if text.startswith(AUDIO)]
    if ids:
        fields["id"] = ids[0].removeprefix(AUDIO)
    if found.duration is not None and 0 <= found.duration <= MAX_DURATION_MS:
        fields["duration_ms"] = round(found.duration)
    if found.extension is not None:
        fields |= _read_extension(found.extension.own)
    return build_track(fields)


def _read_extension(own: msgspec.Raw) -> TrackFields:
    """The fields in our own extension, the first entry of a list; none in what is no such list."""
    written = bytes(own)
    if len(written) > playlist_extension.MAX_WRITTEN:
        raise UnreadablePlaylist("Our own extension of a track is too long.")
    found = playlist_extension.parse_extension(written) if written else None
    return playlist_extension.read_fields(found[0]) if isinstance(found, list) and found else {}


def _as_list(found: list[str] | str | None) -> list[str]:
    return [found] if isinstance(found, str) else found or []


def _track_object(one: FileTrack) -> _Track:
    plain = _Track(
        location=None if one.location is None else [location_uri(one.location)],
        identifier=None if one.id is None else [f"{AUDIO}{one.id}"],
        title=one.title,
        creator=one.creator,
        album=one.album,
        duration=one.duration_ms,
    )
    if missing := playlist_extension.missing_fields(one, _read_track(plain)):
        plain.extension = _Extensions(msgspec.Raw(msgspec.json.encode([missing])))
    return plain
