"""What one stream may take up, and how long it is waited for.

How fast messages are taken from a connection.

What waits to be sent to one client, and the one task that sends it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NoReturn

from penstock.server.streams.registry import Ending, Lifetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLimits:
    """Each limit stands by itself; times are in seconds.

    A client that takes none of what is sent for `stall_seconds` is given up. An event stream that
    has nothing to say gets a comment every `keep_alive_seconds`.
    """

    operations: int = 50
    messages_per_second: int = 50
    queue: int = 16
    init_seconds: float = 10.0
    stall_seconds: float = 30.0
    keep_alive_seconds: float = 15.0


class Pace:
    """Lets a number of messages through a second; after a pause, a second's worth at once."""

    def __init__(self, per_second: int) -> None:
        self._step = 1 / per_second
        self._reached = 0.0

    async def wait(self) -> None:
        """Wait until the next message may be taken."""
        now = asyncio.get_running_loop().time()
        self._reached = max(self._reached, now - 1) + self._step
        if self._reached > now:
            await asyncio.sleep(self._reached - now)


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
