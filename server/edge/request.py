"""Reads a GraphQL request out of an HTTP request, and checks its Host header."""

import re
from collections.abc import Awaitable, Mapping, Sequence
from contextvars import ContextVar
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from math import inf
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, urlsplit

import msgspec
import orjson
from msgspec.structs import replace
from starlette.datastructures import Headers
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.datastore.errors import ErrorCode
from penstock.schema.engine.limits import Limits
from penstock.schema.engine.operations import OperationRequest
from penstock.server.connections.request_watcher import ServedRequest, current_request
from penstock.server.core.deadline import Deadline
from penstock.server.core.headers import (
    IndexedHeaders,
    MediaType,
    is_json,
    negotiate_media_type,
    request_headers,
    request_id_of,
)
from penstock.server.edge.response import HttpProblem, MalformedRequest
from penstock.server.telemetry.operation import RECORD_KEY, OperationRecord

CONSISTENCY_HEADER: Final = "penstock-consistency"
CONSISTENCY_EXTENSION: Final = "consistencyToken"
"""Where requests and answers have the consistency token."""

ALLOWED_METHODS: Final = "GET, POST, OPTIONS"
_CLOSE: Final = {"connection": "close"}
# A page of another site cannot send these without a preflight request, which CORS answers.
_PREFLIGHTED: Final = (
    "apollo-require-preflight",
    "x-apollo-operation-name",
    "graphql-require-preflight",
    "x-requested-with",
)
_PARAMETER_TYPES: Final[Mapping[str, type]] = {
    "query": str,
    "operationName": str,
    "documentId": str,
    "variables": dict,
    "extensions": dict,
}
_TYPE_NAMES: Final[Mapping[type, str]] = {str: "a text", dict: "an object"}


class ClientGone(Exception):
    """The client disconnected before its request was read: no answer is needed."""


class IncomingRequest(msgspec.Struct, frozen=True):
    """An incoming HTTP request; `media` is the answer's type, None if the client accepts none.

    `record` is the record of the operation, shared with the instrumentation if there is some.
    `served` is the request as its connection knows it.
    """

    scope: Scope
    method: str
    headers: IndexedHeaders
    receive: Receive
    media: MediaType | None
    request_id: str
    record: OperationRecord
    served: ServedRequest

    @classmethod
    def of(cls, scope: Scope, receive: Receive) -> "IncomingRequest":
        headers = request_headers(scope)
        record = scope.get(RECORD_KEY) or OperationRecord.of(
            request_id_of(headers), "http", headers
        )
        media = response_media_type(headers)
        return cls(
            scope,
            scope["method"],
            headers,
            receive,
            media,
            record.request_id,
            record,
            current_request.get(),
        )

    def note_answer(self, status: int) -> None:
        """Note the answer in the record, unless no client is left to have it."""
        if not self.served.has_left:
            self.record.note_answer(status)

    @property
    def wants_cost(self) -> bool:
        return self.headers.get("x-penstock-cost") == "1"


def response_media_type(headers: Headers) -> MediaType | None:
    """Choose the answer's type; None if the client accepts none of ours."""
    return negotiate_media_type(",".join(headers.getlist("accept")))


def check_method(scope: Scope) -> None:
    if scope["method"] not in ("GET", "POST", "OPTIONS"):
        raise HttpProblem(
            ErrorCode.METHOD_NOT_ALLOWED,
            "Send GraphQL requests by GET or POST.",
            headers={"allow": ALLOWED_METHODS},
        )


async def receive_text(incoming: IncomingRequest, limits: Limits) -> bytes:
    """Receive what a request says: the body of a POST, or the parameters in the URL of a GET.

    Raises HttpProblem, and ClientGone after a disconnect.
    """
    scope, headers = incoming.scope, incoming.headers
    if len(scope["query_string"]) + len(scope["path"]) > limits.url_bytes:
        raise HttpProblem(
            ErrorCode.PAYLOAD_TOO_LARGE,
            f"The URL is longer than {limits.url_bytes} bytes.",
            status=414,
        )
    if incoming.method == "GET":
        text: bytes = scope["query_string"]
        return text
    _check_body_type(headers)
    return await read_body(headers, incoming.receive, limits)


def parse_request(incoming: IncomingRequest, text: bytes) -> OperationRequest:
    """Read the request in the text that was received; raises HttpProblem."""
    is_get = incoming.method == "GET"
    request = request_from_url(text, incoming.headers) if is_get else request_from_json(text)
    token = incoming.headers.get(CONSISTENCY_HEADER)
    return request if token is None else replace(request, consistency_token=token)


def request_from_url(text: bytes, headers: Headers) -> OperationRequest:
    """Read the parameters of a GET that a page of another site cannot have sent."""
    content_type = headers.get("content-type")
    if content_type is not None and not is_json(content_type):
        raise _unsupported_media_type("A GET has no body; its Content-Type must be absent.")
    if not _is_preflighted(headers):
        raise HttpProblem(
            ErrorCode.CSRF_PREVENTED,
            "A GET needs a header that forces a CORS preflight, such as Apollo-Require-Preflight.",
        )
    try:
        pairs = parse_qsl(
            text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20
        )
    except ValueError:
        raise HttpProblem(ErrorCode.BAD_REQUEST, "The URL's parameters cannot be read.") from None
    parameters: dict[str, Any] = {}
    for name, value in pairs:
        if name in parameters:
            raise MalformedRequest("A parameter of the URL is given twice.")
        parameters[name] = (
            _parse_json(value.encode(), f"The parameter `{name}`")
            if _PARAMETER_TYPES.get(name) is dict
            else value
        )
    return _build_request(parameters)


def request_from_json(body: bytes) -> OperationRequest:
    """Read a JSON body; raises HttpProblem, or MalformedRequest for JSON that is no request."""
    found = _parse_json(body, "The body")
    if isinstance(found, list):
        raise MalformedRequest("Batches are not supported; send one operation per request.")
    if not isinstance(found, dict):
        raise MalformedRequest("The body must be a JSON object.")
    return _build_request(found)


def _build_request(found: dict[str, Any]) -> OperationRequest:
    for name, value in found.items():
        kind = _PARAMETER_TYPES.get(name)
        if kind is not None and value is not None and type(value) is not kind:
            raise MalformedRequest(f"`{name}` must be {_TYPE_NAMES[kind]}.")
    query, document_id = found.get("query"), found.get("documentId")
    extensions = found.get("extensions") or {}
    token = extensions.get(CONSISTENCY_EXTENSION)
    if token is not None and type(token) is not str:
        raise MalformedRequest(f"The extension `{CONSISTENCY_EXTENSION}` must be a text.")
    if query is not None and document_id is not None:
        raise MalformedRequest("Give `query` or `documentId`, not both.")
    if query is None and document_id is None and "persistedQuery" not in extensions:
        raise MalformedRequest("`query` is missing.")
    return OperationRequest(
        query=query,
        document_id=document_id,
        # Several clients send an empty name instead of none.
        operation_name=found.get("operationName") or None,
        variables=found.get("variables") or {},
        extensions=extensions,
        consistency_token=token,
    )


def _parse_json(text: bytes, subject: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        place = f", from line {error.lineno}, column {error.colno} on" if error.pos else ""
        message = f"{subject} is not valid JSON in UTF-8{place}."
        raise HttpProblem(ErrorCode.BAD_REQUEST, message) from None


def _check_body_type(headers: Headers) -> None:
    if not is_json(headers.get("content-type", "")):
        raise _unsupported_media_type("The body must be application/json in UTF-8.")
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise _unsupported_media_type("The body must not be compressed.")


def _unsupported_media_type(message: str) -> HttpProblem:
    return HttpProblem(
        ErrorCode.UNSUPPORTED_MEDIA_TYPE, message, headers={"accept": "application/json"}
    )


def _is_preflighted(headers: Headers) -> bool:
    """Tell whether a page of another site would need a preflight to send this request.

    Browsers attach Basic credentials by themselves, so a Basic header does not prove that the page
    asked for permission; they never attach tokens.
    """
    if any(name in headers for name in (*_PREFLIGHTED, "content-type")):
        return True
    return headers.get("authorization", "").lower().startswith("bearer ")


async def read_body(headers: Headers, receive: Receive, limits: Limits) -> bytes:
    """Read a body; raises HttpProblem if it is too large or slow, ClientGone after a disconnect."""
    if _announced_length(headers) > limits.body_bytes:
        raise _body_too_large(limits)
    return await Deadline(
        limits.body_seconds, _receive_body(receive, limits), lambda: _body_timeout(limits)
    )


def _announced_length(headers: Headers) -> float:
    """Return the announced Content-Length; infinite if that is not a number."""
    announced = headers.get("content-length", "0")
    return int(announced[:12]) if announced.isdecimal() else inf


async def _receive_body(receive: Receive, limits: Limits) -> bytes:
    parts, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        parts += message.get("body", b"")
        more = message.get("more_body", False)
        if len(parts) > limits.body_bytes:
            raise _body_too_large(limits)
    return bytes(parts)


def _body_timeout(limits: Limits) -> HttpProblem:
    message = f"The body took longer than {limits.body_seconds:g} s to arrive."
    return HttpProblem(ErrorCode.TIMEOUT, message, status=408, headers=_CLOSE)


def _body_too_large(limits: Limits) -> HttpProblem:
    message = f"The body is larger than {limits.body_bytes} bytes."
    return HttpProblem(ErrorCode.PAYLOAD_TOO_LARGE, message, headers=_CLOSE)


TrustedProxies: TypeAlias = tuple[IPv4Network | IPv6Network, ...]
"""The networks of the proxies whose `X-Forwarded-For` is believed."""

current_scope: Final[ContextVar[Scope | None]] = ContextVar("scope of the request", default=None)
"""The scope of the request that this task serves, for what needs its address."""


def client_address(proxies: TrustedProxies) -> str | None:
    """Return the address of the client of the current request.

    It is that of the connection or, behind trusted proxies, the last one of `X-Forwarded-For` that
    is none of theirs.
    """
    scope = current_scope.get()
    if scope is None or not scope.get("client"):
        return None
    address = str(scope["client"][0])
    if not proxies or not _is_within(address, proxies):
        return address
    forwarded = ",".join(request_headers(scope).getlist("x-forwarded-for"))
    for text in reversed(forwarded.rsplit(",", _MOST_HOPS)[-_MOST_HOPS:]):
        if not text.strip():
            continue
        hop = _parse_address(text)
        if hop is None:
            break
        address = str(hop)
        if not _is_within(address, proxies):
            break
    return address


_MOST_HOPS: Final = 32
"""The entries of `X-Forwarded-For` that are read, from its end."""

_HOP: Final = re.compile(
    r"\s*(?:(?P<v4>[0-9.]{7,15})(?::[0-9]{1,5})?"
    r"|\[(?P<bracketed>[0-9A-Fa-f:.]{2,45})\](?::[0-9]{1,5})?"
    r"|(?P<v6>[0-9A-Fa-f:.]{2,45})(?:%[0-9A-Za-z._-]{1,32})?)\s*",
    re.ASCII,
)
"""An address as proxies write it: some add the port, and then brackets for IPv6.

`ip_address` alone takes any text as the zone of an address.
"""


def _parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address; one of IPv4 that is written as one of IPv6 is the same address."""
    found = _HOP.fullmatch(text)
    if found is None:
        return None
    try:
        place = ip_address(found["v4"] or found["bracketed"] or found["v6"])
    except ValueError:
        return None
    mapped = place.ipv4_mapped if isinstance(place, IPv6Address) else None
    return place if mapped is None else mapped


def _is_within(address: str, networks: TrustedProxies) -> bool:
    place = _parse_address(address)
    return place is not None and any(place in network for network in networks)


HEALTH_PATHS = frozenset({"/healthz", "/readyz"})
METRICS_PATH = "/metrics"


class HostCheck:
    """Starlette's check of the Host header, left out for health probes and metrics scrapers.

    It refuses requests for other host names, such as one from a rebound DNS name.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._guarded = TrustedHostMiddleware(app, allowed_hosts=hosts, www_redirect=False)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        return (self._app if self._is_admitted(scope) else self._guarded)(scope, receive, send)

    def _is_admitted(self, scope: Scope) -> bool:
        """Tell whether the request needs no check, or names one of our hosts exactly."""
        is_ours = scope["type"] == "http" and _host_name(request_headers(scope)) in self._hosts
        return is_ours or _accepts_any_host(scope)


def _host_name(headers: Headers) -> str:
    return headers.get("host", "").split(":")[0]


def _accepts_any_host(scope: Scope) -> bool:
    """Tell whether any host name is accepted; metrics accept any IP address.

    No DNS name can stand for an IP address in the Host header.
    """
    if scope["type"] != "http":
        return False
    if route_path(scope) == METRICS_PATH:
        return _is_address(request_headers(scope).get("host") or "")
    return route_path(scope) in HEALTH_PATHS


def route_path(scope: Scope) -> str:
    """Return the path of a request below that of the public URL."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _is_address(host: str) -> bool:
    try:
        ip_address(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False
    return True
