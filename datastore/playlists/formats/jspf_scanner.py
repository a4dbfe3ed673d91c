"""A scanner that takes the tracks out of a JSPF file, piece by piece, and leaves the rest of it."""

import re
from typing import Final

import msgspec

from penstock.datastore.playlists.formats.document import MAX_BYTES, UnreadablePlaylist
from penstock.datastore.unreadable_json import JSON_ERRORS

NO_JSON: Final = "This is no JSPF: it is no JSON."

_OUTSIDE: Final = re.compile(rb'["{}\[\]]')
_INSIDE: Final = re.compile(rb'["\\]')
_PAIRS: Final = {ord("}"): ord("{"), ord("]"): ord("[")}
_LIST: Final = b"{{["
"""The brackets that are open inside the list of tracks: the file, the playlist and the list."""


class JspfScanner:
    """Finds the objects in `$.playlist.track`; they are checked as JSON by whoever reads them.

    `rest` is the file with empty objects in their place. Of the rest and of each track at most
    MAX_BYTES are kept.
    """

    def __init__(self) -> None:
        self.rest: Final = bytearray()
        self._open: Final = bytearray()
        self._track: bytearray | None = None
        self._name: bytearray | None = None
        self._names: Final = [b"", b"", b""]
        self._in_string = False
        self._escaped = False

    def scan(self, block: bytes) -> list[bytes]:
        """Take the next bytes of the file; return the tracks that end in them."""
        tracks: list[bytes] = []
        at = 0
        while at < len(block):
            if self._escaped:
                self._keep(block[at : at + 1])
                self._escaped, at = False, at + 1
                continue
            found = (_INSIDE if self._in_string else _OUTSIDE).search(block, at)
            end = len(block) if found is None else found.start()
            self._keep(block[at:end])
            if found is None:
                break
            self._take(block[end], tracks)
            at = end + 1
        return tracks

    def _take(self, mark: int, tracks: list[bytes]) -> None:
        """Take a quote, a bracket, or the backslash of a string."""
        byte = bytes((mark,))
        if byte == b"\\":
            self._escaped = True
            self._keep(byte)
        elif byte == b'"':
            self._keep(byte)
            self._turn_string()
        elif byte in b"{[":
            self._open_bracket(byte)
        else:
            self._close_bracket(mark, tracks)

    def _turn_string(self) -> None:
        """Begin or end a string; the last one at a depth is the name of the value behind it."""
        self._in_string = not self._in_string
        depth = len(self._open)
        if self._in_string:
            self._name = bytearray() if 0 < depth < len(_LIST) else None
        elif self._name is not None:
            self._names[depth] = _read_name(bytes(self._name))
            self._name = None

    def _open_bracket(self, byte: bytes) -> None:
        if self._track is None and byte == b"{" and self._is_in_list():
            self.rest.extend(b"{}")
            self._track = bytearray()
        self._keep(byte)
        self._open.extend(byte)

    def _close_bracket(self, mark: int, tracks: list[bytes]) -> None:
        if not self._open or self._open.pop() != _PAIRS[mark]:
            raise UnreadablePlaylist(NO_JSON)
        self._keep(bytes((mark,)))
        if self._track is not None and len(self._open) == len(_LIST):
            tracks.append(bytes(self._track))
            self._track = None

    def _is_in_list(self) -> bool:
        return self._open == _LIST and self._names[1:] == [b"playlist", b"track"]

    def _keep(self, piece: bytes) -> None:
        if self._name is not None:
            self._name.extend(piece)
        kept = self.rest if self._track is None else self._track
        kept.extend(piece)
        if len(kept) > MAX_BYTES:
            raise UnreadablePlaylist("A part of the file is too long.")


def _read_name(text: bytes) -> bytes:
    """The name of a value in UTF-8, of its text between quotes."""
    try:
        return msgspec.json.decode(b'"%b' % text, type=str).encode()
    except JSON_ERRORS:
        return b""
