"""The origins from which a WebSocket may be opened."""

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers

_USUAL_PORTS = {"http": ":80", "https": ":443"}


def is_origin_allowed(headers: Headers, allowed: Collection[str]) -> bool:
    """Tell whether the handshake comes from our own page, an allowed origin, or no page.

    Browsers let any page open a WebSocket, and only report its origin.
    """
    origins = headers.getlist("origin")
    if not origins:
        return True
    origin = origins[0].lower()
    return len(origins) == 1 and (origin in allowed or _is_own(origin, headers.get("host", "")))


def _is_own(origin: str, host: str) -> bool:
    """Compare the origin to the host without the scheme, which a proxy for TLS changes."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    usual = _USUAL_PORTS.get(parts.scheme)
    if usual is None or not parts.netloc:
        return False
    return parts.netloc.removesuffix(usual) == host.lower().removesuffix(usual)
