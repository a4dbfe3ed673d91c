"""The guard before uvicorn's WebSocket protocol, over a transport that records."""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from penstock.server.connections import websocket_guard
from penstock.server.connections.connection import STATE_KEY
from penstock.server.connections.websocket_frames import TURN_BYTES, TURN_FRAMES
from penstock.server.connections.websocket_guard import WebSocketGuard, guard_of
from tests.server.hostile.stream_messages import HANDSHAKES, frame

HEAD = "".join(
    (
        "GET /graphql HTTP/1.1\r\nhost: a\r\n",
        *(f"{name}: {value}\r\n" for name, value in HANDSHAKES[0].headers if name != "origin"),
        "\r\n",
    )
).encode()
PING, PONG = 9, b"\x8a\x00"
TURNS = 1_000


class RecordingTransport(asyncio.Transport):
    """A transport that records what the server does with it."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.reading = True
        self.closed = False
        self.aborted = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def pause_reading(self) -> None:
        assert self.reading
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading
        self.reading = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True


class NotingConnection:
    """Notes what a guard lets its connection do."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def count_message(self, size: int) -> None:
        self.done.append(f"count {size}")

    def trust(self) -> None:
        self.done.append("trust")

    def leave(self) -> None:
        self.done.append("leave")


class GuardedApp:
    """A guarded connection to an application that reads when it is allowed to."""

    opened: ClassVar[list["GuardedApp"]] = []

    def __init__(self) -> None:
        self.opened.append(self)
        self.state = ServerState()
        self.transport = RecordingTransport()
        self.may_accept, self.may_read, self.may_leave = (asyncio.Event() for _ in range(3))
        self.received: list[Any] = []
        self.scope: Scope = {}
        config = uvicorn.Config(
            self._serve,
            interface="asgi3",
            proxy_headers=False,
            log_config=None,
            ws_max_size=1_000_000,
            ws_per_message_deflate=False,
        )
        config.load()
        self.connection = NotingConnection()
        self.guard = WebSocketGuard(config, self.state, {STATE_KEY: self.connection})
        self.guard.connection_made(self.transport)
        self.guard.data_received(HEAD)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        await receive()
        await self.may_accept.wait()
        await send({"type": "websocket.accept"})
        await self.may_read.wait()
        while not self.may_leave.is_set():
            message = await receive()
            self.received.append(message.get("text", message["type"]))
            if message["type"] == "websocket.disconnect":
                return
        await send({"type": "websocket.close", "code": 4400})

    @property
    def pongs(self) -> int:
        return b"".join(self.transport.written[1:]).count(PONG)

    @property
    def close_codes(self) -> list[int]:
        closes = [one for one in self.transport.written if one[:1] == b"\x88"]
        return [struct.unpack("!H", one[2:4])[0] for one in closes]


@pytest.fixture(autouse=True)
async def _end_applications() -> AsyncIterator[None]:
    """End what still runs: a task that nobody holds would log, amid another test, that it ends."""
    yield
    running = [task for app in GuardedApp.opened for task in app.state.tasks]
    GuardedApp.opened.clear()
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)


async def turn_until(done: Callable[[], bool]) -> None:
    """Let the loop turn until this holds."""
    for _ in range(TURNS):
        if done():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never happened")


async def turn_often() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


async def accepted_app() -> GuardedApp:
    app = GuardedApp()
    app.may_accept.set()
    await turn_until(lambda: len(app.transport.written) == 1)
    assert app.transport.written[0].startswith(b"HTTP/1.1 101 ")
    return app


async def test_many_frames_of_one_read_are_parsed_in_turns() -> None:
    app = await accepted_app()
    app.guard.data_received(frame(b"", PING) * 90)
    assert app.pongs == TURN_FRAMES
    await turn_until(lambda: app.pongs == 90)


async def test_frames_wait_until_the_handshake_is_answered() -> None:
    app = GuardedApp()
    app.guard.data_received(frame(b"early"))
    await turn_often()
    assert app.transport.written == []
    app.may_accept.set()
    app.may_read.set()
    await turn_until(lambda: app.received == ["early"])


async def test_messages_that_nobody_reads_wait_in_the_network_and_none_is_lost() -> None:
    app = await accepted_app()
    texts = [f"{number}" for number in range(300)]
    sent = b"".join(frame(text.encode()) for text in texts)
    app.guard.data_received(sent)
    await turn_often()
    assert not app.transport.reading
    app.may_read.set()
    await turn_until(lambda: len(app.received) == 300)
    assert app.received == texts
    await turn_until(lambda: app.transport.reading)


async def test_no_more_is_read_while_many_bytes_wait_for_their_turn() -> None:
    app = await accepted_app()
    app.guard.admit(lambda _units: None)
    app.guard.data_received(frame(b"a" * 4 * TURN_BYTES)[:-1])
    assert not app.transport.reading
    await turn_until(lambda: app.transport.reading)


async def test_a_flood_is_refused_once_and_then_discarded() -> None:
    app = await accepted_app()
    app.may_read.set()
    app.guard.data_received(frame(b"", PING) * 500)
    await turn_until(lambda: app.close_codes != [])
    for _ in range(10):
        app.guard.data_received(frame(b"", PING) * 500)
        await asyncio.sleep(0)
    assert app.close_codes == [1008]
    assert app.pongs <= 100
    assert app.connection.done == ["leave"]
    assert not app.transport.closed
    assert app.received == ["websocket.disconnect"]
    assert app.state.connections == set()
    app.guard.connection_lost(None)
    await turn_until(lambda: not app.state.tasks)


async def test_a_stranger_sends_short_messages_until_it_is_admitted() -> None:
    stranger = await accepted_app()
    stranger.guard.data_received(frame(b" " * 65_537))
    assert stranger.close_codes == [1009]
    known = await accepted_app()
    known.may_read.set()
    guard = guard_of(known.scope)
    assert guard is known.guard
    guard.admit(lambda _units: None)
    assert known.connection.done == ["trust"]
    known.guard.data_received(frame(b" " * 65_537))
    await turn_until(lambda: known.received == [" " * 65_537])


async def test_messages_after_the_end_are_parsed_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket_guard, "IGNORED_SECONDS", 1_000)
    app = await accepted_app()
    app.may_leave.set()
    app.may_read.set()
    await turn_until(lambda: app.close_codes == [4400])
    app.guard.data_received(frame(b"ignored") * 20_000)
    await turn_often()
    assert not app.transport.reading
    assert not app.transport.closed


async def test_a_connection_that_is_lost_is_reported_once() -> None:
    app = await accepted_app()
    app.may_read.set()
    app.guard.data_received(frame(b"last"))
    app.guard.connection_lost(ConnectionResetError())
    await turn_until(lambda: app.received == ["last", "websocket.disconnect"])
    app.guard.data_received(frame(b"never"))
    await turn_until(lambda: not app.state.tasks)
    assert app.state.connections == set()
    assert app.received == ["last", "websocket.disconnect"]
