"""Files of this machine that hold contents, read and written in a thread, a block at a time."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Final

from penstock.datastore.objects.port import Chunks

BLOCK_BYTES: Final = 1024 * 1024


def note_nothing(_chunk: bytes) -> None:
    """Note nothing of a chunk."""


async def read_local(path: Path) -> Chunks:
    """Yield the bytes of a local file."""
    with await asyncio.to_thread(path.open, "rb") as local:
        while block := await asyncio.to_thread(local.read, BLOCK_BYTES):
            yield block


async def write_local(
    chunks: Chunks, path: Path, note: Callable[[bytes], object] = note_nothing
) -> None:
    """Write a content to a local file; in the thread, `note` sees each chunk, and may raise."""
    with await asyncio.to_thread(path.open, "wb") as local:

        def write(chunk: bytes) -> None:
            note(chunk)
            local.write(chunk)

        async with aclosing(chunks) as content:
            async for chunk in content:
                await asyncio.to_thread(write, chunk)
