"""A file that is written while its content comes into being, and published whole or not at all."""

import asyncio
from collections.abc import AsyncIterator

from penstock.datastore.files import Files

QUEUED = 4
CSV = "text/csv; charset=utf-8"


class Growing:
    """One file of a store, fed piece by piece; it appears when `publish` returns.

    `feed` waits while the store is slower than the feeder. What keeps the store from writing is
    raised by whichever of the methods is called next.
    """

    def __init__(self, files: Files, key: str) -> None:
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue(QUEUED)
        self._writing = asyncio.create_task(files.write(key, self._content(), content_type=CSV))

    async def feed(self, piece: bytes) -> None:
        if piece:
            await self._put(piece)

    async def publish(self) -> None:
        """End the file, and wait until it is in place."""
        await self._put(None)
        await self._writing

    async def abandon(self) -> None:
        """Leave what stood under the key as it was; nothing to do for a file that is published."""
        self._writing.cancel()
        await asyncio.wait([self._writing])
        if not self._writing.cancelled():
            self._writing.exception()

    async def _put(self, piece: bytes | None) -> None:
        putting = asyncio.ensure_future(self._pieces.put(piece))
        try:
            await asyncio.wait([putting, self._writing], return_when=asyncio.FIRST_COMPLETED)
            if not putting.done():
                await self._writing
        finally:
            putting.cancel()

    async def _content(self) -> AsyncIterator[bytes]:
        while (piece := await self._pieces.get()) is not None:
            yield piece
