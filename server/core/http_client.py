"""The HTTP client of the server for services that an operator names."""

import re
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from time import monotonic
from typing import Any, Final

import httpx

from penstock.server.core.command_output import CommandFailed, ExitCode

MAX_INTERIM: Final = 3
"""The most answers of status 1xx before an answer."""

_INTERIM = re.compile(rb"HTTP/1\.[01] 1")
_INTERIM_LENGTH: Final = 10
_OPENED: Final = (".connect_tcp.complete", ".start_tls.complete")


class AnswerTooLong(httpx.TransportError):
    """A service sent more than it may; the message has no subject: "sent more than 64 bytes"."""


class AnswerTooSlow(httpx.TransportError):
    """A service sends too little; the message has no subject, as that of AnswerTooLong."""


def open_http_client(**options: Any) -> httpx.AsyncClient:
    """Open a client that follows no redirect and keeps no cookies.

    A jar keeps as many as answers set, in memory and in each request. Raises CommandFailed if a
    proxy of the environment cannot be used.
    """
    with checked_proxies():
        return httpx.AsyncClient(
            cookies=_no_cookies(), verify=_trust_authorities(), follow_redirects=False, **options
        )


@contextmanager
def checked_proxies() -> Iterator[None]:
    """Raise CommandFailed where a client cannot be opened by the proxies of the environment."""
    try:
        yield
    except (httpx.InvalidURL, ValueError, ImportError):
        # The library quotes the URL of the proxy, which may hold a password.
        words = "The proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names cannot be used."
        raise CommandFailed(words, code=ExitCode.USAGE) from None


def open_blocking_client(**options: Any) -> httpx.Client:
    """Open a client for a thread, which follows no redirect and keeps no cookies."""
    return httpx.Client(
        cookies=_no_cookies(), verify=_trust_authorities(), follow_redirects=False, **options
    )


@cache
def _trust_authorities() -> ssl.SSLContext:
    """Load the certificates of the known authorities once: that takes 20 ms of processor time."""
    return httpx.create_ssl_context()


def _no_cookies() -> CookieJar:
    """Make a jar that keeps nothing."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=()))


class NetworkBounds:
    """Counts what is read from the network for an answer, of which the library drops much."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self.begin()

    def begin(self) -> None:
        """Count anew, for the next answer."""
        self._bytes = 0
        self._interim = 0
        self._end = b""

    def _count(self, data: bytes) -> None:
        self._bytes += len(data)
        if self._bytes > self._most_bytes:
            raise AnswerTooLong(f"sent more than {self._most_bytes} bytes")
        seen = self._end + data
        self._interim += len(_INTERIM.findall(seen))
        self._end = seen[1 - _INTERIM_LENGTH :]
        if self._interim > MAX_INTERIM:
            raise AnswerTooLong(f"sent more than {MAX_INTERIM} answers of status 1xx")


class BoundedReading(NetworkBounds):
    """Bounds what is read from the network for an answer.

    Its `extensions` go with each request of a client that sends one request after another; `begin`
    comes before each.
    """

    def __init__(self, most_bytes: int) -> None:
        super().__init__(most_bytes)
        self.extensions: Final = {"trace": self._watch}

    async def _watch(self, event: str, info: dict[str, Any]) -> None:
        """Bound the reading of a connection that has been opened; httpx calls it."""
        if event.endswith(_OPENED):
            stream = info["return_value"]
            stream.read = self._limit_read(stream.read)

    def _limit_read(self, read: Callable[..., Any]) -> Callable[..., Any]:
        async def read_bounded(*arguments: Any, **options: Any) -> bytes:
            data: bytes = await read(*arguments, **options)
            self._count(data)
            return data

        return read_bounded


class PacedReading(NetworkBounds):
    """Bounds what a blocking client reads for one answer, and the time that it takes.

    After `spare_seconds` it has come at `least_pace` bytes a second or more.
    """

    def __init__(self, most_bytes: int, least_pace: int, spare_seconds: float) -> None:
        super().__init__(most_bytes)
        self._least_pace = least_pace
        self._spare_seconds = spare_seconds
        self._began = monotonic()
        self.extensions: Final = {"trace": self._watch}

    def _watch(self, event: str, info: dict[str, Any]) -> None:
        if event.endswith(_OPENED):
            stream = info["return_value"]
            stream.read = self._limit_read(stream.read)

    def _limit_read(self, read: Callable[..., Any]) -> Callable[..., Any]:
        def read_bounded(*arguments: Any, **options: Any) -> bytes:
            data: bytes = read(*arguments, **options)
            self._count(data)
            waited = monotonic() - self._began - self._spare_seconds
            if waited * self._least_pace > self._bytes:
                raise AnswerTooSlow(f"sent less than {self._least_pace} bytes a second")
            return data

        return read_bounded
