"""The proxy of slow answers changes nothing but the time at which a page has them."""

import asyncio

import pytest

from tests.browser import slow_answers
from tests.browser.slow_answers import CONNECTED, NO_PROOF, REFUSED, chance_of, open_slow_proxy
from tests.support.server_process import free_port

ASK_FOR_NO_PROOF = b"\5\1\0"
PIECES = [bytes([number]) * 40_000 for number in range(20)]


def connect_to(port: int) -> bytes:
    return b"\5\1\0\1\x7f\0\0\1" + port.to_bytes(2)


async def exchange(proxy: str, port: int, request: bytes) -> bytes:
    """Send a request through the proxy, and return all that comes back after the greeting."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.rpartition(":")[2]))
    writer.write(ASK_FOR_NO_PROOF)
    assert await reader.readexactly(2) == NO_PROOF
    writer.write(connect_to(port) + request)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def send_pieces(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    request = await reader.readexactly(5)
    for piece in PIECES:
        writer.write(request + piece)
        await writer.drain()
    writer.close()


async def test_an_answer_comes_whole_and_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_answers, "LONGEST", 0.01)
    async with await asyncio.start_server(send_pieces, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with open_slow_proxy(1) as proxy:
            found = await exchange(proxy, port, b"hello")
        assert found == CONNECTED + b"".join(b"hello" + piece for piece in PIECES)


async def test_a_server_that_is_gone_is_told_of() -> None:
    async with open_slow_proxy(1) as proxy:
        assert await exchange(proxy, free_port(), b"") == REFUSED


def test_a_seed_draws_the_same_times_again() -> None:
    def draw(seed: int, connection: int) -> float:
        return chance_of(seed, connection).random()

    assert draw(1, 1) == draw(1, 1)
    assert len({draw(1, 1), draw(1, 2), draw(2, 1)}) == 3
