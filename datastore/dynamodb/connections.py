"""A pool of connections to one endpoint: HTTP/1.1, one request at a time on each."""

import asyncio
from collections.abc import Mapping
from ssl import SSLContext
from typing import NamedTuple, cast

import httptools

IDLE_SECONDS = 12.0
"""The time after which an unused connection is closed; AWS closes it some seconds later."""

BYTES_PER_SECOND = 2**20
"""The slowest upload that is waited for: the read timeout grows with the size of the request."""


MAX_BODY_BYTES = 128 * 1024 * 1024
"""The most bytes of an answer's body: 16 MB of items, in which JSON may have six for one."""

MAX_FRAMING_BYTES = 256 * 1024
"""The most bytes of one exchange around the body, beyond one for each byte of it."""


class Endpoint(NamedTuple):
    """A host and a port, and the TLS context that checks the certificate, if it has one."""

    host: str
    port: int
    tls: SSLContext | None


class HttpAnswer(NamedTuple):
    """A whole answer; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpConnection(asyncio.Protocol):
    """One connection; it can be used again only after a complete answer."""

    def __init__(self, read_seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._read_seconds = read_seconds
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[HttpAnswer] | None = None
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._received = self._body_bytes = 0
        self._fit_until = self._loop.time() + IDLE_SECONDS

    @property
    def is_usable(self) -> bool:
        """Whether the connection can take another request."""
        return self._loop.time() < self._fit_until

    async def exchange(self, request: bytes) -> HttpAnswer:
        """Send a request and return the answer; raises OSError (also TimeoutError) without one."""
        self._fit_until = 0.0
        self._answer = self._loop.create_future()
        self._received = self._body_bytes = 0
        self._heard = self._loop.time()
        patience = self._read_seconds + len(request) / BYTES_PER_SECOND
        self._alarm = self._loop.call_later(patience, self._check_silence, patience)
        self._transport.write(request)
        try:
            return await self._answer
        finally:
            self._alarm.cancel()
            self._answer = None

    def abort(self) -> None:
        self._fit_until = 0.0
        self._forget_answer()
        self._transport.abort()

    def _check_silence(self, patience: float) -> None:
        """Fail if nothing arrived for `patience` seconds, or set the alarm again."""
        left = self._heard + patience - self._loop.time()
        if left > 0:
            self._alarm = self._loop.call_later(left, self._check_silence, patience)
        else:
            self._fail(TimeoutError(f"nothing was heard for {patience:g} seconds"))

    def _forget_answer(self) -> None:
        """Free what was read: a connection and its parser hold each other, until a collection."""
        self._headers, self._body = {}, []

    def _require_bounds(self) -> None:
        """Fail if an answer is larger than any, or there is more around its body than any has."""
        around = self._received - self._body_bytes
        if self._body_bytes > MAX_BODY_BYTES or around > MAX_FRAMING_BYTES + self._body_bytes:
            self._fail(ConnectionError("an answer that is larger than any of DynamoDB"))
            self.abort()

    def _fail(self, error: OSError) -> None:
        self._fit_until = 0.0
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)

    # Callbacks of asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports do not inherit from asyncio.Transport.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(ConnectionError(f"an answer that is not HTTP: {error}"))
        self._require_bounds()

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ConnectionResetError(f"closed before the end of an answer: {exc or 'EOF'}"))

    # Callbacks of the parser.

    def on_message_begin(self) -> None:
        self._headers, self._body = {}, []
        # An answer without a request would otherwise count as the answer to the next one.
        if self._answer is None or self._answer.done():
            self.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._body.append(body)
        self._body_bytes += len(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        waiting = self._answer
        # A status that begins with 1 is informational; the answer follows.
        if waiting is None or waiting.done() or status < 200:
            return
        if self._parser.should_keep_alive():
            self._fit_until = self._loop.time() + IDLE_SECONDS
        waiting.set_result(HttpAnswer(status, self._headers, b"".join(self._body)))
        self._forget_answer()


class ConnectionPool:
    """A pool of at most `limit` connections; the last used is used first."""

    def __init__(
        self, endpoint: Endpoint, *, limit: int, connect_seconds: float, read_seconds: float
    ) -> None:
        self._endpoint = endpoint
        self._connect_seconds = connect_seconds
        self._read_seconds = read_seconds
        self._slots = asyncio.Semaphore(limit)
        self._kept: list[HttpConnection] = []

    async def send(self, request: bytes) -> HttpAnswer:
        """Send a complete request once; raises OSError without a complete answer."""
        async with self._slots:
            connection = self._take_idle() or await self._open_connection()
            try:
                return await connection.exchange(request)
            finally:
                if connection.is_usable:
                    self._kept.append(connection)
                else:
                    connection.abort()

    async def close(self) -> None:
        while self._kept:
            self._kept.pop().abort()
        # A transport closes its socket in the next iteration of the loop.
        await asyncio.sleep(0)

    def _take_idle(self) -> HttpConnection | None:
        while self._kept:
            connection = self._kept.pop()
            if connection.is_usable:
                return connection
            connection.abort()
        return None

    async def _open_connection(self) -> HttpConnection:
        host, port, tls = self._endpoint
        async with asyncio.timeout(self._connect_seconds):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: HttpConnection(self._read_seconds), host, port, ssl=tls
            )
        return connection
