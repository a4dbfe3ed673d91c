"""A whole answer in one piece, with the headers every GraphQL answer carries."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

from starlette.types import Send

from server.negotiation import MediaType


@dataclass(frozen=True, slots=True)
class Response:
    """Status, headers with lower-case names, and body."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send(self, send: Send, request_id: str) -> None:
        headers = [(b"x-request-id", request_id.encode())]
        if self.status not in (204, 304):
            headers.append((b"content-length", b"%d" % len(self.body)))
        headers += [(name.encode(), text.encode("latin-1")) for name, text in self.headers.items()]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def graphql_response(
    status: int, body: bytes, media: MediaType, headers: Mapping[str, str]
) -> Response:
    """Dress a body; what it holds depends on who asked, so no shared cache may keep it."""
    common = {
        "content-type": media.header,
        "cache-control": "no-store",
        "vary": "accept, authorization, x-penstock-cost",
        "x-content-type-options": "nosniff",
    }
    return Response(status, body, common | dict(headers))


def cached(response: Response, if_none_match: str | None) -> Response:
    """Let the client keep the answer of a GET; 304 where it holds that very one already."""
    tag = f'"{urlsafe_b64encode(sha256(response.body).digest()[:18]).decode()}"'
    headers = dict(response.headers) | {"etag": tag, "cache-control": "private, no-cache"}
    held = [one.strip().removeprefix("W/") for one in (if_none_match or "").split(",")]
    if tag in held or "*" in held:
        return Response(304, b"", headers)
    return replace(response, headers=headers)
