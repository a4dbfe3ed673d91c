"""The body of a request: its end, and its bytes in the form that is handed on."""

import re
from typing import Final

from penstock.server.connections.refusals import MALFORMED, RefusedRequest

MAX_LINE: Final = 1024
"""The longest line of a chunk's size with its extensions, and the longest trailer."""

MAX_EXTRA_BYTES: Final = 16 * 1024
"""The most bytes of extensions and trailers in one body."""

FREE_CHUNKS: Final = 1_000
CHUNK_BYTES: Final = 64
"""A body may have 1,000 chunks, and one more for each 64 bytes."""

_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
_QUOTED: Final = rb'"(?:[\t !#-\[\]-~\x80-\xff]++|\\[\t -~\x80-\xff])*"'
_EXTENSION: Final = (
    rb"[\t ]*+;[\t ]*+" + _TOKEN + rb"(?:[\t ]*+=[\t ]*+(?:" + _TOKEN + rb"|" + _QUOTED + rb"))?"
)
_FIRST_LINE: Final = re.compile(rb"([0-9A-Fa-f]{1,15})((?:" + _EXTENSION + rb")+)?\r\n")
_NEXT_LINE: Final = re.compile(rb"\r\n" + _FIRST_LINE.pattern)
_TRAILER: Final = re.compile(rb"(?:" + _TOKEN + rb":[\t -~\x80-\xff]*+)?\r\n")


class SizedBody:
    """A body of as many bytes as were announced; `rest` holds the bytes behind its end.

    `part_bytes` are the bytes of content in the part that was taken last.
    """

    def __init__(self, length: int) -> None:
        self._missing = length
        self.rest = b""
        self.part_bytes = 0

    @property
    def is_complete(self) -> bool:
        return self._missing == 0

    def take(self, data: bytes) -> bytes:
        """Return the part of the data that belongs to the body."""
        part = data[: self._missing]
        self.rest = data[self._missing :]
        self.part_bytes = len(part)
        self._missing -= len(part)
        return part


class ChunkedBody:
    """A body in chunks; `rest` holds the bytes behind its end, or a line that is not yet complete.

    What is handed on has chunks of this class, without extensions and trailers, so that no other
    parser can find another end. `part_bytes` are the bytes of content that were taken last.
    """

    def __init__(self) -> None:
        self.part_bytes = 0
        self.is_complete = False
        self.rest = b""
        self._missing = 0
        self._line = _FIRST_LINE
        self._is_behind_chunks = False
        self._extra = 0
        self._chunks = 0
        self._announced = 0

    @property
    def content_bytes(self) -> int:
        """The bytes of content that its chunks have announced so far."""
        return self._announced

    def take(self, data: bytes) -> bytes:
        """Return the data's content as one chunk; raises RefusedRequest for bad chunks."""
        data = self.rest + data
        content: list[bytes] = []
        at = 0
        while at < len(data) and not self._is_behind_chunks:
            part = data[at : at + self._missing]
            if part:
                content.append(part)
                self._missing -= len(part)
                at += len(part)
            elif (end := self._read_size(data, at)) > at:
                at = end
            else:
                break
        if self._is_behind_chunks:
            at = self._skip_trailers(data, at)
        self.rest = data[at:]
        return self._write_chunk(b"".join(content))

    def _read_size(self, data: bytes, at: int) -> int:
        """Read the line with the size of the next chunk; returns its end, or `at` to wait."""
        found = self._line.match(data, at)
        if found is None:
            _check_begun_line(data[at:], is_next=self._line is _NEXT_LINE)
            return at
        self._count_extra(len(found[2] or b""))
        self._missing = int(found[1], 16)
        self._count_chunk(self._missing)
        self._is_behind_chunks = self._missing == 0
        self._line = _NEXT_LINE
        return found.end()

    def _skip_trailers(self, data: bytes, at: int) -> int:
        while not self.is_complete:
            found = _TRAILER.match(data, at)
            if found is None:
                _check_begun_line(data[at:], is_next=False)
                return at
            self._count_extra(found.end() - at)
            self.is_complete = found[0] == b"\r\n"
            at = found.end()
        return at

    def _count_chunk(self, size: int) -> None:
        """Refuse chunks that are small beyond reason: reading one takes as long as reading a KiB.

        Only bytes that have come earn further chunks, so the size of this one counts behind it.
        """
        if self._chunks > FREE_CHUNKS + self._announced // CHUNK_BYTES:
            raise RefusedRequest(MALFORMED)
        self._chunks += 1
        self._announced += size

    def _count_extra(self, size: int) -> None:
        self._extra += size
        if self._extra > MAX_EXTRA_BYTES:
            raise RefusedRequest(MALFORMED)

    def _write_chunk(self, content: bytes) -> bytes:
        self.part_bytes = len(content)
        chunk = b"%x\r\n%b\r\n" % (len(content), content) if content else b""
        return chunk + b"0\r\n\r\n" if self.is_complete else chunk


def _check_begun_line(begun: bytes, *, is_next: bool) -> None:
    """Raise RefusedRequest if the bytes cannot become a line; that of a next chunk begins one."""
    line = begun[2:] if is_next else begun
    if len(line) > MAX_LINE or b"\n" in line or (is_next and not b"\r\n".startswith(begun[:2])):
        raise RefusedRequest(MALFORMED)
