"""A minimal HTTP/1.1 server for tests, which may also break off in the middle of an answer."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

REASON = "As Planned"


@dataclass(frozen=True, slots=True)
class Request:
    """A request with its header names in lower case."""

    target: str
    headers: Mapping[str, str]
    body: bytes
    method: str = "POST"


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; its Content-Length is added when it is written, unless it has one."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def content_range(request: Request, size: int) -> str:
    """The `Content-Range` of an answer with the bytes that are asked for, of so many."""
    first, _, last = request.headers["range"].removeprefix("bytes=").partition("-")
    return f"bytes {first}-{min(int(last or size), size - 1)}/{size}"


class Connection:
    """One client's connection, on which the server may also misbehave."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def request(self) -> Request | None:
        """Read the next request; None if the client has left."""
        try:
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.rstrip().split("\r\n")
            headers = {
                name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in lines)
            }
            if "expect" in headers:
                self._writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = await self._reader.readexactly(int(headers.get("content-length", "0")))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        method, target, _ = first.split(" ")
        return Request(target, headers, body, method)

    async def answer(self, answer: Answer) -> None:
        headers = {"Content-Length": str(len(answer.body)), **answer.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        first = f"HTTP/1.1 {answer.status} {REASON}\r\n"
        with suppress(ConnectionError):
            self._writer.write(f"{first}{head}\r\n".encode("latin-1") + answer.body)
            await self._writer.drain()

    async def send(self, data: bytes) -> None:
        """Send bytes as they are; a client that has left gets none."""
        with suppress(ConnectionError):
            self._writer.write(data)
            await self._writer.drain()

    def reset(self) -> None:
        """Close with RST, like a crashed machine or a load balancer that lost its state."""
        connection: socket.socket = self._writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def fall_silent(self) -> None:
        """Never answer: wait until the client gives up."""
        with suppress(ConnectionError):
            await self._reader.read()

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


class LoopbackServer:
    """Serves connections on a port of 127.0.0.1; `serve` gets each request in turn."""

    def __init__(self, serve: Callable[[Request, Connection], Awaitable[None]]) -> None:
        self._serve = serve
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, port: int = 0) -> str:
        """Start on the port, or on a free one, and return the URL."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", port)
        port = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    async def stop(self) -> None:
        self._server.close()
        await self._server.wait_closed()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._converse(Connection(reader, writer)))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        # One that is cancelled before it begins runs no line of its own.
        task.add_done_callback(lambda _: writer.close())

    async def _converse(self, connection: Connection) -> None:
        try:
            while (request := await connection.request()) is not None:
                await self._serve(request, connection)
        finally:
            await connection.close()
