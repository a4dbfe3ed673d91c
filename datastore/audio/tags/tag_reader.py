"""A reader of tags that detects the type of an object and reads only a few of its blocks."""

from asyncio import gather
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Final, NamedTuple

from penstock.datastore.access.work import FREE_WORK, WorkAccount, cpu_units
from penstock.datastore.audio.buckets import AudioSource
from penstock.datastore.audio.records import AudioFormat
from penstock.datastore.audio.tags import tag_parser
from penstock.datastore.audio.tags.file_type import HEAD_BYTES, audio_format
from penstock.datastore.audio.tags.partial_file import BLOCK, BlockLimitExceeded, PartialFile
from penstock.datastore.audio.tags.tag_parser import (
    MAX_PICTURE,
    TOO_LONG,
    Attempt,
    ParsedTags,
    try_parse,
)
from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.objects.chunks import read_bounded
from penstock.datastore.turn_threads import TurnThreads

_THREADS: Final = TurnThreads("audio", 2)

MAX_BLOCKS: Final = 32
MAX_BLOCKS_WITH_PICTURE: Final = MAX_BLOCKS + MAX_PICTURE // BLOCK


class ScanResult(NamedTuple):
    """The format of a file, and its tags."""

    format: AudioFormat
    parsed: ParsedTags


@dataclass(slots=True)
class ScanBudget:
    """The CPU time that is left for one object, and the user who has it read and pays."""

    user: str = ""
    work: WorkAccount = FREE_WORK
    seconds: float = field(default_factory=lambda: tag_parser.CPU_SECONDS)

    def begin(self) -> None:
        """Take a unit for an attempt that is to begin; raises RateLimited."""
        self.work.spend_more(1)

    def end(self, seconds: float) -> None:
        """Take the CPU time of an attempt."""
        self.seconds -= seconds
        self.work.owe(cpu_units(seconds))


@dataclass(frozen=True, slots=True)
class TagScan:
    """The scan of one object of `size` bytes; `blocks` are the ones read so far."""

    source: AudioSource
    key: str
    size: int
    blocks: dict[int, bytes]
    budget: ScanBudget = field(default_factory=ScanBudget)

    async def run(self, title: str) -> ScanResult:
        """Detect the type and read the tags; raises Invalid if the object is no audio file.

        A cover that is larger than the limit is skipped. Raises NotFound if the object is
        gone.
        """
        await self._fetch_blocks([0] if self.size else [])
        format = _detect_format(self.blocks.get(0, b""))
        try:
            parsed = await self._parse_blocks(format, title, picture=True)
        except BlockLimitExceeded:
            try:
                parsed = await self._parse_blocks(format, title, picture=False)
            except BlockLimitExceeded:
                words = f"has tags spread over more than {MAX_BLOCKS * BLOCK} bytes"
                raise invalid_object("UNREADABLE", words) from None
        if parsed.duration_ms <= 0:
            raise invalid_object("UNREADABLE", "holds no sound")
        return ScanResult(format, parsed)

    async def _parse_blocks(self, format: AudioFormat, title: str, *, picture: bool) -> ParsedTags:
        """Parse the blocks read so far; fetch the missing ones and repeat until it succeeds.

        Each time more blocks are read ahead, so that few attempts do. Raises BlockLimitExceeded.
        """
        most = MAX_BLOCKS_WITH_PICTURE if picture else MAX_BLOCKS
        if not picture:
            self.blocks.clear()
        for attempt in count():
            excerpt = PartialFile(self.size, self.blocks, most)
            tried = await self._try_once(excerpt, format, title, picture=picture)
            if excerpt.is_exhausted:
                raise BlockLimitExceeded
            if tried.parsed is not None:
                return tried.parsed
            if not excerpt.missing or self.budget.seconds <= 0:
                reason = TOO_LONG if excerpt.missing else tried.reason
                raise invalid_object("UNREADABLE", f"cannot be read: {reason}")
            await self._fetch_blocks(self._with_following(excerpt.missing, attempt, most))
        raise AssertionError("unreachable")

    async def _try_once(
        self, excerpt: PartialFile, format: AudioFormat, title: str, *, picture: bool
    ) -> Attempt:
        self.budget.begin()
        seconds = self.budget.seconds
        work = partial(try_parse, excerpt, format, title, picture=picture, seconds=seconds)
        tried = await _THREADS.run(work, self.budget.user)
        self.budget.end(tried.seconds)
        return tried

    def _with_following(self, missing: list[int], attempt: int, most: int) -> list[int]:
        """The missing blocks and, from the fourth attempt on, ever more of those behind them."""
        room = most - len(self.blocks) - len(missing)
        ahead = min(2 ** max(attempt - 3, 0) - 1, room)
        last = (self.size - 1) // BLOCK
        behind = range(missing[-1] + 1, min(missing[-1] + ahead, last) + 1)
        return [*missing, *(number for number in behind if number not in self.blocks)]

    async def _fetch_blocks(self, numbers: Iterable[int]) -> None:
        """Read blocks concurrently, with one request for neighbouring blocks."""
        for start, end, content in await gather(*map(self._read_range, _neighbour_ranges(numbers))):
            for number in range(start, end):
                at = (number - start) * BLOCK
                self.blocks[number] = content[at : at + BLOCK]

    async def _read_range(self, run: tuple[int, int]) -> tuple[int, int, bytes]:
        start, end = run
        wanted = min(end * BLOCK, self.size) - start * BLOCK
        chunks = self.source.read(self.key, start=start * BLOCK, end=start * BLOCK + wanted)
        # A user's own store may ignore the range.
        content = await read_bounded(chunks, wanted)
        if content is None or len(content) != wanted:
            raise invalid_object("UNREADABLE", "is not what it was, or cannot be read by ranges")
        return start, end, content


async def require_format(source: AudioSource, key: str) -> None:
    """Raise Invalid if the object does not begin like an audio file."""
    async with aclosing(source.read(key, start=0, end=HEAD_BYTES)) as chunks:
        _detect_format(b"".join([chunk async for chunk in chunks]))


def _detect_format(head: bytes) -> AudioFormat:
    format = audio_format(head[:HEAD_BYTES])
    if format is None:
        raise invalid_object("UNKNOWN_FORMAT", "is no audio file of a format we know")
    return format


def invalid_object(code: str, message: str) -> Invalid:
    """The error about one object, for the field `objectKey`."""
    return Invalid([FieldProblem(["objectKey"], message, code)])


def _neighbour_ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Group ascending numbers into ranges of neighbours: the first, and the one after the last."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    return runs
