"""A guarded connection without a network, in front of an application that notes its requests."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.server import ServerState

from penstock.server.connections.body_budget import BodyBudget
from penstock.server.connections.connection import connection_of
from penstock.server.connections.gate import ConnectionGate, Gates, Stage
from penstock.server.connections.request_watcher import RequestWatcher
from penstock.server.connections.uvicorn_class import connection_class
from penstock.server.connections.websocket_guard import WebSocketGuard

SECONDS = {
    Stage.LEAVING: 2.0,
    Stage.UNPROVEN: 30.0,
    Stage.PROVING: 30.0,
    Stage.FIRST_HEAD: 10.0,
    Stage.HEAD: 10.0,
    Stage.REST_OF_BODY: 10.0,
    Stage.NEXT_REQUEST: 75.0,
    Stage.BODY: 60.0,
    Stage.READING: 60.0,
}
ANSWER = b"read"


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class LocalSocket:
    """A socket that has addresses and notes its options."""

    def __init__(self) -> None:
        self.options: list[tuple[int, int]] = []

    def fileno(self) -> int:
        return -1

    def setsockopt(self, level: int, option: int, _value: bytes) -> None:
        self.options.append((level, option))

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", 8000

    def getpeername(self) -> tuple[str, int]:
        return "127.0.0.1", 50_000


class Wire(asyncio.Transport):
    """A transport that keeps what is written; `unread` is the size of its buffer.

    While its client reads nothing, what is written stays there.
    """

    def __init__(self, port: int = 8000, address: str = "") -> None:
        super().__init__()
        self._address = address
        self.written = b""
        self.unread = 0
        self.is_open = True
        self.is_reading_now = True
        self.was_aborted = False
        self.has_ended_writing = False
        self.connection: asyncio.BaseProtocol = asyncio.Protocol()
        self._port = port
        self.socket = LocalSocket()

    def write(self, data: Any) -> None:
        self.written += data
        if self.unread:
            self.unread += len(data)

    def write_eof(self) -> None:
        self.has_ended_writing = True

    def can_write_eof(self) -> bool:
        return True

    def close(self) -> None:
        self.is_open = False

    def abort(self) -> None:
        self.is_open = False
        self.was_aborted = True

    def is_closing(self) -> bool:
        return not self.is_open

    def pause_reading(self) -> None:
        self.is_reading_now = False

    def resume_reading(self) -> None:
        self.is_reading_now = True

    def get_write_buffer_size(self) -> int:
        return self.unread

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Pause the writing if more is unread than the limit, as transports do."""
        if self.unread and high == 0:
            self.connection.pause_writing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        found = {
            "sockname": ("127.0.0.1", self._port),
            "peername": (self._address, 50_000),
            "socket": self.socket,
        }
        return found.get(name, default)


class NotingApp:
    """Notes method, target and body of each request, and answers it.

    With `holds` the answers wait until the test sets `may_answer`; with `ignores_bodies` it answers
    without having read the body; with `distrusts` it takes all clients for strangers. The `users`
    are the callers of the requests; `placed` notes whether they got a place.
    """

    def __init__(
        self,
        *,
        holds: bool = False,
        ignores_bodies: bool = False,
        distrusts: bool = False,
        users: Sequence[str] = (),
        answer: bytes = ANSWER,
    ) -> None:
        self.scope: Scope = {}
        self.requests: list[tuple[str, str, bytes]] = []
        self.fields: list[list[tuple[bytes, bytes]]] = []
        self.left = 0
        self.may_answer = asyncio.Event()
        self._ignores_bodies = ignores_bodies
        self._distrusts = distrusts
        self._users = iter(users)
        self.placed: list[bool] = []
        self._answer = answer
        if not holds:
            self.may_answer.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        connection = connection_of(scope)
        if self._distrusts and connection is not None:
            connection.distrust()
        user = next(self._users, None)
        if user is not None and connection is not None:
            self.placed.append(connection.take_place(user))
        if scope["type"] == "websocket":
            await self._converse(receive, send)
            return
        self.fields.append(list(scope["headers"]))
        body = None if self._ignores_bodies else await _read_body(receive)
        if body is None and not self._ignores_bodies:
            self.left += 1
            return
        target = scope["raw_path"] + (
            b"?" + scope["query_string"] if scope["query_string"] else b""
        )
        self.requests.append((scope["method"], target.decode(), body or b""))
        await self.may_answer.wait()
        headers = [(b"content-length", b"%d" % len(self._answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self._answer})

    async def _converse(self, receive: Receive, send: Send) -> None:
        await receive()
        await self.may_answer.wait()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            self.requests.append(("SOCKET", "", message["text"].encode()))


class PassingApp(NotingApp):
    """Passes all requests on to the application."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__()
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


async def _read_body(receive: Receive) -> bytes | None:
    body = b""
    while True:
        message: Message = await receive()
        if message["type"] == "http.disconnect":
            return None
        part: bytes = message.get("body", b"")
        body += part
        if not message.get("more_body"):
            return body


class GuardedApp:
    """Guarded connections of one application, behind gates with a clock of the test."""

    opened: ClassVar[list["GuardedApp"]] = []

    def __init__(
        self,
        app: NotingApp,
        most: int = 100,
        admin_port: int | None = None,
        ws: Any = WebSocketGuard,
        bodies: BodyBudget | None = None,
    ) -> None:
        self.app = app
        self.clock = Clock()
        self.gate = ConnectionGate(most, SECONDS, self.clock, bodies)
        self.state = ServerState()
        admin = None if admin_port is None else ConnectionGate(2, SECONDS, self.clock)
        gates = Gates(self.gate, admin, admin_port or 0)
        self._config = uvicorn.Config(
            RequestWatcher(app),
            http=connection_class(gates),
            ws=ws,
            lifespan="off",
            log_config=None,
            access_log=False,
        )
        self._config.load()
        self._connections: list[asyncio.Protocol] = []
        self.opened.append(self)

    async def close(self) -> None:
        """Lose all connections, and let the requests end."""
        for connection in tuple(self._connections):
            self.lose(connection)
        self.app.may_answer.set()
        while self.state.tasks:
            await asyncio.wait(self.state.tasks)

    def lose(self, connection: asyncio.Protocol, error: Exception | None = None) -> None:
        self._connections.remove(connection)
        connection.connection_lost(error)

    def make_connection(self) -> asyncio.Protocol:
        make: Callable[..., asyncio.Protocol] = self._config.http_protocol_class
        return make(config=self._config, server_state=self.state, app_state={})

    def connect(self, port: int = 8000, address: str = "") -> tuple[asyncio.Protocol, Wire]:
        connection = self.make_connection()
        wire = Wire(port, address)
        wire.connection = connection
        connection.connection_made(wire)
        self._connections.append(connection)
        return connection, wire

    async def settle(self) -> None:
        """Let every request run as far as it can."""
        for _ in range(12):
            await asyncio.sleep(0)

    async def say(self, connection: asyncio.Protocol, *pieces: bytes) -> None:
        for piece in pieces:
            connection.data_received(piece)
            await self.settle()

    async def wait(self, seconds: float) -> None:
        """Move the clock, and end what is late."""
        self.clock.now += seconds
        await self.gate.end_late_ones()
        await self.settle()


def post(body: bytes, *fields: str, target: str = "/a", length: str | None = None) -> bytes:
    shown = f"{len(body)}" if length is None else length
    lines = [f"POST {target} HTTP/1.1", "host: a", *fields, f"content-length: {shown}"]
    return "\r\n".join((*lines, "", "")).encode("latin-1") + body


def get(target: str = "/a", *fields: str, version: str = "1.1") -> bytes:
    lines = [f"GET {target} HTTP/{version}", "host: a", *fields]
    return "\r\n".join((*lines, "", "")).encode("latin-1")


def in_chunks(body: bytes, sizes: Sequence[int] = (), extension: bytes = b"") -> bytes:
    """Return the body in chunks of these sizes, and one of the rest."""
    written, at = b"", 0
    for size in (*sizes, len(body)):
        part = body[at : at + size]
        at += len(part)
        if part:
            written += b"%x%b\r\n%b\r\n" % (len(part), extension, part)
    return written


HANDSHAKE = get(
    "/s",
    "connection: Upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
)
FRAME = bytes.fromhex("8182 00000000") + b"ab"
"""A text of two letters, masked by zeros."""


def statuses(wire: Wire) -> list[int]:
    return [int(part[1:4]) for part in wire.written.split(b"HTTP/1.1")[1:]]
