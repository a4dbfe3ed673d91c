"""A reader of tags that detects the type of an object and reads only a few of its blocks."""

from asyncio import gather, to_thread
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.datastore.audio.buckets import Source
from penstock.datastore.audio.file_type import HEAD_BYTES, audio_format
from penstock.datastore.audio.partial_file import BLOCK, Excerpt, Exhausted, Missing
from penstock.datastore.audio.records import AudioFormat
from penstock.datastore.audio.tag_parser import MAX_PICTURE, Parsed, Unreadable, parse
from penstock.datastore.errors import FieldProblem, Invalid

MOST_BLOCKS: Final = 32
MOST_WITH_PICTURE: Final = MOST_BLOCKS + MAX_PICTURE // BLOCK


class Scanned(NamedTuple):
    """The format of a file, and its tags."""

    format: AudioFormat
    parsed: Parsed


@dataclass(frozen=True, slots=True)
class Scan:
    """The scan of one object of `size` bytes; `blocks` are the ones read so far."""

    source: Source
    key: str
    size: int
    blocks: dict[int, bytes]

    async def run(self, title: str) -> Scanned:
        """Detect the type and read the tags; raises Invalid if the object is no audio file.

        A cover that is larger than the limit is skipped. Raises NotFound if the object is
        gone.
        """
        await self._fetch([0] if self.size else [])
        format = audio_format(self.blocks.get(0, b"")[:HEAD_BYTES])
        if format is None:
            raise refused("UNKNOWN_FORMAT", "is no audio file of a format we know")
        try:
            parsed = await self._parsed(format, title, picture=True)
        except Exhausted:
            try:
                parsed = await self._parsed(format, title, picture=False)
            except Exhausted:
                words = f"has tags spread over more than {MOST_BLOCKS * BLOCK} bytes"
                raise refused("UNREADABLE", words) from None
        if parsed.duration_ms <= 0:
            raise refused("UNREADABLE", "holds no sound")
        return Scanned(format, parsed)

    async def _parsed(self, format: AudioFormat, title: str, *, picture: bool) -> Parsed:
        """Parse the blocks read so far; fetch the missing ones and repeat until it succeeds."""
        most = MOST_WITH_PICTURE if picture else MOST_BLOCKS
        if not picture:
            self.blocks.clear()
        while True:
            excerpt = Excerpt(self.size, self.blocks, most)
            try:
                return await to_thread(parse, excerpt, format, title, picture=picture)
            except (Unreadable, Missing, Exhausted) as error:
                match excerpt.failure:
                    case Missing() as missing:
                        await self._fetch(missing.blocks)
                    case Exhausted() as exhausted:
                        raise exhausted from None
                    case None:
                        raise refused("UNREADABLE", f"cannot be read: {error}") from None

    async def _fetch(self, numbers: Iterable[int]) -> None:
        """Read blocks concurrently, with one request for neighbouring blocks."""
        for start, end, content in await gather(*map(self._read, _runs(numbers))):
            for number in range(start, end):
                at = (number - start) * BLOCK
                self.blocks[number] = content[at : at + BLOCK]

    async def _read(self, run: tuple[int, int]) -> tuple[int, int, bytes]:
        start, end = run
        wanted = min(end * BLOCK, self.size) - start * BLOCK
        content = bytearray()
        async with aclosing(
            self.source.read(self.key, start=start * BLOCK, end=start * BLOCK + wanted)
        ) as chunks:
            # A user's own store may ignore the range.
            async for chunk in chunks:
                content += chunk
                if len(content) > wanted:
                    break
        if len(content) != wanted:
            raise refused("UNREADABLE", "is not what it was, or cannot be read by ranges")
        return start, end, bytes(content)


def refused(code: str, message: str) -> Invalid:
    """The error about one object, for the field `objectKey`."""
    return Invalid([FieldProblem(["objectKey"], message, code)])


def _runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Group ascending numbers into ranges of neighbours: the first, and the one after the last."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    return runs
