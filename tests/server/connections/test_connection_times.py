"""A guarded connection ends clients that are silent, slow, or do not read."""

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from penstock.server.connections.connection import GuardedConnection
from penstock.server.connections.gate import EndReason
from penstock.server.connections.websocket_guard import guard_of
from tests.server.connections.wire import (
    FRAME,
    HANDSHAKE,
    GuardedApp,
    NotingApp,
    Wire,
    get,
    post,
    statuses,
)
from tests.support.patience import until

LONG_LENGTH = bytes.fromhex("81fe 0001 00000000")
CLOSE = bytes.fromhex("8882 00000000 03e8")


def connect_to(app: NotingApp) -> tuple[GuardedApp, asyncio.Protocol, Wire]:
    served = GuardedApp(app)
    return (served, *served.connect())


async def test_a_client_has_ten_seconds_for_its_first_head() -> None:
    served = GuardedApp(NotingApp())
    (_, silent), (dripping, slow), (other, good) = (served.connect() for _ in range(3))
    await served.say(dripping, b"GET / HT")
    await served.wait(6)
    await served.say(dripping, b"TP/1.1\r\n")
    await served.say(other, get())
    await served.wait(5)
    assert (silent.is_open, silent.written) == (False, b"")
    assert (statuses(slow), slow.has_ended_writing) == ([408], True)
    assert (statuses(good), good.is_open) == ([200], True)
    await served.wait(3)
    assert slow.was_aborted


async def test_a_later_head_has_ten_seconds_from_its_first_byte() -> None:
    served, connection, wire = connect_to(NotingApp())
    await served.say(connection, get())
    await served.wait(60)
    await served.say(connection, b"GET / HT")
    await served.wait(9)
    await served.say(connection, b"TP/1.1\r\n")
    assert wire.is_open
    await served.wait(1)
    assert statuses(wire) == [200, 408]


async def test_the_head_behind_a_pipelined_request_has_ten_seconds_too() -> None:
    served, connection, wire = connect_to(NotingApp())
    await served.say(connection, get() + b"GET / HT")
    await served.wait(10)
    assert statuses(wire) == [200, 408]


async def test_a_connection_between_requests_is_closed_after_its_idle_time() -> None:
    served, connection, wire = connect_to(NotingApp())
    for _ in range(3):
        await served.say(connection, get())
        await served.wait(74)
        assert wire.is_open
    await served.wait(1)
    assert (wire.is_open, wire.was_aborted) == (False, False)


async def test_a_body_that_ends_after_its_answer_leaves_the_idle_time_running() -> None:
    served, connection, wire = connect_to(NotingApp(ignores_bodies=True))
    await served.say(connection, post(b"", length="10") + b"12345")
    assert statuses(wire) == [200]
    await served.wait(9)
    await served.say(connection, b"67890")
    await served.wait(74)
    await served.say(connection, get("/b"))
    assert served.app.requests == [("POST", "/a", b""), ("GET", "/b", b"")]
    await served.wait(75)
    assert not wire.is_open


async def test_a_body_that_goes_on_after_its_answer_ends_its_connection() -> None:
    served, connection, wire = connect_to(NotingApp(ignores_bodies=True))
    await served.say(connection, post(b"", length="999999"))
    for _ in range(9):
        await served.wait(1)
        await served.say(connection, b"a")
    assert wire.is_open
    await served.wait(1)
    assert wire.was_aborted


async def test_a_body_may_be_slow_but_not_stand_still() -> None:
    served, connection, wire = connect_to(NotingApp())
    await served.say(connection, post(b"", length="10"))
    for _ in range(3):
        await served.wait(59)
        await served.say(connection, b"a")
    assert wire.is_open
    await served.wait(60)
    assert wire.was_aborted


async def test_a_body_that_the_application_does_not_read_stands_still_by_its_wish() -> None:
    served, connection, wire = connect_to(NotingApp(ignores_bodies=True, holds=True))
    await served.say(connection, post(b"", length="900000"), b"a" * 100_000)
    assert not wire.is_reading_now
    await served.wait(60)
    await served.wait(60)
    assert wire.is_open


async def test_a_client_that_reads_nothing_is_let_go() -> None:
    served, connection, wire = connect_to(NotingApp())
    wire.unread = 100_000
    connection.pause_writing()
    for _ in range(4):
        await served.say(connection, get())
        wire.unread -= 1
        await served.wait(60)
        assert not wire.was_aborted
    await served.say(connection, get())
    assert wire.socket.options == []
    await served.wait(60)
    assert wire.was_aborted
    assert wire.socket.options == [(socket.SOL_SOCKET, socket.SO_LINGER)]


async def test_a_client_that_reads_again_is_not_let_go() -> None:
    served, connection, wire = connect_to(NotingApp())
    wire.unread = 100_000
    connection.pause_writing()
    await served.wait(5)
    connection.resume_writing()
    await served.say(connection, get())
    await served.wait(60)
    assert wire.is_open


async def test_a_closed_connection_whose_client_reads_nothing_is_let_go() -> None:
    served, connection, wire = connect_to(NotingApp())
    wire.unread = 5
    await served.say(connection, get("/a", "connection: close"))
    assert (wire.is_open, wire.was_aborted) == (False, False)
    await served.wait(60)
    assert wire.was_aborted


async def test_a_closed_connection_keeps_its_time_when_its_client_reads_a_little() -> None:
    served, connection, wire = connect_to(NotingApp())
    wire.unread = 100_000
    connection.pause_writing()
    await served.say(connection, get("/a", "connection: close"))
    wire.unread = 10
    connection.resume_writing()
    ends = []
    for _ in range(2):
        await served.wait(60)
        ends.append(wire.was_aborted)
    assert ends == [False, True]
    assert served.gate.ends == {EndReason.UNREAD: 1}


async def test_a_socket_has_a_time_to_prove_its_client() -> None:
    served = GuardedApp(NotingApp())
    (silent, late), (known, wire) = served.connect(), served.connect()
    for one in (silent, known):
        await served.say(one, HANDSHAKE)
    guard = guard_of(served.app.scope)
    assert guard is not None
    guard.admit(lambda _units: None)
    await served.wait(30)
    assert (late.was_aborted, wire.was_aborted) == (True, False)
    await served.wait(1_000)
    assert wire.is_open


async def test_a_socket_that_is_refused_has_a_time_to_leave() -> None:
    served, connection, wire = connect_to(NotingApp())
    await served.say(connection, HANDSHAKE, LONG_LENGTH)
    assert wire.written.endswith(b"The length is not in its shortest form")
    await served.say(connection, FRAME * 1_000)
    await served.wait(1)
    assert (wire.is_open, wire.is_reading_now) == (True, True)
    await served.wait(1)
    assert wire.was_aborted
    assert served.app.requests == []


async def test_a_socket_whose_client_does_not_read_its_last_bytes_is_let_go() -> None:
    served, connection, wire = connect_to(NotingApp())
    await served.say(connection, HANDSHAKE)
    guard = guard_of(served.app.scope)
    assert guard is not None
    guard.admit(lambda _units: None)
    wire.unread = 100_000
    await served.say(connection, CLOSE)
    assert (wire.is_open, wire.was_aborted) == (False, False)
    await served.wait(60)
    assert (wire.was_aborted, served.gate.ends) == (True, {EndReason.UNREAD: 1})


async def test_a_handshake_that_nobody_answers_ends() -> None:
    served, connection, wire = connect_to(NotingApp(holds=True))
    await served.say(connection, HANDSHAKE)
    await served.wait(30)
    assert (wire.written, wire.was_aborted) == (b"", True)


@asynccontextmanager
async def slow_reader(served: GuardedApp) -> AsyncIterator[socket.socket]:
    """Connect a client that receives a large answer into a small buffer."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(served.make_connection, "127.0.0.1", 0)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await loop.sock_connect(client, server.sockets[0].getsockname())
        await loop.sock_sendall(client, get())
        await until(lambda: len(served.gate) == 1 and served.gate._unread)
        try:
            yield client
        finally:
            client.close()
            server.close()
            await until(lambda: len(served.gate) == 0)


async def test_a_client_that_reads_slowly_is_served_to_the_end() -> None:
    served = GuardedApp(NotingApp(answer=b"a" * 20_000_000))
    async with slow_reader(served) as client:
        (connection,) = served.gate._open
        assert isinstance(connection, GuardedConnection)
        kept = []
        for _ in range(8):
            before = connection._client_reading.count_received()
            while connection._client_reading.count_received() == before:
                await asyncio.get_running_loop().sock_recv(client, 1024)
            kept.append(connection._real.get_write_buffer_size())
            await served.wait(60)
            assert served.gate.ends == {}
        # The system takes more in large steps only, so the buffer alone would show no progress.
        assert any(one == other for one, other in itertools.pairwise(kept))
        await served.wait(60)
        assert served.gate.ends == {EndReason.UNREAD: 1}
