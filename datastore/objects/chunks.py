"""Contents of files as streams of chunks."""

from collections.abc import AsyncIterable
from contextlib import aclosing

from penstock.datastore.errors import LimitExceeded, Unavailable
from penstock.datastore.objects.port import OBJECT_BYTES, Chunks


async def single_chunk(content: bytes) -> Chunks:
    """Yield a content as one chunk, for `Files.write`."""
    yield content


async def read_bounded(chunks: Chunks, most: int) -> bytes | None:
    """Return a content of at most so many bytes; None for a larger one, whose rest is not read."""
    content = bytearray()
    async with aclosing(chunks):
        async for chunk in chunks:
            content += chunk
            if len(content) > most:
                return None
    return bytes(content)


async def require_size(chunks: Chunks, size: int) -> Chunks:
    """Pass on content that has so many bytes; raises Unavailable where a store gives another."""
    left = size
    async with aclosing(chunks) as content:
        async for chunk in content:
            left -= len(chunk)
            if left < 0:
                break
            yield chunk
    if left:
        raise Unavailable("The store of files gives a file of another size than the one it took.")


async def regroup_blocks(chunks: AsyncIterable[bytes], size: int) -> Chunks:
    """Regroup a stream into blocks of exactly `size` bytes, of which only the last may be shorter.

    Raises LimitExceeded as soon as the stream is larger than a file may be.
    """
    buffer = bytearray()
    total = 0
    async for chunk in chunks:
        total += len(chunk)
        if total > OBJECT_BYTES:
            raise LimitExceeded("bytes of a file", OBJECT_BYTES, total)
        buffer += chunk
        while len(buffer) >= size:
            yield bytes(buffer[:size])
            del buffer[:size]
    if buffer:
        yield bytes(buffer)
