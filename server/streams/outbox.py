"""What waits to be sent to one client, and the one task that sends it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import NoReturn

from penstock.server.streams.lifetime import Ending, Lifetime
from penstock.server.streams.limits import StreamLimits


class Outbox:
    """A queue of `limits.queue` messages: when it is full, whoever has more to say waits.

    `idle` is sent when there was nothing else to send for `limits.keep_alive_seconds`.
    """

    def __init__(
        self,
        write: Callable[[bytes], Awaitable[None]],
        lifetime: Lifetime,
        limits: StreamLimits,
        idle: bytes | None = None,
    ) -> None:
        self._write = write
        self._lifetime = lifetime
        self._stall_seconds = limits.stall_seconds
        self._idle_seconds = limits.keep_alive_seconds if idle is not None else None
        self._idle = idle or b""
        self._queue: asyncio.Queue[bytes] = asyncio.Queue(limits.queue)
        self._given_up = False

    async def put(self, message: bytes) -> None:
        await self._queue.put(message)

    async def flushed(self) -> None:
        """Wait until everything was sent, or given up."""
        await self._queue.join()

    async def run(self) -> NoReturn:
        """Send what comes; a client that does not take it loses its stream and the rest of it."""
        while True:
            try:
                async with asyncio.timeout(self._idle_seconds):
                    message = await self._queue.get()
            except TimeoutError:
                await self._send(self._idle)
                continue
            await self._send(message)
            self._queue.task_done()

    async def _send(self, message: bytes) -> None:
        if self._given_up:
            return
        try:
            async with asyncio.timeout(self._stall_seconds):
                await self._write(message)
        # Among them TimeoutError, and whatever servers raise when the client is about to leave.
        except (OSError, RuntimeError):
            self._given_up = True
            self._lifetime.end(Ending.STALLED)
