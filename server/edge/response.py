"""JSON as it leaves the server: UTF-8, exact decimals, no NaN.

Refusals of an HTTP request, before or around GraphQL, and the status each code stands for.

A whole answer in one piece, with the headers every GraphQL answer carries.
"""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from decimal import Decimal
from hashlib import sha256
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import msgspec
import orjson
from starlette.types import Send

from penstock.datastore.errors import ErrorCode, PenstockError, Unauthenticated
from penstock.schema.core.errors import FormattedError, formatted, internal, known
from penstock.server.core.headers import MediaType


def encode(value: object) -> bytes:
    """Write JSON; a Decimal keeps every digit. TypeError for what JSON has no form for."""
    return orjson.dumps(value, default=_exact)


def _exact(value: object) -> orjson.Fragment:
    if type(value) is Decimal and value.is_finite():
        return orjson.Fragment(str(value))
    raise TypeError(f"JSON has no form for {type(value).__name__}.")


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
# What was no well-formed request stays a 400 in the draft only where it could not even be read.
_UNREADABLE: Final = frozenset((ErrorCode.GRAPHQL_PARSE_FAILED.value, ErrorCode.BAD_REQUEST.value))


class Problem(Exception):
    """The request is answered with an error, `status` where the code alone does not give it."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        status: int | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> None:
        super().__init__(message)
        self.error: FormattedError = formatted(message, code)
        self.status = status or _STATUS.get(code, 400)
        self.headers = headers


class Malformed(Problem):
    """The body or the URL could be read, and is no well-formed GraphQL request."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.BAD_REQUEST, message)


def refusal(error: PenstockError, *, with_token: bool) -> Problem:
    """Make the answer to a caller who could not be let in, or whose context could not be opened."""
    problem = Problem(error.code, error.message)
    problem.error = known(error)
    if isinstance(error, Unauthenticated):
        invalid = ', error="invalid_token"' if with_token else ""
        problem.headers = {"www-authenticate": f'Bearer realm="penstock"{invalid}'}
    retry_after = getattr(error, "retry_after", None)
    if retry_after is not None:
        problem.headers = {"retry-after": str(retry_after)}
    return problem


def stopping() -> Problem:
    """Make the answer to what a server cannot finish any more, or not begin."""
    headers = {"retry-after": "1", "connection": "close"}
    return Problem(ErrorCode.SERVICE_UNAVAILABLE, "The server is stopping.", headers=headers)


def unexpected(error: Exception, request_id: str) -> Problem:
    """Log an exception nobody foresaw; its answer says nothing but the request id."""
    problem = Problem(ErrorCode.INTERNAL_SERVER_ERROR, "Internal error")
    problem.error = internal(error, request_id)
    return problem


def status_of(body: Mapping[str, object], code: str | None, *, json: bool, draft: bool) -> int:
    """Give the status of a GraphQL answer; `code` is that of its first error.

    In 2025's statuses, clients of plain JSON (`json`) get 200 for whatever GraphQL itself refuses.
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
