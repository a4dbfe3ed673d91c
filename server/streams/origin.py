"""Which pages may open a WebSocket: browsers let any page try, and only say which one it is."""

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers

_USUAL_PORTS = {"http": ":80", "https": ":443"}


def is_allowed(headers: Headers, allowed: Collection[str]) -> bool:
    """Tell whether the handshake comes from our own page, an allowed one, or from no page."""
    origins = headers.getlist("origin")
    if not origins:
        return True
    origin = origins[0].lower()
    return len(origins) == 1 and (origin in allowed or _is_own(origin, headers.get("host", "")))


def _is_own(origin: str, host: str) -> bool:
    """Compare without the scheme: behind a proxy that ends TLS, ours is not the page's."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    usual = _USUAL_PORTS.get(parts.scheme)
    if usual is None or not parts.netloc:
        return False
    return parts.netloc.removesuffix(usual) == host.lower().removesuffix(usual)
