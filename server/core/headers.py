"""The header fields of a request with an index by name, and the negotiation of media types."""

import re
from collections.abc import Container
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple, overload

from starlette.datastructures import Headers
from starlette.types import Scope
from uuid_utils import uuid4

_SCOPE_KEY: Final = "penstock.fields"
_NAMES: Final = 256
"""The names of fields in the form of a scope that are kept: the code asks for few."""


@lru_cache(_NAMES)
def _field_name(key: str) -> bytes:
    return key.lower().encode("latin-1")


class IndexedHeaders(Headers):
    """Starlette's headers with an index; the scope's names are in lower case, as ASGI requires.

    A request has some fifteen fields, of which ten are read: only those are decoded.
    """

    def __init__(self, scope: Scope) -> None:
        super().__init__(raw=scope["headers"])
        # The first field of a name is the one that stays.
        self._first = dict(reversed(self._list))
        self._repeats = len(self._first) < len(self._list)

    def __getitem__(self, key: str) -> str:
        return self._first[_field_name(key)].decode("latin-1")

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and _field_name(key) in self._first

    @overload  # type: ignore[override]
    def get(self, key: str) -> str | None: ...
    @overload
    def get(self, key: str, default: str) -> str: ...
    def get(self, key: str, default: str | None = None) -> str | None:
        found = self._first.get(_field_name(key))
        return default if found is None else found.decode("latin-1")

    def getlist(self, key: str) -> list[str]:
        name = _field_name(key)
        found = self._first.get(name)
        if found is None:
            return []
        if self._repeats:
            return [value.decode("latin-1") for field, value in self._list if field == name]
        return [found.decode("latin-1")]


def request_headers(scope: Scope) -> IndexedHeaders:
    """Return the header fields of a scope, which are read once and cached in the scope."""
    found = scope.get(_SCOPE_KEY)
    if found is None:
        found = scope[_SCOPE_KEY] = IndexedHeaders(scope)
    return found


_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}", re.ASCII)
_TRACE: Final = re.compile(
    r"[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII
)


def request_id_of(headers: Headers) -> str:
    """Return the client's own id, else the trace id of `traceparent`, else a new one."""
    given = headers.get("x-request-id", "")
    if _REQUEST_ID.fullmatch(given):
        return given
    trace = _TRACE.match(headers.get("traceparent", ""))
    return trace[1] if trace else uuid4().hex


class MediaType(StrEnum):
    """The media types of an answer."""

    JSON = "application/json"
    GRAPHQL = "application/graphql-response+json"

    @property
    def header(self) -> str:
        return f"{self.value}; charset=utf-8"


MAX_ACCEPT_CHARS: Final = 1024
"""The longest Accept header that is parsed; a longer one names no type of ours."""

_CACHED_LENGTH: Final = 200
_CACHED_HEADERS: Final = 256
"""Clients send few different Accept headers: the parsed form of so many is cached."""


class _MediaRange(NamedTuple):
    """A media range of an Accept header with its quality, 0 to 1."""

    type: str
    subtype: str
    quality: float

    def specificity(self, media: MediaType) -> int:
        """Return how closely the range names the type: 3 exactly, 1 as `*/*`, 0 not at all."""
        kind, subtype = media.split("/")
        if (self.type, self.subtype) == (kind, subtype):
            return 3
        if (self.type, self.subtype) == (kind, "*"):
            return 2
        return int((self.type, self.subtype) == ("*", "*"))


# At equal quality a client that names the newer type gets it; one that accepts all gets JSON.
_PREFERENCE: Final = {MediaType.GRAPHQL: (3,), MediaType.JSON: (1, 2, 3)}


def negotiate_media_type(accept: str | None) -> MediaType | None:
    """Choose the type of an answer; None if the client accepts neither. No header means JSON.

    A header of more than MAX_ACCEPT_CHARS is not parsed: it accepts neither.
    """
    if accept is not None and len(accept) > MAX_ACCEPT_CHARS:
        return None
    if accept is None or len(accept) > _CACHED_LENGTH:
        return _choose_media_type(accept)
    return _choose_cached(accept)


def _choose_media_type(accept: str | None) -> MediaType | None:
    if accept is None or not accept.strip():
        return MediaType.JSON
    parts = [part for part in accept.split(",") if not part.isspace() and part]
    ranges = [found for part in parts if (found := _parse_range(part)) is not None]
    best: tuple[float, bool, MediaType] | None = None
    for media, preferred in _PREFERENCE.items():
        specificity, quality = max(
            ((one.specificity(media), one.quality) for one in ranges), default=(0, 0.0)
        )
        offer = (quality, specificity in preferred, media)
        if specificity and quality > 0 and (best is None or offer[:2] > best[:2]):
            best = offer
    return best[2] if best else None


_choose_cached: Final = lru_cache(_CACHED_HEADERS)(_choose_media_type)


def is_json(content_type: str, types: Container[str] = (MediaType.JSON,)) -> bool:
    """Tell whether a body of this content type, which must be one of `types`, is JSON in UTF-8."""
    if content_type == MediaType.JSON:
        return True
    media, parameters = _parse_media_type(content_type)
    return media in types and parameters.get("charset", "utf-8") in ("utf-8", "utf8")


def _parse_range(part: str) -> _MediaRange | None:
    media, parameters = _parse_media_type(part)
    kind, slash, subtype = media.partition("/")
    if not slash or parameters.get("charset", "utf-8") not in ("utf-8", "utf8", "*"):
        return None
    try:
        quality = float(parameters.get("q", "1"))
    except ValueError:
        return None
    return _MediaRange(kind, subtype, quality) if 0 <= quality <= 1 else None


def _parse_media_type(text: str) -> tuple[str, dict[str, str]]:
    """Split `type/subtype; name=value` into its parts in lower case."""
    media, *rest = text.split(";")
    parameters = {}
    for parameter in rest:
        name, _, value = parameter.partition("=")
        parameters[name.strip().lower()] = value.strip().strip('"').lower()
    return media.strip().lower(), parameters
