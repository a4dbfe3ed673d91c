"""The reasons for which nothing is read of a connection."""

import asyncio
from enum import Enum, auto

from penstock.server.connections.gate import ConnectionGate


class PauseReason(Enum):
    """uvicorn's protocol asks for it, much is held of further requests, or a turn is over."""

    PROTOCOL = auto()
    HELD_BYTES = auto()
    TURN_OVER = auto()


class ReadingPauses:
    """Reads from a transport while there is no reason against it."""

    __slots__ = ("_gate", "_reasons", "_transport")

    def __init__(self, transport: asyncio.Transport, gate: ConnectionGate) -> None:
        self._transport = transport
        self._gate = gate
        self._reasons: set[PauseReason] = set()

    def __contains__(self, reason: PauseReason) -> bool:
        return reason in self._reasons

    def add(self, reason: PauseReason) -> None:
        """Stop reading."""
        if not self._reasons:
            self._transport.pause_reading()
        self._reasons.add(reason)

    def remove(self, reason: PauseReason) -> None:
        """Read again, unless there is another reason."""
        if reason in self._reasons:
            self._reasons.remove(reason)
            if not self._reasons:
                self._transport.resume_reading()

    def end_turn(self) -> None:
        """Read no more before the next turn of the loop, so that others have theirs before."""
        if PauseReason.TURN_OVER not in self._reasons and not self._transport.is_closing():
            self.add(PauseReason.TURN_OVER)
            self._gate.begin_later(self._begin_turn)

    def _begin_turn(self) -> None:
        if self._transport.is_closing():
            self._reasons.discard(PauseReason.TURN_OVER)
        else:
            self.remove(PauseReason.TURN_OVER)
