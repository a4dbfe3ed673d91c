"""A lost connection leaves nothing that only a collection of garbage would free."""

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Final

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from penstock.server.connections.connection import GuardedConnection
from penstock.server.connections.websocket_guard import WebSocketGuard
from tests.server.connections.wire import FRAME, HANDSHAKE, GuardedApp, NotingApp, get, post
from tests.support.loop_clock import let_tasks_run
from tests.support.patience import HUNG_SECONDS

HEADER: Final = f"x: {'a' * 4_000}"
SENT: Final[Mapping[str, bytes]] = {
    "nothing": b"",
    "half a head": get("/a", HEADER)[:-10],
    "a request": get("/a", HEADER),
    "a request with a body": post(b"abc", HEADER),
    "half a body": post(b"abc", HEADER)[:-1],
    "chunks": b"POST /a HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n",
    "two requests": get("/a", HEADER) * 2,
    "a bad request": b"GET /a HTTP/1.1\r\n\r\n",
    "a handshake": HANDSHAKE,
    "a handshake and a frame": HANDSHAKE + FRAME,
    "a bad handshake": HANDSHAKE.replace(b"version: 13", b"version: 8"),
    "a WebSocket that is refused": HANDSHAKE + b"\xff" * 9,
}


LOSSES: Final[Mapping[str, Exception | None]] = {
    "an end": None,
    "a reset": ConnectionResetError(),
}


@pytest.fixture
def _without_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
async def _earlier_timer() -> AsyncIterator[None]:
    """A timer behind which asyncio keeps later ones that were cancelled."""
    timer = asyncio.get_running_loop().call_later(HUNG_SECONDS / 100, gc.isenabled)
    yield
    timer.cancel()


@pytest.mark.usefixtures("_without_collections", "_earlier_timer")
@pytest.mark.parametrize("holds", [False, True], ids=["answered", "unanswered"])
@pytest.mark.parametrize("error", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
async def test_a_lost_connection_is_freed_at_once(
    sent: bytes, error: Exception | None, holds: bool
) -> None:
    before = find_parts()
    served = GuardedApp(NotingApp(holds=holds), ws=WebSocketGuard)
    connection, wire = served.connect()
    await served.say(connection, sent)
    assert find_parts() != before
    served.lose(connection, error)
    # As a transport does that has closed.
    wire.connection = asyncio.Protocol()
    del connection
    served.app.may_answer.set()
    while served.state.tasks:
        await asyncio.wait(served.state.tasks)
    served.app.scope = {}
    await let_tasks_run()
    assert find_parts() == before


def find_parts() -> list[str]:
    """Return the names of the parts of connections that are in memory."""
    parts = (HttpToolsProtocol, WebSocketsSansIOProtocol, GuardedConnection, WebSocketGuard)
    return sorted(type(one).__name__ for one in gc.get_objects() if isinstance(one, parts))
