"""Connections to one endpoint, kept open between requests: HTTP/1.1, one request at a time each."""

import asyncio
from collections.abc import Mapping
from ssl import SSLContext
from typing import NamedTuple, cast

import httptools

IDLE_SECONDS = 12.0
"""How long an unused connection may be used again; AWS closes them some seconds later."""

BYTES_PER_SECOND = 2**20
"""How slow the way out may be; the patience with an answer grows with its request."""


class Endpoint(NamedTuple):
    """Where to connect to, and what its certificate is checked by, if it has one."""

    host: str
    port: int
    tls: SSLContext | None


class Answer(NamedTuple):
    """A whole answer; the names of its headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Connection(asyncio.Protocol):
    """One connection, which is fit for another request only after a whole answer."""

    def __init__(self, read_seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._read_seconds = read_seconds
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[Answer] | None = None
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._fit_until = self._loop.time() + IDLE_SECONDS

    @property
    def fit(self) -> bool:
        """Whether a request may be sent over it."""
        return self._loop.time() < self._fit_until

    async def exchange(self, request: bytes) -> Answer:
        """Send a request and give the answer; raises OSError, also TimeoutError, without one."""
        self._fit_until = 0.0
        self._answer = self._loop.create_future()
        self._heard = self._loop.time()
        patience = self._read_seconds + len(request) / BYTES_PER_SECOND
        self._alarm = self._loop.call_later(patience, self._ring, patience)
        self._transport.write(request)
        try:
            return await self._answer
        finally:
            self._alarm.cancel()
            self._answer = None

    def abort(self) -> None:
        self._fit_until = 0.0
        self._transport.abort()

    def _ring(self, patience: float) -> None:
        """Give up if nothing was heard for as long as that, or look again when it will be."""
        left = self._heard + patience - self._loop.time()
        if left > 0:
            self._alarm = self._loop.call_later(left, self._ring, patience)
        else:
            self._fail(TimeoutError(f"nothing was heard for {patience:g} seconds"))

    def _fail(self, error: OSError) -> None:
        self._fit_until = 0.0
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Those of uvloop are none by inheritance.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(ConnectionError(f"an answer that is not HTTP: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ConnectionResetError(f"closed before the end of an answer: {exc or 'EOF'}"))

    # What the parser calls.

    def on_message_begin(self) -> None:
        self._headers, self._body = {}, []
        # An answer that nobody waits for would be taken for the one to the next request.
        if self._answer is None or self._answer.done():
            self.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        waiting = self._answer
        # What begins with 1 is followed by the answer.
        if waiting is None or waiting.done() or status < 200:
            return
        if self._parser.should_keep_alive():
            self._fit_until = self._loop.time() + IDLE_SECONDS
        waiting.set_result(Answer(status, self._headers, b"".join(self._body)))


class Connections:
    """At most `limit` connections, of which the last used is used first."""

    def __init__(
        self, endpoint: Endpoint, *, limit: int, connect_seconds: float, read_seconds: float
    ) -> None:
        self._endpoint = endpoint
        self._connect_seconds = connect_seconds
        self._read_seconds = read_seconds
        self._slots = asyncio.Semaphore(limit)
        self._kept: list[Connection] = []

    async def send(self, request: bytes) -> Answer:
        """Send a whole request, once; raises OSError when no whole answer came."""
        async with self._slots:
            connection = self._unused() or await self._connected()
            try:
                return await connection.exchange(request)
            finally:
                if connection.fit:
                    self._kept.append(connection)
                else:
                    connection.abort()

    async def close(self) -> None:
        while self._kept:
            self._kept.pop().abort()
        # A transport lets go of its socket in the next round of the loop.
        await asyncio.sleep(0)

    def _unused(self) -> Connection | None:
        while self._kept:
            connection = self._kept.pop()
            if connection.fit:
                return connection
            connection.abort()
        return None

    async def _connected(self) -> Connection:
        host, port, tls = self._endpoint
        async with asyncio.timeout(self._connect_seconds):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: Connection(self._read_seconds), host, port, ssl=tls
            )
        return connection
