"""Splits CSV bytes into records, and a file into spans of records for parallel work.

A newline ends a record unless quotes enclose it: then the number of quotes since the record's
beginning is odd. Doubled quotes do not change that, so records are found without parsing fields. To
split a file, each part is surveyed for both cases, quotes open or closed at its beginning; the
surveys in order tell which case holds.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from penstock.transform.encodings import LETTER_BYTES, encoding_of, first_letter

MAX_RECORD: Final = 1024 * 1024
"""Bytes of a record. A larger one is taken for a quote that is not closed."""

QUOTE: Final = b'"'
NEWLINE: Final = b"\n"


class RecordSplitter:
    """The records of a stream; the last, incomplete record waits for more bytes.

    After a record larger than `limit`, `overlong` is true and no further records are returned.
    """

    __slots__ = ("_limit", "_rest", "overlong")

    def __init__(self, limit: int = MAX_RECORD) -> None:
        self._limit = limit
        self._rest = b""
        self.overlong = False

    def feed(self, data: bytes) -> Sequence[bytes]:
        """Take more bytes; return the records that they complete, without newlines."""
        if self.overlong:
            return ()
        *lines, tail = (self._rest + data).split(NEWLINE)
        if QUOTE in data or QUOTE in self._rest:
            lines, opened = _join_quoted(lines)
            tail = NEWLINE.join((*opened, tail))
        self._rest = tail
        return self._check_sizes(lines, tail)

    def finish(self) -> Sequence[bytes]:
        """End the stream; return the last record if no newline ended it."""
        last, self._rest = self._rest, b""
        return (last,) if last and not self.overlong else ()

    def _check_sizes(self, lines: Sequence[bytes], tail: bytes) -> Sequence[bytes]:
        """Return the lines up to the first that is too large; if there is none, check the tail."""
        for number, line in enumerate(lines):
            if len(line) > self._limit:
                self.overlong = True
                return lines[:number]
        self.overlong = len(tail) > self._limit
        return lines


def _join_quoted(lines: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return the records that lines form, and the lines of a last one whose quotes are open."""
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


class QuoteCase(msgspec.Struct):
    """The newlines that end records in one case: their count, and the offset after the first."""

    ends: int = 0
    first: int | None = None


class PartSurvey:
    """Counts quotes and record ends in one part of a file, fed in order."""

    __slots__ = ("cases", "head", "letter", "size", "turns")

    def __init__(self) -> None:
        self.size = 0
        self.head = b""
        """The first bytes of the part, which may end a letter of the part before."""
        self.letter = b""
        """The first letter beyond ASCII, which the end of the part may cut."""
        self.turns = 0
        """Quotes so far."""
        self.cases = (QuoteCase(), QuoteCase())
        """The case of a part that begins outside quotes, and the case of one that begins inside."""

    def feed(self, data: bytes) -> None:
        if len(self.head) < LETTER_BYTES:
            self.head = (self.head + data)[:LETTER_BYTES]
        if len(self.letter) < LETTER_BYTES:
            rest = data[:LETTER_BYTES] if self.letter else first_letter(data)
            self.letter = (self.letter + rest)[:LETTER_BYTES]
        offset = self.size
        for segment in data.split(QUOTE):
            # After an even number of quotes, the segment is in the same case as the part's start.
            self._count(self.cases[self.turns & 1], segment, offset)
            offset += len(segment) + 1
            self.turns += 1
        self.turns -= 1
        self.size += len(data)

    def _count(self, case: QuoteCase, segment: bytes, offset: int) -> None:
        if case.first is None and (place := segment.find(NEWLINE)) >= 0:
            case.first = offset + place + 1
        case.ends += segment.count(NEWLINE)


def surveyed_encoding(surveys: Sequence[PartSurvey]) -> str:
    """Return the encoding of a file from surveys of the whole of it, in order; empty for ASCII."""
    for n, survey in enumerate(surveys):
        if survey.letter:
            after = b"".join(one.head for one in surveys[n + 1 : n + LETTER_BYTES])
            return encoding_of((survey.letter + after)[:LETTER_BYTES])
    return ""


class RecordSpan(msgspec.Struct, frozen=True):
    """Whole records of a file: its bytes from `start` up to, but not including, `end`.

    `row` is the number of the first record; the header has number 0.
    """

    start: int
    end: int
    row: int


def record_spans(surveys: Iterable[PartSurvey]) -> Sequence[RecordSpan]:
    """Return the spans of the records below the header, from surveys of the whole file in order.

    Each span begins in a part of its own, the first one after the header. A file without records
    below the header has no spans.
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
    found = [RecordSpan(start, end, row) for (start, row), (end, _) in pairwise(starts)]
    return [span for span in found if span.start < span.end]
