"""Bytes cut into records of CSV, at the newlines that no quotes enclose.

A newline is enclosed when the number of quotes before it, from the record's beginning, is odd. As
doubled quotes leave that as it is, records can be found without reading fields, from any record's
beginning on.
"""

from collections.abc import Iterable, Sequence
from typing import Final

MAX_RECORD: Final = 1024 * 1024
"""Bytes of a record. What is larger is taken for a quote that nobody closed."""

QUOTE: Final = b'"'
NEWLINE: Final = b"\n"


class Records:
    """The records of a stream; what is not ended yet waits for more bytes.

    Once a record is larger than `limit`, `overlong` says so and no further records are given.
    """

    __slots__ = ("_limit", "_rest", "overlong")

    def __init__(self, limit: int = MAX_RECORD) -> None:
        self._limit = limit
        self._rest = b""
        self.overlong = False

    def feed(self, data: bytes) -> Sequence[bytes]:
        """Take more bytes; the records that they end, without their newlines."""
        if self.overlong:
            return ()
        *lines, tail = (self._rest + data).split(NEWLINE)
        if QUOTE in data or QUOTE in self._rest:
            lines, opened = _joined(lines)
            tail = NEWLINE.join((*opened, tail))
        self._rest = tail
        return self._measured(lines, tail)

    def finish(self) -> Sequence[bytes]:
        """End the stream; the last record, where no newline ended it."""
        last, self._rest = self._rest, b""
        return (last,) if last and not self.overlong else ()

    def _measured(self, lines: Sequence[bytes], tail: bytes) -> Sequence[bytes]:
        """The lines up to one that is too large; the tail is looked at where there is none."""
        for number, line in enumerate(lines):
            if len(line) > self._limit:
                self.overlong = True
                return lines[:number]
        self.overlong = len(tail) > self._limit
        return lines


def _joined(lines: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """The records that lines make up, and the lines of a last one that quotes hold open."""
    records: list[bytes] = []
    opened: list[bytes] = []
    for line in lines:
        turns = line.count(QUOTE) & 1
        if opened:
            opened.append(line)
            if turns:
                records.append(NEWLINE.join(opened))
                opened = []
        elif turns:
            opened.append(line)
        else:
            records.append(line)
    return records, opened
