"""Contents of files as streams of chunks."""

from collections.abc import AsyncIterable
from contextlib import aclosing

from penstock.datastore.errors import LimitExceeded, Unavailable
from penstock.datastore.objects.port import OBJECT_BYTES, Chunks


class WrongSize(Unavailable):
    """A store gives a file of another size than the one it took."""

    def __init__(self) -> None:
        super().__init__("The store of files gives a file of another size than the one it took.")


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
    """Pass on content that has so many bytes; raises WrongSize where a store gives another."""
    left = size
    async with aclosing(limit_size(chunks, size)) as content:
        async for chunk in content:
            left -= len(chunk)
            yield chunk
    if left:
        raise WrongSize


async def read_exactly(chunks: Chunks, size: int) -> bytes:
    """Return a content of so many bytes; raises WrongSize where a store gives another."""
    return b"".join([chunk async for chunk in require_size(chunks, size)])


async def limit_size(chunks: Chunks, most: int) -> Chunks:
    """Pass on content that has at most so many bytes; raises WrongSize where a store gives more."""
    left = most
    async with aclosing(chunks) as content:
        async for chunk in content:
            left -= len(chunk)
            if left < 0:
                raise WrongSize
            yield chunk


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
