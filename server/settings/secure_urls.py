"""URLs that secrets are sent to or fetched from, and those that hold secrets."""

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

HIDDEN: Final = "(hidden)"
_USER_OF_URL: Final = re.compile(r"(?<=://)[^/?#]*@")
_QUERY_OF_URL: Final = re.compile(r"(?<=[?#]).+", re.DOTALL)
_BEFORE_SECRETS: Final = re.compile(r"[@?#]")


def is_secure(url: str) -> bool:
    """Tell whether the URL has a host and no credentials, and uses TLS unless on loopback."""
    parts = _split(url)
    if parts is None or not parts.hostname or parts.username is not None or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname))


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _split(url: str) -> SplitResult | None:
    """Split a URL; None for one that is malformed."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts


def hide_credentials(text: str) -> str:
    """Return the text; if it is a URL, its user, password, query and fragment are hidden."""
    return show_url(text) if "://" in text else text


def show_url(typed: str) -> str:
    """Return what should be a URL, with its user, password, query and fragment hidden.

    Of one that is malformed, nobody knows which part they are.
    """
    scheme, mark, rest = typed.partition("://")
    is_url = mark and ("@" not in rest or _split(typed) is not None)
    if not is_url and _BEFORE_SECRETS.search(typed):
        return f"{scheme}://{HIDDEN}" if mark else HIDDEN
    return _QUERY_OF_URL.sub(HIDDEN, _USER_OF_URL.sub(f"{HIDDEN}@", typed), count=1)
