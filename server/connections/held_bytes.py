"""The bytes of requests that are not begun yet."""

from typing import Final

from penstock.server.connections.gate import ConnectionGate
from penstock.server.connections.refusals import MALFORMED, RefusedRequest
from penstock.server.connections.request_head import END, check_begun_head, check_head_size

MAX_EMPTY_LINES: Final = 4
"""The most empty lines before a request, which some clients send behind a body."""


class HeldBytes:
    """Bytes of one connection that are not handed on; `count` tells the gate how many they are."""

    __slots__ = ("_counted", "_empty_lines", "_gate", "_lines", "_searched", "content")

    def __init__(self, gate: ConnectionGate) -> None:
        self.content = bytearray()
        self._gate = gate
        self._searched = self._lines = self._empty_lines = self._counted = 0

    def count(self) -> None:
        """Have the gate count what is held now."""
        more, self._counted = len(self.content) - self._counted, len(self.content)
        if more:
            self._gate.hold(more)

    def release(self) -> None:
        """Hold nothing any more."""
        self.content.clear()
        self.count()

    def take(self, size: int) -> bytes:
        """Take at most so many bytes."""
        taken = bytes(self.content[:size])
        del self.content[:size]
        return taken

    def take_all(self) -> bytes:
        """Take everything."""
        taken = bytes(self.content)
        self.release()
        return taken

    def find_head_end(self) -> int | None:
        """Drop empty lines, and return the size of the head; None if it is not whole.

        Raises RefusedRequest behind MAX_EMPTY_LINES.
        """
        held = self.content
        while held.startswith(b"\r\n"):
            del held[:2]
            self._empty_lines += 1
        if self._empty_lines > MAX_EMPTY_LINES:
            raise RefusedRequest(MALFORMED)
        end = held.find(END, max(0, self._searched - len(END) + 1))
        return None if end < 0 else end + len(END)

    def check_begun_head(self) -> None:
        """Raise RefusedRequest if the part of a head that has come is too large, or begins none."""
        lines = self.content.count(b"\n", self._searched)
        self._lines += lines
        check_head_size(len(self.content), self._lines)
        check_begun_head(self.content, lines, self._searched)
        self._searched = len(self.content)

    def take_head(self, size: int) -> bytes:
        """Take the head; what follows is searched anew."""
        self._searched = self._lines = self._empty_lines = 0
        return self.take(size)
