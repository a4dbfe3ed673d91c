"""Pieces of an output file, cut where lines end, each with the number of rows above it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

CUT_BYTES: Final = 1024 * 1024
"""The least bytes from one cut to the next."""

MOST_PIECES: Final = 32
"""Each piece is a commit, and all commits of an execution are one transaction."""


class OutputCut(NamedTuple):
    """An end of a line: so many bytes and rows of the output are above it."""

    bytes: int
    rows: int


class OutputPiece(NamedTuple):
    """Whole lines of an output, from a byte to another, with so many rows `above` and in it."""

    start: int
    end: int
    above: int
    rows: int


class OutputCuts:
    """The places at which an output can be cut, noted while it is written."""

    def __init__(self, header: int, least: int = CUT_BYTES) -> None:
        self._cuts = [OutputCut(header, 0)]
        self._least = least
        self._end = OutputCut(header, 0)

    def note(self, size: int, rows: int) -> None:
        """Note that so many bytes have been written, which are so many whole rows."""
        self._end = OutputCut(size, rows)
        if size - self._cuts[-1].bytes >= self._least:
            self._cuts.append(self._end)

    def pieces(self, least: int, most: int = MOST_PIECES) -> Sequence[OutputPiece]:
        """Cut the output into at most so many pieces, of so many bytes or more but for the last."""
        size = max(least, -(-(self._end.bytes - self._cuts[0].bytes) // most))
        found: list[OutputPiece] = []
        start = self._cuts[0]
        for cut in (*self._cuts[1:], self._end):
            length = cut.bytes - start.bytes
            if length and (length >= size or cut is self._end):
                rows = cut.rows - start.rows
                found.append(OutputPiece(start.bytes, cut.bytes, start.rows, rows))
                start = cut
        return found
