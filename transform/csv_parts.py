"""Cuts a CSV file, as it is read, into parts of whole records for parallel work."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from penstock.transform.csv_records import MAX_RECORD, NEWLINE, QUOTE, PartSurvey
from penstock.transform.csv_transform import CsvTransform
from penstock.transform.outcome import OutputChunk


class RecordPart(NamedTuple):
    """Whole records of a file, from the byte `start` on; `row` is the number of the first one."""

    start: int
    row: int
    data: bytes

    def blocks(self, size: int) -> Iterator[bytes]:
        """Yield the bytes in blocks that end at multiples of `size` of the file."""
        first = size - self.start % size
        yield self.data[:first]
        for place in range(first, len(self.data), size):
            yield self.data[place : place + size]


class PartCutter:
    """Cuts what is below the header into parts of about `size` bytes.

    A record larger than MAX_RECORD may end a part before its own end: nothing follows it.
    """

    def __init__(self, size: int, start: int) -> None:
        self._size = size
        self._start = start
        self._row = 1
        self._rest = b""

    def feed(self, data: bytes) -> RecordPart | None:
        """Take more bytes; return a part once there are enough."""
        self._rest += data
        if len(self._rest) < self._size:
            return None
        end = last_record_end(self._rest)
        if not end and len(self._rest) > MAX_RECORD:
            end = len(self._rest)
        return self._cut(end) if end else None

    def finish(self) -> RecordPart | None:
        """Take the end of the file; return what is left of it."""
        return self._cut(len(self._rest)) if self._rest else None

    def _cut(self, end: int) -> RecordPart:
        part = RecordPart(self._start, self._row, self._rest[:end])
        self._rest = self._rest[end:]
        self._start += end
        self._row += count_record_ends(part.data)
        return part


def first_record_end(data: bytes) -> int:
    """Return the place behind the first record of a file; 0 if the record goes on."""
    survey = PartSurvey()
    survey.feed(data)
    return survey.cases[0].first or 0


def last_record_end(data: bytes) -> int:
    """Return the place behind the last whole record of bytes that begin with one, or 0."""
    turns = data.count(QUOTE)
    end = len(data)
    while (place := data.rfind(NEWLINE, 0, end)) >= 0:
        turns -= data.count(QUOTE, place, end)
        if turns % 2 == 0:
            return place + 1
        end = place
    return 0


def count_record_ends(data: bytes) -> int:
    """Count the records that end in bytes that begin with one."""
    survey = PartSurvey()
    survey.feed(data)
    return survey.cases[0].ends


def transform_blocks(transform: CsvTransform, blocks: Iterable[bytes]) -> Iterator[OutputChunk]:
    """Yield the results of a whole input, or of a part, until it ends or is refused."""
    for block in blocks:
        yield transform.feed(block)
        while transform.has_more:
            yield transform.take_more()
        if transform.ending.refusal is not None:
            return
    yield transform.finish()
    while transform.has_more:
        yield transform.take_more()
