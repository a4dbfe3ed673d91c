"""The messages of a caller in debt wait unread behind the guards of their connections."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from penstock.server.connections import websocket_guard
from penstock.server.connections.connection import GuardedConnection
from penstock.server.streams import websocket
from penstock.server.streams.messages import PROTOCOL, ClientMessage, parse_message
from tests.server.connections.wire import HANDSHAKE, GuardedApp, PassingApp, Wire
from tests.server.hostile.stream_messages import frame
from tests.server.streams.stream_client import INIT, StreamHouse
from tests.support.loop_clock import LONG, let_tasks_run, pass_time
from tests.support.patience import until

HELLO = "{ hello }"
PROTOCOL_LINE = f"sec-websocket-protocol: {PROTOCOL}\r\n\r\n".encode()
HEAD = HANDSHAKE.removesuffix(b"\r\n") + PROTOCOL_LINE
DEBT = 10_000
SOCKETS = 20
SIZE = 100_000
PONG_FRAME = b"\x8a\x01a"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the sizes of the messages that were parsed."""
    sizes: list[int] = []

    def parse(text: str, most: int) -> ClientMessage:
        sizes.append(len(text))
        return parse_message(text, most)

    monkeypatch.setattr(websocket, "parse_message", parse)
    return sizes


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket_guard, "DEBT_SECONDS", LONG)


def subscribe(id: str, size: int = 0) -> bytes:
    """Return a message of at least so many bytes."""
    payload = {"query": HELLO, "extensions": {"x": "x" * size}}
    return json.dumps({"type": "subscribe", "id": id, "payload": payload}).encode()


class GuardedClient:
    """A client behind a guard; what the server does not read waits in `network`."""

    def __init__(self, connection: GuardedConnection, wire: Wire) -> None:
        self.connection, self.wire = connection, wire
        self.network = b""

    def send(self, data: bytes) -> None:
        self.network += data
        while self.wire.is_reading_now and self.network:
            piece, self.network = self.network[:65_536], self.network[65_536:]
            self.connection.data_received(piece)

    def read(self) -> list[dict[str, Any]]:
        """Return what has come since the last call: messages without the handshake."""
        data, self.wire.written = self.wire.written, b""
        return list(_messages(data))

    async def next_of(self, id: str) -> list[dict[str, Any]]:
        """Return the messages of an operation."""
        found: list[dict[str, Any]] = []

        def has_end() -> bool:
            self.send(b"")
            found.extend(one for one in self.read() if one.get("id") == id)
            return found != [] and found[-1]["type"] != "next"

        await until(has_end)
        return found


def _messages(data: bytes) -> Iterator[dict[str, Any]]:
    if data.startswith(b"HTTP/1.1 101"):
        data = data.partition(b"\r\n\r\n")[2]
    while data:
        wide = data[1] == 126
        size = int.from_bytes(data[2:4], "big") if wide else data[1]
        start = 4 if wide else 2
        if data[0] == 0x81:
            yield json.loads(data[start : start + size])
        data = data[start + size :]


@asynccontextmanager
async def guarded_client(served: GuardedApp, user: str = "ann") -> AsyncIterator[GuardedClient]:
    connection, wire = served.connect()
    assert isinstance(connection, GuardedConnection)
    client = GuardedClient(connection, wire)
    client.send(HEAD)
    await until(lambda: wire.written.startswith(b"HTTP/1.1 101"))
    init = {**INIT, "payload": {"authorization": f"Bearer {user}"}}
    client.send(frame(json.dumps(init).encode()))
    await until(lambda: client.read() == [{"type": "connection_ack"}])
    try:
        yield client
    finally:
        served.lose(connection)


def house_with_share() -> tuple[StreamHouse, GuardedApp]:
    house = StreamHouse(share=DEBT)
    house.learn(HELLO)
    return house, GuardedApp(PassingApp(house.websocket))


@pytest.mark.usefixtures("patient")
async def test_twenty_sockets_of_a_caller_in_debt_have_nothing_parsed_until_it_is_paid(
    parsed: list[int],
) -> None:
    house, served = house_with_share()
    message = subscribe("1", SIZE)
    price = len(message) // 1_000
    async with AsyncExitStack() as held:
        clients = [await held.enter_async_context(guarded_client(served)) for _ in range(SOCKETS)]
        other = await held.enter_async_context(guarded_client(served, "bob"))
        parsed.clear()
        house.limiter.owe("ann", 2 * DEBT)
        for client in clients:
            # A second operation with the id of one that runs would end the connection.
            client.send(b"".join(frame(subscribe(id, SIZE)) for id in "123"))
        for _ in range(8):
            await pass_time(websocket_guard.PAYMENT_SECONDS)
        assert parsed == []
        assert all(client.network and not client.wire.is_reading_now for client in clients)
        other.send(frame(message))
        assert [one["type"] for one in await other.next_of("1")] == ["next", "complete"]
        assert parsed == [len(message)]
        # The debt is paid, and three messages and their operations can be.
        parsed.clear()
        house.limiter.owe("ann", -(DEBT + 3 * (price + 1)))
        for _ in range(8):
            await pass_time(websocket_guard.PAYMENT_SECONDS)
            for client in clients:
                client.send(b"")
        assert parsed == [len(message)] * 3
        answers = [one for client in clients for one in client.read()]
        assert [one["payload"] for one in answers if one["type"] == "next"] == [
            {"data": {"hello": "world"}}
        ] * 3
        assert house.spending_of() == DEBT
        house.limiter.owe("ann", -SOCKETS * 3 * (price + 1))

        def all_are_parsed() -> bool:
            for client in clients:
                client.send(b"")
            return len(parsed) == 3 * SOCKETS

        await until(all_are_parsed)


async def test_a_message_that_waits_too_long_is_refused_and_the_connection_stays(
    parsed: list[int],
) -> None:
    house, served = house_with_share()
    message = subscribe("1", SIZE)
    async with guarded_client(served) as client:
        parsed.clear()
        house.limiter.owe("ann", 2 * DEBT)
        client.send(frame(message) + frame(message.replace(b'"1"', b'"2"', 1)))
        await pass_time(websocket_guard.DEBT_SECONDS + 1)
        await pass_time(1)
        (refused,) = await client.next_of("1")
        assert refused["type"] == "error"
        assert refused["payload"][0]["extensions"]["code"] == "RATE_LIMITED"
        assert parsed == [len(message)]
        house.limiter.owe("ann", -2 * DEBT)
        assert [one["type"] for one in await client.next_of("2")] == ["next", "complete"]
        assert house.spending_of() == len(message) // 1_000 + 1


@pytest.mark.usefixtures("patient")
async def test_small_messages_and_pings_of_a_caller_in_debt_are_answered() -> None:
    house, served = house_with_share()
    async with guarded_client(served) as client:
        house.limiter.owe("ann", 2 * DEBT)
        client.send(frame(subscribe("1")) + frame(b'{"type":"ping"}') + frame(b"a", 9))
        await until(lambda: client.wire.written.count(b'"type":"') == 2)
        assert PONG_FRAME in client.wire.written
        answers = {one["type"]: one for one in client.read()}
        assert answers["pong"] == {"type": "pong"}
        assert answers["error"]["payload"][0]["extensions"]["code"] == "RATE_LIMITED"
    assert house.spending_of() == 2 * DEBT


@pytest.mark.parametrize("size", [0, 990, 5_000, SIZE])
async def test_a_message_is_paid_once(size: int) -> None:
    house, served = house_with_share()
    message = subscribe("1", size)
    async with guarded_client(served) as client:
        client.send(frame(message))
        assert [one["type"] for one in await client.next_of("1")] == ["next", "complete"]
    assert house.spending_of() == len(message) // 1_000 + 1


async def test_a_large_ping_is_paid_as_well() -> None:
    house, served = house_with_share()
    ping = json.dumps({"type": "ping", "payload": {"x": "x" * SIZE}}).encode()
    async with guarded_client(served) as client:
        client.send(frame(ping))
        await until(lambda: client.read() == [{"type": "pong"}])
    assert house.spending_of() == len(ping) // 1_000


async def test_who_leaves_while_a_message_waits_gives_the_place_back() -> None:
    house, served = house_with_share()
    async with guarded_client(served) as client:
        house.limiter.owe("ann", 2 * DEBT)
        client.send(frame(subscribe("1", SIZE)))
        await let_tasks_run()
        assert len(house.streams) == 1
    await until(lambda: len(house.streams) == 0)
    assert house.spending_of() == 2 * DEBT
