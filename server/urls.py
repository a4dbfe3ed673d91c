"""Which URLs may carry what identity rests on."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_secure(url: str) -> bool:
    """Whether the URL names a host, over TLS unless that is the machine itself; no credentials."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    if not parts.hostname or parts.username is not None or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
