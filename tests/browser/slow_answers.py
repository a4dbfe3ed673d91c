"""Slow answers and a slow page on purpose: `pytest tests/browser --slow-answers 1`.

What works only while all is fast then fails: a test that reads a page before it has changed, and
a part of the console that an answer reaches late or before another one.
"""

import asyncio
import random
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress

from playwright.async_api import Error, Page

LONGEST = 0.4
"""The longest time in seconds for which a piece of an answer is held."""
SLOWER = 3
"""How many times slower a page computes."""
PIECE = 2**16

NO_PROOF = b"\5\0"
CONNECTED = b"\5\0\0\1\0\0\0\0\0\0"
REFUSED = b"\5\5\0\1\0\0\0\0\0\0"
KIND_IPV4 = 1


class SlowProxy:
    """A SOCKS proxy that holds what servers answer; a connection keeps the order of its pieces."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect a browser to the server that it names, until one of them leaves."""
        self._connections += 1
        chance = chance_of(self._seed, self._connections)
        with closing(writer), suppress(OSError, asyncio.IncompleteReadError):
            host, port = await _read_target(reader, writer)
            try:
                answers, requests = await asyncio.open_connection(host, port)
            except OSError:
                writer.write(REFUSED)
                return
            writer.write(CONNECTED)
            with closing(requests):
                forth = asyncio.create_task(_copy(reader, requests))
                await _copy_late(answers, writer, chance)
                forth.cancel()


def chance_of(seed: int, connection: int) -> random.Random:
    """The chance that draws the times of one connection."""
    return random.Random(f"{seed}, {connection}")


async def _read_target(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> tuple[str, int]:
    _, methods = await reader.readexactly(2)
    await reader.readexactly(methods)
    writer.write(NO_PROOF)
    *_, kind = await reader.readexactly(4)
    if kind == KIND_IPV4:
        host = socket.inet_ntoa(await reader.readexactly(4))
    else:
        host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
    return host, int.from_bytes(await reader.readexactly(2))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(PIECE):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()


async def _copy_late(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, chance: random.Random
) -> None:
    """Copy each piece after a time of its own, but never before one that came earlier."""
    loop = asyncio.get_running_loop()
    held: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def read() -> None:
        piece = b"\0"
        while piece:
            with suppress(OSError):  # which leaves an empty piece: the end
                piece = b""
                piece = await reader.read(PIECE)
            held.put_nowait((loop.time() + chance.uniform(0, LONGEST), piece))

    reading = asyncio.create_task(read())
    try:
        while True:
            due, piece = await held.get()
            await asyncio.sleep(due - loop.time())
            if not piece:
                return
            writer.write(piece)
            await writer.drain()
    finally:
        reading.cancel()


@asynccontextmanager
async def open_slow_proxy(seed: int) -> AsyncIterator[str]:
    """Serve such a proxy; returns its URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    async with await asyncio.start_server(SlowProxy(seed).serve, sock=listener) as server:
        yield f"socks5://127.0.0.1:{listener.getsockname()[1]}"
        server.close()


async def slow_down(page: Page) -> None:
    """Let a page compute slowly; one that is closed meanwhile does not matter."""
    with suppress(Error):
        session = await page.context.new_cdp_session(page)
        await session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
