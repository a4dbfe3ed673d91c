"""Bytes cut into records of CSV, at the newlines that no quotes enclose.

A newline is enclosed when the number of quotes before it, from the record's beginning, is odd. As
doubled quotes leave that as it is, records can be found without reading fields, from any record's
beginning on.

A file cut where records begin, so that its parts can be worked on side by side.

Whether a newline ends a record depends on all quotes before it. So each part is surveyed for both
cases, wherever it is; put in order, the surveys tell which case holds.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

import msgspec

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


class Case(msgspec.Struct):
    """What newlines end records in one case: how many, and how far behind the first one ends."""

    ends: int = 0
    first: int | None = None


class Survey:
    """Reads the bytes of one part, in order."""

    __slots__ = ("cases", "size", "turns")

    def __init__(self) -> None:
        self.size = 0
        self.turns = 0
        """Quotes so far."""
        self.cases = (Case(), Case())
        """Of a part that begins outside of quotes, and of one that begins within."""

    def feed(self, data: bytes) -> None:
        offset = self.size
        for segment in data.split(QUOTE):
            # Here is outside of quotes where the part began outside and an even number came since.
            self._count(self.cases[self.turns & 1], segment, offset)
            offset += len(segment) + 1
            self.turns += 1
        self.turns -= 1
        self.size += len(data)

    def _count(self, case: Case, segment: bytes, offset: int) -> None:
        if case.first is None and (place := segment.find(NEWLINE)) >= 0:
            case.first = offset + place + 1
        case.ends += segment.count(NEWLINE)


class Span(msgspec.Struct, frozen=True):
    """Whole records of a file: its bytes from `start` up to, not including, `end`.

    `row` is the number of the first of them; that of the header is 0.
    """

    start: int
    end: int
    row: int


def spans(surveys: Iterable[Survey]) -> Sequence[Span]:
    """The spans of the records below the header, given surveys of the whole file in order.

    Each begins in a part of its own, the first behind the header; without records below it there
    are none.
    """
    starts: list[tuple[int, int]] = []
    offset = turns = ended = 0
    for survey in surveys:
        case = survey.cases[turns & 1]
        if case.first is not None:
            starts.append((offset + case.first, ended + 1))
        ended += case.ends
        turns += survey.turns
        offset += survey.size
    starts.append((offset, ended + 1))
    found = [Span(start, end, row) for (start, row), (end, _) in pairwise(starts)]
    return [span for span in found if span.start < span.end]
