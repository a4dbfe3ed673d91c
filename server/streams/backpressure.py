"""The limits of a stream, the pace of its incoming messages, and the queue of outgoing ones."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, NoReturn

from penstock.server.edge.response import LARGE_BYTES
from penstock.server.streams.registry import EndReason, StreamLifetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLimits:
    """The limits of a stream, independent of each other; times are in seconds.

    After `stall_seconds` without any progress the server gives up a client. An idle event stream
    gets a comment every `keep_alive_seconds`.
    """

    operations: int = 50
    messages_per_second: int = 50
    queue: int = 16
    init_seconds: float = 10.0
    stall_seconds: float = 30.0
    keep_alive_seconds: float = 15.0


class MessagePacer:
    """Lets a number of messages through each second; after a pause, as many at once."""

    def __init__(self, per_second: int) -> None:
        self._step = 1 / per_second
        self._reached = 0.0

    async def wait(self) -> None:
        """Wait until the next message may be read."""
        now = asyncio.get_running_loop().time()
        self._reached = max(self._reached, now - 1) + self._step
        if self._reached > now:
            await asyncio.sleep(self._reached - now)


_STALL_BYTES: Final = 2**20
"""Bytes of a message for which a client has `stall_seconds`, and again for as many more."""


class _Outgoing(NamedTuple):
    """A message in a queue, and the event of its having been sent if somebody waits for that."""

    message: bytes
    sent: asyncio.Event | None = None


def _note_nothing() -> None:
    """Note nothing of an outbox that grows."""


class Outbox:
    """A queue of `limits.queue` outgoing messages; senders wait while it is full.

    After `limits.keep_alive_seconds` without a message it sends `idle`. `unread_bytes` are those of
    the messages that wait in it or for it, but for large ones; `note_growth` is called when they
    grow.
    """

    def __init__(
        self,
        write: Callable[[bytes], Awaitable[None]],
        lifetime: StreamLifetime,
        limits: StreamLimits,
        idle: bytes | None = None,
    ) -> None:
        self._write = write
        self._lifetime = lifetime
        self._stall_seconds = limits.stall_seconds
        self._idle_seconds = limits.keep_alive_seconds if idle is not None else None
        self._idle = idle or b""
        self._queue: asyncio.Queue[_Outgoing] = asyncio.Queue(limits.queue)
        self._given_up = False
        self.unread_bytes = 0
        self.note_growth: Callable[[], None] = _note_nothing

    async def put(self, message: bytes) -> None:
        """Put a message into the queue; a large one is waited for until it is sent."""
        if len(message) <= LARGE_BYTES:
            await self._put_small(message)
            return
        sent = asyncio.Event()
        await self._queue.put(_Outgoing(message, sent))
        await sent.wait()

    async def _put_small(self, message: bytes) -> None:
        self.unread_bytes += len(message)
        self.note_growth()
        try:
            await self._queue.put(_Outgoing(message))
        except asyncio.CancelledError:
            self.unread_bytes -= len(message)
            raise

    def give_up(self) -> None:
        """Drop all messages that were not sent, and all that come."""
        self._given_up = True
        while not self._queue.empty():
            self._end_message(self._queue.get_nowait())

    def give_up_unread(self) -> None:
        """End the stream, whose client leaves too much unread."""
        self._lifetime.end(EndReason.UNREAD)
        self.give_up()

    async def wait_until_sent(self) -> None:
        """Wait until every message was sent or given up."""
        await self._queue.join()

    async def run(self) -> NoReturn:
        """Send the messages; a client that does not read them loses its stream and the rest."""
        while True:
            try:
                async with asyncio.timeout(self._idle_seconds):
                    outgoing = await self._queue.get()
            except TimeoutError:
                await self._send(self._idle)
                continue
            await self._send(outgoing.message)
            self._end_message(outgoing)

    def _end_message(self, outgoing: _Outgoing) -> None:
        self._queue.task_done()
        if outgoing.sent is None:
            self.unread_bytes -= len(outgoing.message)
        else:
            outgoing.sent.set()

    async def _send(self, message: bytes) -> None:
        if self._given_up:
            return
        try:
            async with asyncio.timeout(self._stall_seconds * (1 + len(message) // _STALL_BYTES)):
                await self._write(message)
        # TimeoutError is an OSError. Servers raise either while a client disconnects.
        except (OSError, RuntimeError):
            self._given_up = True
            self._lifetime.end(EndReason.STALLED)
