"""A whole answer in one piece, with the headers every GraphQL answer carries."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Final, TypeAlias

import msgspec
from starlette.types import Send

from penstock.server.negotiation import MediaType

Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]

_BODILESS: Final = (204, 304)
"""Statuses of answers that have no body, whatever their length says."""

_UNSHARED: Final = {
    "vary": "accept, authorization, x-penstock-cost",
    "x-content-type-options": "nosniff",
}


class Response(msgspec.Struct, frozen=True):
    """Status, body, and headers as ASGI has them, their names in lower case."""

    status: int
    body: bytes = b""
    headers: Headers = ()

    async def send(self, send: Send, request_id: str) -> None:
        headers = [(b"x-request-id", request_id.encode()), *self.headers]
        if self.status not in _BODILESS:
            headers.append((b"content-length", b"%d" % len(self.body)))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def headers_of(named: Mapping[str, str]) -> Headers:
    return tuple((name.encode(), text.encode("latin-1")) for name, text in named.items())


def _common(media: MediaType, caching: str) -> Headers:
    """What an answer holds depends on who asked, so no shared cache may keep it."""
    return headers_of({"content-type": media.header, "cache-control": caching, **_UNSHARED})


_COMMON: Final = {media: _common(media, "no-store") for media in MediaType}
_CACHED: Final = {media: _common(media, "private, no-cache") for media in MediaType}


def graphql_response(
    status: int, body: bytes, media: MediaType, headers: Mapping[str, str]
) -> Response:
    """Dress a body; `headers` are those that this answer has beside the usual ones."""
    common = _COMMON[media]
    return Response(status, body, common + headers_of(headers) if headers else common)


def cached(body: bytes, media: MediaType, if_none_match: str | None) -> Response:
    """Let the client keep the answer of a GET; 304 where it holds that very one already."""
    tag = f'"{urlsafe_b64encode(sha256(body).digest()[:18]).decode()}"'
    headers = (*_CACHED[media], (b"etag", tag.encode()))
    held = [one.strip().removeprefix("W/") for one in (if_none_match or "").split(",")]
    if tag in held or "*" in held:
        return Response(304, b"", headers)
    return Response(200, body, headers)
