"""The answers to requests that are refused before the application sees them."""

from typing import Final, NamedTuple

import orjson

from penstock.datastore.errors import ErrorCode
from penstock.schema.core.errors import add_details, format_error


class RefusedRequest(Exception):
    """The client gets this answer, and the connection ends."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self.answer = answer


class _Status(NamedTuple):
    line: str
    fields: str = ""


def _write_answer(status: _Status, code: ErrorCode, message: str) -> bytes:
    body = orjson.dumps({"errors": add_details([format_error(message, code)], None)})
    head = (
        f"HTTP/1.1 {status.line}\r\ncontent-type: application/json; charset=utf-8\r\n"
        f"cache-control: no-store\r\nconnection: close\r\n{status.fields}"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


MALFORMED: Final = _write_answer(
    _Status("400 Bad Request"), ErrorCode.BAD_REQUEST, "The request is not valid HTTP."
)
BAD_HANDSHAKE: Final = _write_answer(
    _Status("400 Bad Request", "sec-websocket-version: 13\r\n"),
    ErrorCode.BAD_REQUEST,
    "The handshake is not one of a WebSocket: it needs a key and the version 13.",
)
UNKNOWN_METHOD: Final = _write_answer(
    _Status("405 Method Not Allowed", "allow: GET, HEAD, POST, OPTIONS\r\n"),
    ErrorCode.METHOD_NOT_ALLOWED,
    "The server does not know the method of the request.",
)
HEAD_TOO_LATE: Final = _write_answer(
    _Status("408 Request Timeout"), ErrorCode.TIMEOUT, "The head of the request came too slowly."
)
HEAD_TOO_LARGE: Final = _write_answer(
    _Status("431 Request Header Fields Too Large"),
    ErrorCode.PAYLOAD_TOO_LARGE,
    "The head of the request is larger than 32 KiB or has more than 100 fields.",
)
TOO_MANY_CONNECTIONS: Final = _write_answer(
    _Status("503 Service Unavailable", "retry-after: 1\r\n"),
    ErrorCode.SERVICE_UNAVAILABLE,
    "The server has too many open connections.",
)
TOO_MUCH_BODY_OF_CLIENT: Final = _write_answer(
    _Status("429 Too Many Requests", "retry-after: 1\r\n"),
    ErrorCode.RATE_LIMITED,
    "Your requests that are under way have bodies of too many bytes together.",
)
TOO_MUCH_BODY: Final = _write_answer(
    _Status("503 Service Unavailable", "retry-after: 1\r\n"),
    ErrorCode.SERVICE_UNAVAILABLE,
    "The requests that are under way have bodies of too many bytes together.",
)
