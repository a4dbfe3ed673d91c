"""Handshakes whose lines are long, or that uvicorn's WebSocket protocol cannot read."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets import http11

from penstock.server.connections.request_head import MAX_HEAD_BYTES
from tests.server.connections.wire import HANDSHAKE, GuardedApp, NotingApp
from tests.server.hostile.raw_connection import CloseFrame, Conversation, Talk
from tests.server.hostile.stream_messages import INIT, frame
from tests.support.patience import HUNG_SECONDS
from tests.support.penstock_command import Server, start_server, token_of

pytestmark = pytest.mark.runs_together("long handshakes")

MOST_SILENT = 5
ACK = '{"type":"connection_ack"}'
CROWDED_OUT = CloseFrame(1013, "Too many clients are connecting")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    arguments = ("--port", "0", "--no-seed", "--data-dir", str(tmp_path / "data"))
    settings = {"PENSTOCK_MAX_UNPROVEN_STREAMS": f"{MOST_SILENT}"}
    with start_server(tmp_path / "log", *arguments, **settings) as server:
        yield server


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def handshake(host: str, field: str = "x: a", target: str = "/graphql") -> bytes:
    lines = (
        f"GET {target} HTTP/1.1",
        f"host: {host}",
        "connection: Upgrade",
        "upgrade: websocket",
        "sec-websocket-version: 13",
        "sec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==",
        "sec-websocket-protocol: graphql-transport-ws",
        field,
    )
    return "\r\n".join((*lines, "", "")).encode()


def open_socket(
    server: Server, stack: ExitStack, field: str = "x: a", target: str = "/graphql"
) -> Conversation:
    talk = stack.enter_context(Talk(server.url))
    talk.say(handshake(talk.host, field, target))
    assert talk.reply().status == 101
    return Conversation(talk)


def longest_field(server: Server) -> str:
    """Return a field, without a space, that makes the head as large as a head may be."""
    rest = len(handshake(urlsplit(server.url).netloc, "x:"))
    return "x:" + "a" * (MAX_HEAD_BYTES - rest)


def test_a_line_of_a_handshake_may_be_as_long_as_a_head(server: Server, stack: ExitStack) -> None:
    for field in ("x: " + "a" * 8_187, "x: " + "a" * 8_188, "x: " + "a" * 30_000):
        open_socket(server, stack, field)
    field = longest_field(server)
    open_socket(server, stack, field)
    open_socket(server, stack, target="/graphql?" + "a" * 30_000)
    with Talk(server.url) as talk:
        talk.say(handshake(talk.host, field + "a"))
        assert talk.reply().status == 431


def test_a_large_token_opens_a_websocket(server: Server, stack: ExitStack, tmp_path: Path) -> None:
    roles = [f"/group{number:03}{'x' * 50}=reader" for number in range(95)]
    token = token_of(tmp_path / "data", *roles)
    assert len(token) > 8_192
    conversation = open_socket(server, stack, f"authorization: Bearer {token}")
    conversation.say(INIT)
    assert conversation.hear() == ACK


def test_websockets_with_long_handshakes_count_as_silent(server: Server, stack: ExitStack) -> None:
    silent = [open_socket(server, stack, "x: " + "a" * 9_000) for _ in range(2 * MOST_SILENT)]
    for one in silent[:MOST_SILENT]:
        assert one.hear() == CROWDED_OUT


@pytest.mark.parametrize("length", ["0", "00", "000000000000000000"])
def test_a_handshake_may_name_a_length_of_zero(
    server: Server, stack: ExitStack, length: str
) -> None:
    open_socket(server, stack, f"content-length: {length}")


def test_a_server_with_long_handshakes_open_ends_well(
    server: Server, stack: ExitStack, tmp_path: Path
) -> None:
    for _ in range(3):
        talk = stack.enter_context(Talk(server.url))
        talk.say(handshake(talk.host, "x: " + "a" * 9_000))
        assert talk.reply().status == 101
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(HUNG_SECONDS) == 0
    assert "Traceback" not in (tmp_path / "log").read_text()


@asynccontextmanager
async def listening(served: GuardedApp) -> AsyncIterator[tuple[str, int]]:
    """Serve guarded connections on a port."""
    loop = asyncio.get_running_loop()
    async with await loop.create_server(served.make_connection, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        yield host, port


async def hear_all(address: tuple[str, int], sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(sent)
    async with asyncio.timeout(HUNG_SECONDS):
        heard = await reader.read()
    writer.close()
    return heard


async def test_a_line_beyond_the_bound_of_the_library_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http11, "MAX_LINE_LENGTH", 8_192)
    served = GuardedApp(NotingApp())
    async with listening(served) as address:
        for sent in (
            HANDSHAKE[:-2] + b"x:" + b"a" * 8_188 + b"\r\n\r\n",
            HANDSHAKE.replace(b"/s", b"/" + b"s" * 9_000),
        ):
            heard = await hear_all(address, sent)
            assert heard.startswith(b"HTTP/1.1 431 ")
    assert served.app.scope == {}


async def test_a_handshake_that_uvicorn_does_not_begin_to_serve_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http11, "MAX_NUM_HEADERS", 5)
    served = GuardedApp(NotingApp())
    more = b"".join(b"x%d: a\r\n" % number for number in range(5))
    async with listening(served) as address:
        heard = await hear_all(address, HANDSHAKE[:-2] + more + b"\r\n")
        assert heard.startswith(b"HTTP/1.1 400 ")
        assert b'"code":"BAD_REQUEST"' in heard
    assert (served.app.scope, served.state.connections) == ({}, set())


async def test_a_websocket_that_cannot_be_closed_keeps_no_other_from_being_closed() -> None:
    served = GuardedApp(NotingApp())
    (leaving, left), (open_one, wire) = served.connect(), served.connect()
    for connection in (leaving, open_one):
        await served.say(connection, HANDSHAKE)
    # The client has said goodbye, and its connection is not gone yet.
    await served.say(leaving, frame(b"\x03\xe8", 8))
    assert left.written.count(b"\x88\x02\x03\xe8") == 1
    assert len(served.state.connections) == 2
    for one in list(served.state.connections):
        one.shutdown()
    assert b"\x88\x02\x03\xf4" in wire.written
    assert not wire.is_open
