"""XSPF, playlists in XML: reader and writer; every document type declaration is an error.

Without a declaration there are only the five entities of XML itself, so nothing expands and no file
is fetched. The reader ignores unknown elements with everything inside them.
"""

import re
from functools import partial
from typing import Any, Final
from weakref import proxy
from xml.parsers import expat
from xml.sax.saxutils import escape

from msgspec.structs import asdict, replace

from penstock.datastore.playlists.formats import extension
from penstock.datastore.playlists.formats.document import (
    AUDIO,
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

NAMESPACE: Final = "http://xspf.org/ns/0/"
MAX_DEPTH: Final = 32
MAX_NAMESPACE: Final = 256
"""Characters of a namespace's name, which the parser writes out at each use of its prefix."""

MAX_NAMES: Final = 1_000
"""Different names of elements, attributes and prefixes; the standard has some 30."""

PIECE: Final = 64 * 1024
"""Bytes that are parsed at once."""

MAX_MARKUP: Final = 4 * PIECE
"""Bytes of a tag or a comment, which is parsed as one."""

ENCODINGS: Final = ("UTF-8", "UTF-16", "ISO-8859-1", "Windows-1252", "US-ASCII")
"""The encodings that a file may declare; Python's own ones, such as `unicode_escape`, are none."""

_TRACK: Final = ("playlist", "trackList", "track")
_TITLE: Final = ("playlist", "title")
_TEXTS: Final = ("title", "creator", "album", "location", "identifier", "duration", "extension")
_KNOWN: Final = frozenset(name.lower() for name in (*ENCODINGS, "Latin-1"))
_ILLEGAL = re.compile("[^\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_WHOLE = re.compile(r"\d{1,12}", re.ASCII)


def write(document: PlaylistDocument) -> str:
    """The text of a file, which declares UTF-8."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<playlist version="1" xmlns="{NAMESPACE}">',
    ]
    if document.title is not None:
        lines.append(f"  <title>{_escape_text(document.title)}</title>")
    lines.append("  <trackList>")
    for each in document.tracks:
        lines += ["    <track>", *_track_elements(each), "    </track>"]
    return "\n".join([*lines, "  </trackList>", "</playlist>", ""])


class XspfParser:
    """Collects the elements of one file; `path` holds the names of the open elements.

    The encoding is given, or else the one that the file declares.
    """

    def __init__(self, encoding: str | None = None) -> None:
        self._parser = expat.ParserCreate(encoding, " ")
        self._parser.buffer_text = True
        # The parser must not hold this object: its memory would stay until a collection.
        collector: Any = proxy(self)
        if encoding is None:
            self._parser.XmlDeclHandler = partial(XspfParser._check_declaration, collector)
        self._parser.StartDoctypeDeclHandler = partial(XspfParser._refuse_doctype, collector)
        self._parser.StartNamespaceDeclHandler = partial(XspfParser._check_namespace, collector)
        self._parser.StartElementHandler = partial(XspfParser._start_element, collector)
        self._parser.EndElementHandler = partial(XspfParser._end_element, collector)
        self._parser.CharacterDataHandler = partial(XspfParser._add_text, collector)
        self._names = set[str | None]()
        self._path: list[str] = []
        self._parts: list[str] | None = None
        self._size = 0
        self._is_own = False
        self._said: dict[str, str] = {}
        self._line = 1
        self._found: Final = TrackCollector()
        self._fed = 0

    def feed(self, block: bytes, step: Step) -> None:
        for start in range(0, len(block), PIECE):
            step()
            piece = block[start : start + PIECE]
            self._parse(piece, is_last=False)
            self._fed += len(piece)
            # The parser holds a tag or a comment until it ends.
            if self._fed - self._parser.CurrentByteIndex > MAX_MARKUP:
                message = f"A tag or a comment has more than {MAX_MARKUP} bytes."
                raise UnreadablePlaylist(message, self._parser.CurrentLineNumber)

    def close(self) -> PlaylistDocument:
        self._parse(b"", is_last=True)
        return self._found.document()

    def _parse(self, block: bytes, *, is_last: bool) -> None:
        try:
            self._parser.Parse(block, is_last)
        except expat.ExpatError as error:
            raise UnreadablePlaylist("This is no XML.", error.lineno, error.offset + 1) from None

    def _check_names(self, *names: str | None) -> None:
        """Refuse many names of elements, attributes and prefixes: the parser keeps each."""
        self._names.update(names)
        if len(self._names) > MAX_NAMES:
            message = f"There are more than {MAX_NAMES} different names of elements and attributes."
            raise UnreadablePlaylist(message, self._parser.CurrentLineNumber)

    def _check_namespace(self, prefix: str | None, name: str | None) -> None:
        self._check_names(prefix)
        if name is not None and len(name) > MAX_NAMESPACE:
            message = f"The name of a namespace has more than {MAX_NAMESPACE} characters."
            raise UnreadablePlaylist(message, self._parser.CurrentLineNumber)

    def _check_declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _KNOWN:
            known = f"{', '.join(ENCODINGS[:-1])} or {ENCODINGS[-1]}"
            raise UnreadablePlaylist(f"The encoding that the file declares is not {known}.", 1)

    def _refuse_doctype(self, *_declaration: object) -> None:
        message = "A document type declaration is refused."
        raise UnreadablePlaylist(message, self._parser.CurrentLineNumber)

    def _start_element(self, tag: str, attributes: dict[str, str]) -> None:
        self._check_names(tag, *attributes)
        namespace, _, name = tag.rpartition(" ")
        self._path.append(name if namespace in ("", NAMESPACE) else "")
        if len(self._path) > MAX_DEPTH:
            message = f"Elements are nested more than {MAX_DEPTH} levels deep."
            raise UnreadablePlaylist(message, self._parser.CurrentLineNumber)
        if self._path[0] != "playlist":
            raise UnreadablePlaylist("The outermost element is no playlist of XSPF.", 1)
        if tuple(self._path) == _TRACK:
            self._said, self._line = {}, self._parser.CurrentLineNumber
        self._is_own = attributes.get("application") == extension.APPLICATION
        self._parts, self._size = ([], 0) if self._is_wanted() else (None, 0)

    def _is_wanted(self) -> bool:
        path = tuple(self._path)
        if path == _TITLE:
            return True
        inside = len(path) == 4 and path[:3] == _TRACK and path[3] in _TEXTS
        return inside and (path[3] != "extension" or self._is_own)

    def _add_text(self, text: str) -> None:
        if self._parts is None:
            return
        self._size += len(text)
        # The longest text is an extension.
        if self._size > extension.MAX_WRITTEN:
            raise UnreadablePlaylist("A text is too long.", self._parser.CurrentLineNumber)
        self._parts.append(text)

    def _end_element(self, _tag: str) -> None:
        path = tuple(self._path)
        if self._parts is not None:
            self._take_text(path, "".join(self._parts).strip())
            self._parts = None
        elif path == _TRACK:
            self._found.append(_build_track(self._said, self._line))
        self._path.pop()

    def _take_text(self, path: tuple[str, ...], text: str) -> None:
        if path == _TITLE:
            self._found.title = " ".join(text.split()) or None
        elif path[3] == "identifier":
            if text.startswith(AUDIO):
                self._said.setdefault("id", text.removeprefix(AUDIO))
        else:
            # If there are several locations, the format prefers the first.
            self._said.setdefault(path[3], text)


def _build_track(found: dict[str, str], line: int) -> FileTrack:
    fields: TrackFields = {name: found.get(name) for name in ("title", "creator", "album")}
    fields |= location_fields(uri_location(found.get("location", "")))
    if "id" in found:
        fields["id"] = found["id"]
    if _WHOLE.fullmatch(found.get("duration", "")):
        fields["duration_ms"] = int(found["duration"])
    if "extension" in found:
        fields |= extension.read_fields(extension.parse_extension(found["extension"], line), line)
    return build_track(fields, line)


def _track_elements(track: FileTrack) -> list[str]:
    lines = []
    if track.location is not None:
        lines.append(_text_element("location", location_uri(track.location)))
    if track.id is not None:
        lines.append(_text_element("identifier", f"{AUDIO}{track.id}"))
    texts = (("title", track.title), ("creator", track.creator), ("album", track.album))
    lines += [_text_element(name, text) for name, text in texts if text is not None]
    if track.duration_ms is not None:
        lines.append(_text_element("duration", f"{track.duration_ms}"))
    if missing := extension.missing_fields(track, _reread_plain(track)):
        text = escape(extension.write_extension(missing))
        lines.append(f'      <extension application="{extension.APPLICATION}">{text}</extension>')
    return lines


def _reread_plain(one: FileTrack) -> FileTrack:
    """The track as a reader of the standard elements alone would get it."""
    fields = asdict(one)
    for name in ("title", "creator", "album"):
        if (text := fields[name]) is not None:
            fields[name] = _clean_text(text).strip()
    if one.location is not None:
        fields["location"] = None
        fields |= location_fields(uri_location(location_uri(one.location)))
    if one.id is not None:
        fields["id"] = _clean_text(one.id).strip()
    return replace(build_track(fields), duration_ms=one.duration_ms)


def _text_element(name: str, text: str) -> str:
    return f"      <{name}>{_escape_text(text)}</{name}>"


def _escape_text(text: str) -> str:
    return escape(_clean_text(text))


def _clean_text(text: str) -> str:
    """The text in one line, without the characters that XML does not allow."""
    return _ILLEGAL.sub(" ", text)
