"""Stands before uvicorn's WebSocket protocol: paces and bounds what a client sends."""

import asyncio
import logging
import struct
from collections.abc import Callable
from typing import Any, Final

import uvicorn
from starlette.types import Scope
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from penstock.server.connections.connection import STATE_KEY, GuardedConnection
from penstock.server.connections.guarded_transport import GuardedTransport
from penstock.server.connections.refusals import RefusedRequest
from penstock.server.connections.websocket_frames import TURN_BYTES, FrameRefused, FrameWalker

PAYMENT_SECONDS: Final = 0.25
"""Pause before a caller who could not pay for a message is asked again."""

DEBT_SECONDS: Final = 5.0
"""The longest wait for a payment; then the message is read, and refused as RATE_LIMITED.

It is far shorter than the time in which a client has to answer a ping, which comes behind.
"""

IGNORED_SECONDS: Final = 0.01
"""Pause after each message that the server ignores because it has closed the connection."""

_SCOPE_KEY: Final = "penstock.websocket"
_CLOSE_FRAME: Final = 0x88
_TRY_AGAIN_LATER: Final = 1013
_TOO_MUCH: Final = "Requests and messages of too many bytes are under way"

logger = logging.getLogger("penstock.connections")


def guard_of(scope: Scope) -> "WebSocketGuard | None":
    """Return the guard of a WebSocket's connection; None without one, as in tests."""
    found = scope.get("state", {}).get(_SCOPE_KEY)
    return found if isinstance(found, WebSocketGuard) else None


class _UvicornProtocol(WebSocketsSansIOProtocol):
    """uvicorn's protocol, whose failure to say goodbye keeps nothing else from ending well."""

    def connection_lost(self, exc: Exception | None) -> None:
        """End the session, and let go of what holds the protocol itself."""
        super().connection_lost(exc)
        self.conn.parser.close()

    def shutdown(self) -> None:
        """End the connection, at once where the protocol is in no state to write.

        uvicorn ends its connections one after another, and only then waits for requests.
        """
        try:
            super().shutdown()
        except Exception:
            logger.exception("a WebSocket could not be closed as it should")
            self.transport.abort()


class _EndedProtocol(asyncio.Protocol):
    """In the place of uvicorn's protocol once its connection has ended."""

    handshake_initiated = True


_ENDED: Final = _EndedProtocol()


class WebSocketGuard(asyncio.Protocol):
    """A WebSocket connection whose frames reach uvicorn's protocol a few in each turn of the loop.

    The connection below ends clients that prove nothing, do not read, or do not leave.
    """

    def __init__(
        self, config: uvicorn.Config, server_state: ServerState, app_state: dict[str, Any]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._walker = FrameWalker(config.ws_max_size, self._loop.time)
        self._connection: GuardedConnection = app_state[STATE_KEY]
        self._state = {**app_state, _SCOPE_KEY: self}
        self._protocol: _UvicornProtocol | _EndedProtocol = _UvicornProtocol(
            config, server_state, self._state
        )
        self._unread = bytearray()
        self._turn: asyncio.Handle | None = None
        self._limited_at: float | None = None
        self._reading = True
        self._held = self._counts = False
        self._has_head = False
        self._accepted = False
        self._detached = False
        self._drained = asyncio.Event()
        self._drained.set()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport
        self._shown = GuardedTransport(transport, self)
        # The first write answers the handshake.
        self._shown.is_switching = True
        self._protocol.connection_made(self._shown)

    def data_received(self, data: bytes) -> None:
        """Take the head of the handshake, which comes whole and first, or bytes of frames."""
        if not self._has_head:
            self._has_head = True
            self._protocol.data_received(data)
            if not self._protocol.handshake_initiated:
                # Once uvicorn has handed the connection over.
                self._loop.call_soon(self._connection.refuse_handshake)
        elif not self._shown.is_cut:
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
        # What forms a circle is not freed before a collection of garbage, of which there are few.
        self._protocol = _ENDED
        self._shown.release()
        self._state.clear()

    async def wait_until_drained(self) -> None:
        """Wait until the client has taken nearly all that was sent, or is gone."""
        await self._drained.wait()

    def admit(self, pay: Callable[[int], None]) -> None:
        """Allow messages of full size: the client has proven who it is.

        `pay` takes the units of a message before it is read. While it raises RateLimited the
        message waits, and the bytes behind it wait in the network.
        """
        self._walker.admit(pay)
        self._connection.trust()

    def distrust(self) -> None:
        """Count the client as a stranger: its handshake has no token that is valid."""
        self._connection.distrust()

    @property
    def has_paid(self) -> bool:
        """Tell whether the message that the application has just received is paid."""
        return self._walker.is_paid

    def switch_protocols(self) -> None:
        """Begin to hand on frames."""
        self._accepted = True
        self._connection.refuse_message = self._refuse_message
        self._plan_turn()

    def replace_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Do nothing: a WebSocket stays one to its end."""

    def pause(self) -> None:
        """Hold the frames back until uvicorn has delivered the last message."""
        self._held = True
        self._set_reading()

    def resume(self) -> None:
        """Hand on frames again."""
        self._held = False
        self._forget_message()
        self._set_reading()
        self._plan_turn()

    def close(self) -> None:
        """Close once the client has read the last bytes, without a close frame of its own."""
        if not self._shown.is_cut:
            self._begin_end()
            self._transport.close()

    def _plan_turn(self, seconds: float = 0) -> None:
        if self._turn is None and self._unread and not self._shown.is_cut:
            later = self._loop.call_later
            soon = self._loop.call_soon
            self._turn = later(seconds, self._take_turn) if seconds else soon(self._take_turn)

    def _take_turn(self) -> None:
        """Hand on the bytes of this turn, and plan the next one."""
        self._turn = None
        if self._shown.is_cut or self._held or not self._accepted:
            return
        try:
            size = self._walker.advance(self._unread)
            self._count_message()
        except FrameRefused as refused:
            self._refuse(refused)
            return
        except RefusedRequest as refusal:
            self._connection.refuse_content(refusal.answer)
            return
        self._await_payment()
        if not size:
            return
        part = bytes(self._unread[:size])
        del self._unread[:size]
        self._protocol.data_received(part)
        if not self._held:
            self._plan_turn(IGNORED_SECONDS if self._walker.ended_message else 0)
            self._forget_message()
        self._set_reading()

    def _count_message(self) -> None:
        """Count what has come of a message that takes several turns; raises RefusedRequest."""
        arrived = self._walker.arrived_bytes
        self._counts |= arrived > 0 and not self._walker.ended_message
        if self._counts:
            self._connection.count_message(arrived)

    def _forget_message(self) -> None:
        """Count a message no longer that uvicorn has delivered."""
        if self._counts and self._walker.ended_message:
            self._counts = False
            self._connection.count_message(0)

    def _refuse_message(self) -> None:
        """Close because too much is under way, of the client or of all."""
        self._refuse(FrameRefused(_TRY_AGAIN_LATER, _TOO_MUCH))

    def _await_payment(self) -> None:
        """Plan to go on with a message that the caller cannot pay for now."""
        if not self._walker.is_limited:
            self._limited_at = None
            return
        now = self._loop.time()
        if self._limited_at is None:
            self._limited_at = now
        if now - self._limited_at >= DEBT_SECONDS:
            self._walker.excuse()
        self._plan_turn(PAYMENT_SECONDS)

    def _set_reading(self) -> None:
        """Read from the network while the waiting bytes are few."""
        wanted = not self._held and len(self._unread) < TURN_BYTES
        if wanted is not self._reading and not self._transport.is_closing():
            self._reading = wanted
            (self._transport.resume_reading if wanted else self._transport.pause_reading)()

    def _refuse(self, refused: FrameRefused) -> None:
        """Send a close frame, which a reset would destroy, so the connection ends later."""
        self._begin_end()
        payload = struct.pack("!H", refused.code) + refused.reason.encode()
        self._transport.write(bytes((_CLOSE_FRAME, len(payload))) + payload)
        self._connection.leave()
        self._detach(ConnectionAbortedError(refused.reason))

    def _begin_end(self) -> None:
        self._shown.is_cut = True
        self._unread.clear()
        if self._counts:
            self._counts = False
            self._connection.count_message(0)
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None

    def _detach(self, error: Exception | None) -> None:
        """Tell uvicorn's protocol once that the connection is gone."""
        if not self._detached:
            self._detached = True
            self._protocol.connection_lost(error)
