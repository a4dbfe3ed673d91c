"""A file of which only some blocks are in memory, for parsers that expect a whole file."""

from os import SEEK_CUR, SEEK_END, SEEK_SET
from typing import Final

BLOCK: Final = 64 * 1024
MAX_CALLS: Final = 10_000


class MissingBlocks(Exception):
    """The parser needs blocks that are not in memory."""

    def __init__(self, blocks: list[int]) -> None:
        super().__init__(blocks)
        self.blocks = blocks


class BlockLimitExceeded(Exception):
    """The parser needs more blocks or calls than the limit allows."""


class PartialFile:
    """A binary file of `size` bytes to read and seek in; `blocks` are in memory, by number.

    Raises MissingBlocks if the parser needs others. Raises BlockLimitExceeded if these would be
    more than `most`, or after so many calls that the parser must be in a loop. A parser may hide
    the error, so `missing` and `is_exhausted` tell what it was. The error itself is not kept: it
    would hold the parser, which holds this file, until the collector comes.
    """

    def __init__(self, size: int, blocks: dict[int, bytes], most: int) -> None:
        self.missing: list[int] = []
        self.is_exhausted = False
        self._size = size
        self._blocks = blocks
        self._most = most
        self._at = 0
        self._calls = 0

    def read(self, size: int) -> bytes:
        self._count_call()
        start, end = self._at, min(self._at + max(size, 0), self._size)
        if start >= end:
            return b""
        numbers = range(start // BLOCK, (end - 1) // BLOCK + 1)
        if len(numbers) > self._most:
            raise self._exhausted_error()
        missing = [number for number in numbers if number not in self._blocks]
        if len(self._blocks) + len(missing) > self._most:
            raise self._exhausted_error()
        if missing:
            self.missing = missing
            raise MissingBlocks(missing)
        self._at = end
        first = numbers[0] * BLOCK
        return b"".join(self._blocks[number] for number in numbers)[start - first : end - first]

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        self._count_call()
        base = {SEEK_SET: 0, SEEK_CUR: self._at, SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise OSError("before the beginning")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def _count_call(self) -> None:
        self._calls += 1
        if self._calls > MAX_CALLS:
            raise self._exhausted_error()

    def _exhausted_error(self) -> BlockLimitExceeded:
        self.is_exhausted = True
        return BlockLimitExceeded()
