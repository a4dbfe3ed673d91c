"""One connection to a server, over which anything can be said."""

import json
import socket
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

PATIENCE_SECONDS = 20.0


class Ended(Exception):
    """The server closed the connection before it said what was waited for."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer; its body is put together where it came in chunks."""

    status: int
    headers: dict[str, str]
    body: bytes
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Talk:
    """Sends bytes and reads answers; `open` tells whether the server still listens."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self.host = where.netloc
        self._socket = socket.create_connection(
            (where.hostname or "", where.port or 0), PATIENCE_SECONDS
        )
        self._unread = b""
        self._said = b""
        self.open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def say(self, raw: bytes) -> None:
        """Send; a server that has closed meanwhile may still have answered."""
        try:
            self._socket.sendall(raw)
        except (BrokenPipeError, ConnectionResetError):
            self.open = False

    def finish(self) -> None:
        """Say that nothing more will be sent."""
        self._socket.shutdown(socket.SHUT_WR)

    def reply(self, *, to_head: bool = False) -> Reply:
        """Read one answer to its end; Ended where none comes."""
        self._said = b""
        head = self.until(b"\r\n\r\n").decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (one.partition(":") for one in lines)
        }
        status = int(first.split()[1])
        body = b"" if to_head or status in (101, 204, 304) else self._body(headers)
        if headers.get("connection") == "close":
            self.open = False
        return Reply(status, headers, body, self._said)

    def until(self, end: bytes) -> bytes:
        """Read up to the end that is given, and with it."""
        while end not in self._unread:
            self._more()
        return self.take(self._unread.index(end) + len(end))

    def take(self, size: int) -> bytes:
        while len(self._unread) < size:
            self._more()
        found, self._unread = self._unread[:size], self._unread[size:]
        self._said += found
        return found

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
            more = self._socket.recv(2**16)
        except ConnectionResetError:
            more = b""
        if not more:
            self.open = False
            raise Ended
        self._unread += more
