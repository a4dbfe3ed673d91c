"""The head of a request: framed in one way, or refused."""

import re
from typing import Final, NamedTuple

from penstock.server.connections.refusals import HEAD_TOO_LARGE, MALFORMED, RefusedRequest

MAX_HEAD_BYTES: Final = 32 * 1024
MAX_FIELDS: Final = 100
END: Final = b"\r\n\r\n"

_LINES_BESIDE_FIELDS: Final = 2
_HEALTH_TARGETS: Final = (b"/healthz", b"/readyz")
# Possessive quantifiers never try a match again, so the time is linear in the length of the head.
_HEAD: Final = re.compile(
    rb"(?!CONNECT )[A-Z-]++ [!-~]++ HTTP/1\.[01]\r\n"
    rb"(?:[!#$%&'*+.^_`|~0-9A-Za-z-]++:[\t -~\x80-\xff]*+\r\n)*+\r\n"
)
# The head must be in lower case.
_FRAMING: Final = re.compile(
    rb"\r\n(content-length|transfer-encoding|connection|upgrade|http2-settings):([^\r]*+)"
)
_LENGTH: Final = re.compile(rb"[0-9]{1,18}")
_OF_UPGRADES: Final = (b"upgrade", b"http2-settings")


class RequestHead(NamedTuple):
    """The framing of a request, and its head in the form that is handed on.

    `upgrades` tells whether it opens a WebSocket, and `is_last` whether it ends its connection.
    """

    raw: bytes
    length: int = 0
    chunked: bool = False
    upgrades: bool = False
    is_last: bool = False

    @property
    def asks_for_health(self) -> bool:
        method, target, _ = self.raw.split(b" ", 2)
        return method in (b"GET", b"HEAD") and target.partition(b"?")[0] in _HEALTH_TARGETS

    def as_last(self) -> "RequestHead":
        """Return the head of the same request as the last one of its connection."""
        return self._replace(raw=self.raw[:-2] + b"connection: close\r\n\r\n", is_last=True)


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

    What is handed on has no spaces behind values, and no Upgrade that is ignored.
    """
    check_head_size(len(raw), raw.count(b"\r\n"))
    if _HEAD.fullmatch(raw) is None:
        raise RefusedRequest(MALFORMED)
    if b" \r\n" in raw or b"\t\r\n" in raw:
        raw = _without_spaces_behind(raw)
    lower = raw.lower()
    is_last = b" http/1.0\r\n" in lower
    found = _FRAMING.findall(lower)
    if not found:
        return RequestHead(raw, is_last=is_last)
    fields: dict[bytes, list[bytes]] = {}
    for name, value in found:
        fields.setdefault(name, []).append(value.strip(b" \t"))
    return _frame_request(raw, fields, is_last)


def _frame_request(raw: bytes, fields: dict[bytes, list[bytes]], is_last: bool) -> RequestHead:
    length = _content_length(fields)
    chunked = _is_chunked(fields, is_last)
    options = _list_options(fields.get(b"connection", ()))
    upgrades = False
    if b"upgrade" in fields:
        upgrades = (
            fields[b"upgrade"] == [b"websocket"]
            and b"upgrade" in options
            and raw.startswith(b"GET ")
            and not (is_last or chunked or length)
        )
    if not upgrades and not fields.keys().isdisjoint(_OF_UPGRADES):
        raw = _without_upgrade(raw)
    return RequestHead(raw, length, chunked, upgrades, is_last or b"close" in options)


def _content_length(fields: dict[bytes, list[bytes]]) -> int:
    match fields.get(b"content-length"):
        case None:
            return 0
        case [one] if _LENGTH.fullmatch(one):
            return int(one)
    raise RefusedRequest(MALFORMED)


def _is_chunked(fields: dict[bytes, list[bytes]], is_old: bool) -> bool:
    codings = fields.get(b"transfer-encoding")
    if codings is None:
        return False
    if codings != [b"chunked"] or b"content-length" in fields or is_old:
        raise RefusedRequest(MALFORMED)
    return True


def _list_options(values: "tuple[()] | list[bytes]") -> list[bytes]:
    return [option.strip(b" \t") for value in values for option in value.split(b",")]


def _without_spaces_behind(raw: bytes) -> bytes:
    return b"\r\n".join([line.rstrip(b" \t") for line in raw.split(b"\r\n")])


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
