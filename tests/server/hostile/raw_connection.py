"""One connection to a server that can send any bytes."""

import json
import socket
import struct
from dataclasses import dataclass
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from tests.server.hostile.stream_messages import frame
from tests.support.patience import HUNG_SECONDS


class ConnectionEnded(Exception):
    """The server closed the connection before the expected bytes came."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: its body with chunks joined, and all its raw bytes."""

    status: int
    headers: dict[str, str]
    body: bytes
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def address_of(url: str) -> tuple[str, int]:
    where = urlsplit(url)
    return where.hostname or "", where.port or 0


class Talk:
    """Sends bytes and reads answers; `open` tells whether the server keeps the connection."""

    def __init__(self, url: str, source: str = "127.0.0.1") -> None:
        where = urlsplit(url)
        self.host = where.netloc
        self._socket = socket.create_connection(address_of(url), HUNG_SECONDS, (source, 0))
        self._unread = b""
        self.heard = b""
        self.open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def say(self, raw: bytes) -> None:
        """Send bytes; the server may already have answered and closed."""
        try:
            self._socket.sendall(raw)
        except (BrokenPipeError, ConnectionResetError):
            self.open = False

    def end(self) -> None:
        """Send no more, but still read."""
        self._socket.shutdown(socket.SHUT_WR)

    def reply(self, *, to_head: bool = False) -> Reply:
        """Read one answer to its end; raises ConnectionEnded if none comes."""
        before = len(self.heard)
        head = self.until(b"\r\n\r\n").decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        named = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in named}
        status = int(first.split()[1])
        if status == 100:
            return self.reply(to_head=to_head)
        body = b"" if to_head or status in (101, 204, 304) else self._body(headers)
        if headers.get("connection") == "close":
            self.open = False
        return Reply(status, headers, body, self.heard[before:])

    def until(self, end: bytes) -> bytes:
        """Read up to and with these bytes."""
        while end not in self._unread:
            self._more()
        return self.take(self._unread.index(end) + len(end))

    def take(self, size: int) -> bytes:
        while len(self._unread) < size:
            self._more()
        found, self._unread = self._unread[:size], self._unread[size:]
        self.heard += found
        return found

    def rest(self) -> bytes:
        """Read until the server closes."""
        while self.open:
            try:
                self._more()
            except ConnectionEnded:
                break
        return self.take(len(self._unread))

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return self.take(int(headers.get("content-length", "0")))
        body = b""
        while size := int(self.until(b"\r\n"), 16):
            body += self.take(size)
            self.until(b"\r\n")
        self.until(b"\r\n")
        return body

    def _more(self) -> None:
        try:
            more = self._socket.recv(2**20)
        except ConnectionResetError:
            more = b""
        if not more:
            self.open = False
            raise ConnectionEnded
        self._unread += more


class CloseFrame(NamedTuple):
    """The close code and reason of a WebSocket."""

    code: int
    reason: str


class Conversation:
    """A WebSocket over a connection after the handshake."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk

    def say(self, message: str | bytes) -> None:
        """Send a text, or bytes that are already frames."""
        self._talk.say(message if isinstance(message, bytes) else frame(message.encode()))

    def hear(self) -> str | CloseFrame:
        """Wait for the next text, or for the end."""
        while True:
            first, size = self._talk.take(2)
            if size == 126:
                (size,) = struct.unpack("!H", self._talk.take(2))
            elif size == 127:
                (size,) = struct.unpack("!Q", self._talk.take(8))
            payload = self._talk.take(size)
            match first & 0x0F:
                case 1:
                    return payload.decode()
                case 8:
                    code = struct.unpack("!H", payload[:2])[0] if payload else 1005
                    return CloseFrame(code, payload[2:].decode())
