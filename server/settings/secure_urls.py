"""URLs that secrets are sent to or fetched from, and those that hold secrets."""

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

HIDDEN: Final = "(hidden)"
_USER_OF_URL: Final = re.compile(r"(?<=://)[^/@]*@")
_QUERY_OF_URL: Final = re.compile(r"(://[^?#\s]*\?)[^#\s]+")


def is_secure(url: str) -> bool:
    """Tell whether the URL has a host and no credentials, and uses TLS unless on loopback."""
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


def hide_credentials(text: str) -> str:
    """Return the text with the user, the password and the query of a URL hidden."""
    return _QUERY_OF_URL.sub(rf"\1{HIDDEN}", _USER_OF_URL.sub(f"{HIDDEN}@", text))
