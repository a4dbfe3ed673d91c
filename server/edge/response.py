"""HTTP answers: JSON encoding, error problems with their statuses, and GraphQL responses."""

from asyncio import CancelledError
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import msgspec
from starlette.types import Send

from penstock.datastore.errors import ErrorCode, NotAuthenticated, PenstockError
from penstock.datastore.periodic import is_cancelled
from penstock.schema.core.errors import (
    FormattedError,
    add_details,
    format_error,
    format_known_error,
    mask_internal_error,
)
from penstock.server.core.headers import MediaType

Statuses: TypeAlias = Literal["2025", "draft"]

_NO_HEADERS: Final[Mapping[str, str]] = MappingProxyType({})
_STATUS: Final[Mapping[str, int]] = MappingProxyType(
    {
        ErrorCode.UNAUTHENTICATED: 401,
        ErrorCode.FORBIDDEN: 403,
        ErrorCode.CSRF_PREVENTED: 403,
        ErrorCode.METHOD_NOT_ALLOWED: 405,
        ErrorCode.NOT_ACCEPTABLE: 406,
        ErrorCode.PAYLOAD_TOO_LARGE: 413,
        ErrorCode.UNSUPPORTED_MEDIA_TYPE: 415,
        ErrorCode.RATE_LIMITED: 429,
        ErrorCode.INTERNAL_SERVER_ERROR: 500,
        ErrorCode.SERVICE_UNAVAILABLE: 503,
        ErrorCode.TIMEOUT: 504,
    }
)
# Under the draft an ill-formed request gets 400 only if it could not be parsed, else 422.
_UNREADABLE: Final = frozenset((ErrorCode.GRAPHQL_PARSE_FAILED.value, ErrorCode.BAD_REQUEST.value))


class HttpProblem(Exception):
    """The request gets an error answer; `status` overrides the status of the code."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        status: int | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        super().__init__(message)
        self.error: FormattedError = format_error(message, code)
        self.status = status or _STATUS.get(code, 400)
        self.headers = headers

    def describe(self, request_id: str) -> dict[str, list[FormattedError]]:
        """Return the body of the answer."""
        return {"errors": add_details([self.error], request_id)}


class MalformedRequest(HttpProblem):
    """The body or the URL was readable, but is not a well-formed GraphQL request."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.BAD_REQUEST, message)


def refusal_problem(error: PenstockError, *, with_token: bool) -> HttpProblem:
    """Build the problem for a caller who is not authenticated, or who may not run the operation."""
    problem = HttpProblem(error.code, error.message)
    problem.error = format_known_error(error)
    if isinstance(error, NotAuthenticated):
        invalid = ', error="invalid_token"' if with_token else ""
        problem.headers = {"www-authenticate": f'Bearer realm="penstock"{invalid}'}
    retry_after = getattr(error, "retry_after", None)
    if retry_after is not None:
        problem.headers = {"retry-after": str(retry_after)}
    return problem


def cancelled_problem(error: CancelledError, request_id: str) -> HttpProblem:
    """Build the problem for a request that a cancel ended.

    Only a stopping server cancels requests. Otherwise the request awaited something that was
    cancelled, which is a fault.
    """
    return stopping_problem() if is_cancelled() else internal_problem(error, request_id)


def stopping_problem() -> HttpProblem:
    """Build the problem for a request that a stopping server cannot finish or start."""
    headers = {"retry-after": "1", "connection": "close"}
    return HttpProblem(ErrorCode.SERVICE_UNAVAILABLE, "The server is stopping.", headers=headers)


def internal_problem(error: BaseException, request_id: str) -> HttpProblem:
    """Log an unexpected exception; its answer reveals only the request id."""
    shown = mask_internal_error(error, request_id)
    problem = HttpProblem(ErrorCode(shown["extensions"]["code"]), shown["message"])
    problem.error = shown
    if (wait := shown["extensions"].get("retryAfter")) is not None:
        problem.headers = {"retry-after": str(wait)}
    return problem


def status_of(body: Mapping[str, object], code: str | None, *, json: bool, draft: bool) -> int:
    """Return the status of a GraphQL answer; `code` is that of its first error.

    With the statuses of 2025, clients of plain JSON (`json`) get 200 for errors of GraphQL itself.
    """
    if code is None:
        return 200
    if "data" in body:
        return 294 if draft and not json else 200
    if code in _STATUS:
        return _STATUS[code]
    if draft:
        return 400 if code in _UNREADABLE else 422
    return 200 if json and code != ErrorCode.BAD_REQUEST else 400


RawHeaders: TypeAlias = tuple[tuple[bytes, bytes], ...]

LARGE_BYTES: Final = 64 * 1024
"""Larger answers keep the turn of their caller until the client has taken them from the server."""

_BODILESS: Final = (204, 304)
"""Statuses of answers without a body and without a Content-Length."""

_UNSHARED: Final = {
    "vary": "accept, authorization, penstock-consistency, x-penstock-cost",
    "x-content-type-options": "nosniff",
}


class HttpResponse(msgspec.Struct, frozen=True):
    """Status, body, and headers in ASGI's form, with names in lower case.

    `turn_of` is the caller whose turn ends when the answer is sent.
    """

    status: int
    body: bytes = b""
    headers: RawHeaders = ()
    turn_of: str | None = None

    async def send(self, send: Send, request_id: str) -> None:
        headers = [(b"x-request-id", request_id.encode()), *self.headers]
        if self.status not in _BODILESS:
            headers.append((b"content-length", b"%d" % len(self.body)))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        if len(self.body) > LARGE_BYTES:
            await send_until_taken(send, self.body)
        else:
            await send({"type": "http.response.body", "body": self.body})


async def send_until_taken(send: Send, body: bytes | memoryview) -> None:
    """Send a whole body; this returns when the client has taken it from the server."""
    await send({"type": "http.response.body", "body": body, "more_body": True})
    # Servers take this one when the client has taken the rest.
    await send({"type": "http.response.body", "body": b""})


def encode_headers(named: Mapping[str, str]) -> RawHeaders:
    return tuple((name.encode(), text.encode("latin-1")) for name, text in named.items())


def _common_headers(media: MediaType, caching: str) -> RawHeaders:
    """Return the headers of every GraphQL answer; its content depends on the caller.

    No shared cache may store such an answer.
    """
    return encode_headers({"content-type": media.header, "cache-control": caching, **_UNSHARED})


_COMMON: Final = {media: _common_headers(media, "no-store") for media in MediaType}
_CACHED: Final = {media: _common_headers(media, "private, no-cache") for media in MediaType}


def graphql_response(
    status: int, body: bytes, media: MediaType, headers: Mapping[str, str]
) -> HttpResponse:
    """Build a response; `headers` are its headers besides the common ones."""
    common = _COMMON[media]
    return HttpResponse(status, body, common + encode_headers(headers) if headers else common)


def cacheable_response(body: bytes, media: MediaType, if_none_match: str | None) -> HttpResponse:
    """Build the response of a GET with an ETag; 304 if the client already has that answer."""
    tag = f'"{urlsafe_b64encode(sha256(body).digest()[:18]).decode()}"'
    headers = (*_CACHED[media], (b"etag", tag.encode()))
    held = [one.strip().removeprefix("W/") for one in (if_none_match or "").split(",")]
    if tag in held or "*" in held:
        return HttpResponse(304, b"", headers)
    return HttpResponse(200, body, headers)
