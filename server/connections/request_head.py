"""The head of a request: framed in one way, or refused."""

import re
from typing import Final

import msgspec
from httptools import HttpParserInvalidURLError, parse_url

from penstock.server.connections.refusals import (
    HEAD_TOO_LARGE,
    MALFORMED,
    UNKNOWN_METHOD,
    RefusedRequest,
)
from penstock.server.connections.single_fields import SINGLE_FIELDS, check_single_fields

MAX_HEAD_BYTES: Final = 32 * 1024
MAX_FIELDS: Final = 100
END: Final = b"\r\n\r\n"

_LINES_BESIDE_FIELDS: Final = 2
_PROBES: Final = tuple(
    b"%b %b%b" % (method, target, end)
    for method in (b"GET", b"HEAD")
    for target in (b"/healthz", b"/readyz")
    for end in (b" ", b"?")
)
_TEXT: Final = b"\t" + bytes(range(0x20, 0x7F)) + bytes(range(0x80, 0x100))
# Possessive quantifiers never try a match again, and a line is tried again as a whole only: so the
# time is linear in the length of the head.
_REST: Final = (
    rb" [!-~]++ HTTP/1\.[01]\r\n"
    rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]++:[^\r]*+(?<![ \t])\r\n)*\r\n"
)
# httptools refuses other methods in an answer of its own, and uvicorn logs each of them.
_METHODS: Final = (
    rb"(?:GET|POST|OPTIONS|HEAD|PUT|DELETE|PATCH|TRACE|ACL|BIND|CHECKOUT|COPY|LINK|LOCK|M-SEARCH"
    rb"|MERGE|MKACTIVITY|MKCALENDAR|MKCOL|MOVE|NOTIFY|PROPFIND|PROPPATCH|PURGE|QUERY|REBIND|REPORT"
    rb"|SEARCH|SOURCE|SUBSCRIBE|UNBIND|UNLINK|UNLOCK|UNSUBSCRIBE)"
)
_HEAD: Final = re.compile(_METHODS + _REST)
_WITH_ANY_METHOD: Final = re.compile(rb"(?!CONNECT )[A-Z-]++" + _REST)
_OF_UPGRADES: Final = (b"upgrade", b"http2-settings")
_FRAMING_BESIDE_LENGTH: Final = (b"transfer-encoding", *_OF_UPGRADES)
# The head must be in lower case.
_FIELDS: Final = re.compile(
    rb"\r\n("
    + b"|".join((*SINGLE_FIELDS, b"content-length", *_FRAMING_BESIDE_LENGTH))
    + rb"):([^\r]*+)"
)
_OPTIONS: Final = re.compile(rb"\r\nconnection:([^\r]*+)")
_MOST_DIGITS: Final = 18
_NOT_OF_HANDSHAKES: Final = (b"connection:", b"content-length:")
_TOKEN_FIELD: Final = b"\r\nauthorization:"


class RequestHead(msgspec.Struct, frozen=True):
    """The framing of a request, and its head in the form that is handed on.

    `upgrades` tells whether it opens a WebSocket.
    """

    raw: bytes
    length: int = 0
    chunked: bool = False
    upgrades: bool = False

    @property
    def brings_token(self) -> bool:
        """Whether the head has a token, which is not checked yet."""
        return _TOKEN_FIELD in self.raw.lower()

    @property
    def asks_for_health(self) -> bool:
        return is_health_probe(self.raw)

    def as_last(self) -> "RequestHead":
        """Return the head of the same request as the last one of its connection."""
        return msgspec.structs.replace(self, raw=self.raw[:-2] + b"connection: close\r\n\r\n")


def is_health_probe(raw: bytes | bytearray) -> bool:
    """Tell whether the bytes of a head ask for the health of the server."""
    return raw.startswith(_PROBES)


def check_head_size(size: int, lines: int) -> None:
    """Raise RefusedRequest if a head, or the part that has come, is too large."""
    if size > MAX_HEAD_BYTES or lines > MAX_FIELDS + _LINES_BESIDE_FIELDS:
        raise RefusedRequest(HEAD_TOO_LARGE)


def check_begun_head(begun: bytearray, lines: int, start: int) -> None:
    """Raise RefusedRequest if the part of a head, with `lines` from `start` on, begins no request.

    A client that speaks another protocol would otherwise wait until its time is over.
    """
    can_begin = not begun or begun[:1].isupper() or begun == b"\r"
    if not can_begin or begun.count(b"\r\n", max(0, start - 1)) != lines:
        raise RefusedRequest(MALFORMED)


def parse_head(raw: bytes) -> RequestHead:
    """Parse a head with its empty line; raises RefusedRequest if two servers could differ on it.

    What is handed on has no spaces behind values, no Upgrade that is ignored, and one field
    `Connection` with one that is not.
    """
    controls = raw.translate(None, _TEXT)
    check_head_size(len(raw), len(controls) // 2)
    if controls.count(b"\r\n") * 2 != len(controls):
        raise RefusedRequest(MALFORMED)
    if _HEAD.fullmatch(raw) is None:
        raw = _without_spaces_behind(raw)
        if _HEAD.fullmatch(raw) is None:
            is_well_formed = _WITH_ANY_METHOD.fullmatch(raw) is not None
            raise RefusedRequest(UNKNOWN_METHOD if is_well_formed else MALFORMED)
    _check_target(raw.split(b" ", 2)[1])
    lower = raw.lower()
    found = _FIELDS.findall(lower)
    fields = dict(found)
    check_single_fields(found, fields, lower.split(b" ", 2)[1])
    if not fields.keys().isdisjoint(_FRAMING_BESIDE_LENGTH) or len(fields) < len(found):
        return _frame_request(raw, lower, found)
    length = fields.get(b"content-length")
    return RequestHead(raw, 0 if length is None else _parse_length(length))


def _check_target(target: bytes) -> None:
    """Raise RefusedRequest for a target that is none.

    uvicorn writes a warning of one without a path, and takes away a fragment, which a proxy may not
    do (RFC 9112, 3.2).
    """
    if b"#" in target:
        raise RefusedRequest(MALFORMED)
    if target.startswith(b"/"):
        return
    try:
        path = parse_url(target).path
    except HttpParserInvalidURLError:
        path = None
    if path is None:
        raise RefusedRequest(MALFORMED)


def _frame_request(raw: bytes, lower: bytes, found: list[tuple[bytes, bytes]]) -> RequestHead:
    fields: dict[bytes, list[bytes]] = {}
    for name, value in found:
        fields.setdefault(name, []).append(value)
    is_modern = lower.partition(b"\r\n")[0].endswith(b" http/1.1")
    lengths, codings = fields.get(b"content-length", []), fields.get(b"transfer-encoding", [])
    if len(lengths) + len(codings) > 1:
        raise RefusedRequest(MALFORMED)
    if codings and not (is_modern and codings[0].strip(b" \t") == b"chunked"):
        raise RefusedRequest(MALFORMED)
    length = _parse_length(lengths[0]) if lengths else 0
    upgrades = _opens_websocket(raw, lower, fields) and is_modern and length == 0 and codings == []
    if upgrades:
        raw = _with_one_connection_field(raw)
    elif not fields.keys().isdisjoint(_OF_UPGRADES):
        raw = _without_upgrade(raw)
    return RequestHead(raw, length, codings != [], upgrades)


def _parse_length(value: bytes) -> int:
    digits = value.strip(b" \t")
    if not digits.isdigit() or len(digits) > _MOST_DIGITS:
        raise RefusedRequest(MALFORMED)
    return int(digits)


def _opens_websocket(raw: bytes, lower: bytes, fields: dict[bytes, list[bytes]]) -> bool:
    upgrades = [value.strip(b" \t") for value in fields.get(b"upgrade", ())]
    options = b",".join(_OPTIONS.findall(lower)).split(b",")
    is_wanted = b"upgrade" in [option.strip(b" \t") for option in options]
    return upgrades == [b"websocket"] and is_wanted and raw.startswith(b"GET ")


def _without_spaces_behind(raw: bytes) -> bytes:
    first, *lines = raw.split(b"\r\n")
    return b"\r\n".join([first, *(line.rstrip(b" \t") for line in lines)])


def _with_one_connection_field(raw: bytes) -> bytes:
    """Return the head of a handshake with `Upgrade` as its only connection option, and no length.

    The fields of one name are one list (RFC 9110, 5.3), of which uvicorn reads the last line only.
    A length is zero here, and the WebSocket protocol reads only one way to write that.
    """
    lines = raw.split(b"\r\n")
    kept = [line for line in lines[:-2] if not line.lower().startswith(_NOT_OF_HANDSHAKES)]
    return b"\r\n".join([*kept, b"connection: Upgrade", b"", b""])


def _without_upgrade(raw: bytes) -> bytes:
    """Return the head without Upgrade, whose server may ignore it (RFC 9110, 7.8)."""
    kept = []
    for line in raw.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() in _OF_UPGRADES:
            continue
        if name.lower() == b"connection":
            options = [
                option
                for option in value.split(b",")
                if option.strip(b" \t").lower() not in _OF_UPGRADES
            ]
            kept.append(name + b":" + b",".join(options))
        else:
            kept.append(line)
    return b"\r\n".join(kept)
