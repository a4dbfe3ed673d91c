"""One JSON document from the issuer: over TLS, of bounded size, from exactly the URL asked for."""

import re
from typing import NamedTuple

import httpx
import msgspec

from penstock.server.urls import is_secure

MAX_BYTES = 256 * 1024

_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=\"?(\d{1,9})")


class FetchFailed(Exception):
    """The document could not be had; the message says why, for the log."""


class Document(NamedTuple):
    """A decoded JSON value and how long it may be kept, in seconds, if its sender said so."""

    value: object
    max_age: int | None


async def fetch_json(http: httpx.AsyncClient, url: str) -> Document:
    """Fetch the document; redirects are not followed. Raises FetchFailed."""
    if not is_secure(url):
        raise FetchFailed(f"{url} is not an https URL")
    try:
        body, headers = await _fetch(http, url)
        return Document(msgspec.json.decode(body), _max_age(headers))
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise FetchFailed(f"{url}: {type(error).__name__} {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FetchFailed(f"{url} did not answer with JSON") from error


async def _fetch(http: httpx.AsyncClient, url: str) -> tuple[bytes, httpx.Headers]:
    # Compressed answers are not asked for: a small one could unfold beyond the bound.
    wanted = {"accept": "application/json", "accept-encoding": "identity"}
    async with http.stream("GET", url, headers=wanted, follow_redirects=False) as response:
        if response.status_code != httpx.codes.OK:
            raise FetchFailed(f"{url} answered {response.status_code}")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > MAX_BYTES:
                raise FetchFailed(f"{url} answered with more than {MAX_BYTES} bytes")
        return bytes(body), response.headers


def _max_age(headers: httpx.Headers) -> int | None:
    directives = headers.get("cache-control", "").lower()
    if "no-store" in directives or "no-cache" in directives:
        return 0
    found = _MAX_AGE.search(directives)
    return int(found[1]) if found else None
