"""The handshake of a WebSocket: the fields that the protocol demands (RFC 6455, 4)."""

import re
from typing import Final

from websockets import http11

from penstock.server.connections.refusals import BAD_HANDSHAKE, HEAD_TOO_LARGE, RefusedRequest

_FIELD: Final = re.compile(
    rb"\r\n(sec-websocket-key|sec-websocket-version|sec-websocket-protocol):[ \t]*+([^\r]*+)",
    re.IGNORECASE,
)
_KEY: Final = re.compile(rb"[A-Za-z0-9+/]{22}==")
_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
_NEXT: Final = rb"[ \t]*+,[ \t,]*+"
_TOKENS: Final = re.compile(
    rb"[ \t,]*+" + _TOKEN + rb"(?:" + _NEXT + _TOKEN + rb")*(?:" + _NEXT + rb")?"
)

MAX_PROTOCOLS: Final = 1_024
"""Bytes of names of protocols: each takes a microsecond, before a token is known."""

_ADDED: Final = 3
"""The end of a line, and the space that uvicorn writes behind a field's colon."""


def check_handshake(raw: bytes) -> None:
    """Raise RefusedRequest if uvicorn would refuse the handshake, or leave it unanswered."""
    if max(map(len, raw.split(b"\r\n"))) + _ADDED > http11.MAX_LINE_LENGTH:
        raise RefusedRequest(HEAD_TOO_LARGE)
    fields: dict[bytes, list[bytes]] = {}
    for name, value in _FIELD.findall(raw):
        fields.setdefault(name.lower(), []).append(value)
    keys = fields.get(b"sec-websocket-key", [])
    versions = fields.get(b"sec-websocket-version", [])
    protocols = fields.get(b"sec-websocket-protocol", [])
    is_keyed = len(keys) == 1 and _KEY.fullmatch(keys[0]) is not None
    are_few = sum(map(len, protocols)) <= MAX_PROTOCOLS
    are_named = are_few and all(map(_TOKENS.fullmatch, protocols))
    if not (is_keyed and versions == [b"13"] and are_named):
        raise RefusedRequest(BAD_HANDSHAKE)
