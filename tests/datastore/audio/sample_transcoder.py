"""A transcoder without a program, and the files that signed URLs lead to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from penstock.datastore.audio.records import AudioFormat
from penstock.datastore.audio.transcoding.ffmpeg import ConversionResult
from penstock.datastore.audio.transcoding.formats import Conversion
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.objects.metered_files import shared_store
from penstock.datastore.objects.port import Files


class CountedTranscoder:
    """Counts conversions, which write what they were asked for and end when they may."""

    def __init__(self, *, succeeded: bool = True, seconds: float = 0.0) -> None:
        self.made = 0
        self.ended = ConversionResult(succeeded, seconds)
        self.may_end = asyncio.Event()
        self.may_end.set()

    def require_place(self, user: str) -> None:
        pass

    @asynccontextmanager
    async def turn(self, user: str) -> AsyncIterator[None]:
        yield

    async def convert(
        self, source: Path, format: AudioFormat, target: Path, conversion: Conversion
    ) -> ConversionResult:
        self.made += 1
        head = await asyncio.to_thread(source.read_bytes)
        words = f"{conversion.format} at {conversion.bit_rate} of ".encode()
        await asyncio.to_thread(target.write_bytes, words + head[:4])
        await self.may_end.wait()
        return self.ended


def key_behind(files: Files, url: str) -> str:
    """The key of the file that a signed URL leads to."""
    store = shared_store(files)
    assert isinstance(store, LocalFiles)
    link = store.signer.check("GET", url.partition("/files/")[2].encode())
    assert link is not None
    return link.key
