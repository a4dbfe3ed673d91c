"""How much a client has read of what was written to it."""

import asyncio
import struct
from contextlib import suppress
from socket import SO_LINGER, SOL_SOCKET
from typing import Final

from penstock.server.connections.guarded_transport import GuardedTransport, count_kept

_RESET: Final = struct.pack("ii", 1, 0)


class ClientReading:
    """The bytes that a client has received, compared from one time limit to the next."""

    __slots__ = ("_real", "_seen_bytes", "_transport")

    def __init__(self, real: asyncio.Transport, transport: GuardedTransport) -> None:
        self._real = real
        self._transport = transport
        self._seen_bytes = 0

    def go_on(self) -> bool:
        """Note what the client has received; False if it is no more than the last time."""
        before, self._seen_bytes = self._seen_bytes, self.count_received()
        return self._seen_bytes > before

    def count_received(self) -> int:
        """Return the number of bytes that the client has received of all that was written."""
        unsent = self._real.get_write_buffer_size()
        unsent += count_kept(self._real.get_extra_info("socket"))
        return self._transport.written_bytes - unsent

    def reset(self) -> None:
        """Let the system drop what the client has not read, and end the connection at once."""
        with suppress(OSError):
            self._real.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, _RESET)
        self._real.abort()
