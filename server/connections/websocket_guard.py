"""Stands before uvicorn's WebSocket protocol: paces and bounds what a client sends."""

import asyncio
import struct
from typing import Any, Final

import uvicorn
from starlette.types import Scope
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from penstock.server.connections.connection import STATE_KEY, GuardedConnection
from penstock.server.connections.websocket_frames import TURN_BYTES, FrameRefused, FrameWalker

STRANGER_BYTES: Final = 64 * 1024
"""The most bytes of a message before the client has proven who it is."""

FLUSH_SECONDS: Final = 10.0
"""Time for a client to read the last bytes of a closed connection."""

LINGER_SECONDS: Final = 5.0
"""Time that a refused client's bytes are discarded: a reset would destroy the close frame."""

IGNORED_SECONDS: Final = 0.01
"""Pause after each message that the server ignores because it has closed the connection."""

_SCOPE_KEY: Final = "penstock.websocket"
_CLOSE_FRAME: Final = 0x88


def guard_of(scope: Scope) -> "WebSocketGuard | None":
    """Return the guard of a WebSocket's connection; None without one, as in tests."""
    found = scope.get("state", {}).get(_SCOPE_KEY)
    return found if isinstance(found, WebSocketGuard) else None


class WebSocketGuard(asyncio.Protocol):
    """A WebSocket connection whose frames reach uvicorn's protocol a few in each turn of the loop.

    It ends a last write that takes too long; the connection ends clients that prove nothing.
    """

    def __init__(
        self, config: uvicorn.Config, server_state: ServerState, app_state: dict[str, Any]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._most_bytes = config.ws_max_size
        self._walker = FrameWalker(min(STRANGER_BYTES, self._most_bytes), self._loop.time)
        self._connection: GuardedConnection | None = app_state.get(STATE_KEY)
        state = {**app_state, _SCOPE_KEY: self}
        self._protocol = WebSocketsSansIOProtocol(config, server_state, state)
        self._unread = bytearray()
        self._turn: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._reading = True
        self._held = False
        self._has_head = False
        self._accepted = False
        self._ending = False
        self._detached = False
        self._drained = asyncio.Event()
        self._drained.set()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._protocol.connection_made(_GuardedTransport(self, transport))

    def data_received(self, data: bytes) -> None:
        """Take the head of the handshake, which comes whole and first, or bytes of frames."""
        if not self._has_head:
            self._has_head = True
            self._protocol.data_received(data)
        elif not self._ending:
            self._unread += data
            self._set_reading()
            if self._turn is None:
                self._take_turn()

    def eof_received(self) -> None:
        self._protocol.eof_received()

    def pause_writing(self) -> None:
        self._drained.clear()
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._drained.set()
        self._protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._drained.set()
        self._begin_end()
        self._detach(exc)

    async def wait_until_drained(self) -> None:
        """Wait until the client has taken nearly all that was sent, or is gone."""
        await self._drained.wait()

    def admit(self) -> None:
        """Allow messages of full size: the client has proven who it is."""
        self._walker.most_bytes = self._most_bytes
        if self._connection is not None:
            self._connection.trust()

    def note_write(self) -> None:
        """Note the first write, which answers the handshake: the frames begin."""
        if not self._accepted:
            self._accepted = True
            self._plan_turn()

    def hold(self, held: bool) -> None:
        """Hold the frames back until uvicorn has delivered the last message."""
        self._held = held
        self._set_reading()
        if not held:
            self._plan_turn()

    def is_closing(self) -> bool:
        return self._ending or self._transport.is_closing()

    def close(self) -> None:
        """Close once the client has read the last bytes, or after a while.

        It does not wait for the client's own close frame.
        """
        if not self._ending:
            self._begin_end()
            self._transport.close()
            self._timer = self._loop.call_later(FLUSH_SECONDS, self._transport.abort)

    def _plan_turn(self, seconds: float = 0) -> None:
        if self._turn is None and self._unread and not self._ending:
            later = self._loop.call_later
            soon = self._loop.call_soon
            self._turn = later(seconds, self._take_turn) if seconds else soon(self._take_turn)

    def _take_turn(self) -> None:
        """Hand on the bytes of this turn, and plan the next one."""
        self._turn = None
        if self._ending or self._held or not self._accepted:
            return
        try:
            size = self._walker.advance(self._unread)
        except FrameRefused as refused:
            self._refuse(refused)
            return
        if not size:
            return
        part = bytes(self._unread[:size])
        del self._unread[:size]
        self._protocol.data_received(part)
        is_ignored = self._walker.ended_message and not self._held
        if not self._held:
            self._plan_turn(IGNORED_SECONDS if is_ignored else 0)
        self._set_reading()

    def _set_reading(self) -> None:
        """Read from the network while the waiting bytes are few."""
        wanted = not self._held and len(self._unread) < TURN_BYTES
        if wanted is not self._reading and not self._transport.is_closing():
            self._reading = wanted
            (self._transport.resume_reading if wanted else self._transport.pause_reading)()

    def _refuse(self, refused: FrameRefused) -> None:
        """Send a close frame, and discard what the client still sends."""
        self._begin_end()
        payload = struct.pack("!H", refused.code) + refused.reason.encode()
        self._transport.write(bytes((_CLOSE_FRAME, len(payload))) + payload)
        self._held = False
        self._set_reading()
        self._timer = self._loop.call_later(LINGER_SECONDS, self._transport.abort)
        self._detach(ConnectionAbortedError(refused.reason))

    def _begin_end(self) -> None:
        self._ending = True
        self._unread.clear()
        self._cancel_timer()
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _detach(self, error: Exception | None) -> None:
        """Tell uvicorn's protocol once that the connection is gone."""
        if not self._detached:
            self._detached = True
            self._protocol.connection_lost(error)


class _GuardedTransport(asyncio.Transport):
    """The transport as uvicorn's protocol sees it."""

    def __init__(self, guard: WebSocketGuard, transport: asyncio.Transport) -> None:
        super().__init__()
        self._guard = guard
        self._transport = transport

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._transport.get_extra_info(name, default)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._transport.write(data)
        self._guard.note_write()

    def pause_reading(self) -> None:
        self._guard.hold(True)

    def resume_reading(self) -> None:
        self._guard.hold(False)

    def is_closing(self) -> bool:
        return self._guard.is_closing()

    def close(self) -> None:
        self._guard.close()
