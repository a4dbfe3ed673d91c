"""A file cut where records begin, so that its parts can be worked on side by side.

Whether a newline ends a record depends on all quotes before it. So each part is surveyed for both
cases, wherever it is; put in order, the surveys tell which case holds.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from penstock.kernel.records import NEWLINE, QUOTE


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
