"""The transport that uvicorn's protocols write to: it shows a connection what they do."""

import asyncio
import sys
from collections.abc import Iterable
from socket import socket
from typing import Any, Final, Protocol

if sys.platform != "win32":
    import fcntl
    import struct
    import termios


_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
"""Written by uvicorn before an answer, to clients that wait for it."""


class TransportUser(Protocol):
    """The guard of a connection, as its transport knows it."""

    def switch_protocols(self) -> None:
        """Begin to hand on bytes as they are, once the handshake is answered."""

    def replace_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Hand on bytes to this protocol from now on."""

    def close(self) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...


class _NoUser:
    """In the place of the guard of a connection that has ended."""

    def switch_protocols(self) -> None:
        pass

    def replace_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        pass

    def close(self) -> None:
        pass

    def pause(self) -> None:
        pass

    def resume(self) -> None:
        pass


_NOBODY: Final = _NoUser()


class GuardedTransport(asyncio.Transport):
    """A transport that writes to the real one until the connection is refused or ends."""

    def __init__(self, real: asyncio.Transport, user: TransportUser) -> None:
        super().__init__()
        self._real = real
        self._write = real.write
        self._user: TransportUser = user
        self.is_cut = False
        self.has_written = False
        self.is_switching = False
        self.written_bytes = 0

    def release(self) -> None:
        """Forget the guard of a connection that has ended, which would form a circle with it."""
        self.is_cut = True
        self._user = _NOBODY

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.is_cut:
            return
        self.has_written |= data != _CONTINUE
        self.written_bytes += len(data)
        self._write(data)
        if self.is_switching:
            self.is_switching = False
            self._user.switch_protocols()

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(list_of_data))

    def close(self) -> None:
        if not self.is_cut:
            self._user.close()

    def abort(self) -> None:
        if not self.is_cut:
            self._real.abort()

    def is_closing(self) -> bool:
        return self.is_cut or self._real.is_closing()

    def pause_reading(self) -> None:
        self._user.pause()

    def resume_reading(self) -> None:
        self._user.resume()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._user.replace_protocol(protocol)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._real.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        return self._real.get_write_buffer_size()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._real.set_write_buffer_limits(high, low)


def count_kept(connected: socket | None) -> int:
    """Return the bytes that the system keeps for the other side; 0 where it does not tell."""
    if sys.platform == "win32" or connected is None:
        return 0
    try:
        found = fcntl.ioctl(connected.fileno(), termios.TIOCOUTQ, struct.pack("i", 0))
    except (OSError, ValueError):
        return 0
    return int(struct.unpack("i", found)[0])
