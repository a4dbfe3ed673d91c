"""A server that stops although streams are open, which never end by themselves."""

import asyncio
import socket
from contextlib import suppress
from math import ceil
from typing import Final

import uvicorn

from penstock.server.streams.registry import Streams

_LOOK_UP_SECONDS: Final = 0.1


class DrainingServer(uvicorn.Server):
    """Ends the streams first, then waits for connections as uvicorn does.

    Both take `seconds` together, and one more for connections that would not be closed. Being told
    to stop a second time ends the wait.
    """

    def __init__(self, config: uvicorn.Config, streams: Streams, seconds: float) -> None:
        super().__init__(config)
        self._streams = streams
        self._seconds = seconds

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        self._streams.stop()
        clock = asyncio.get_running_loop().time
        until = clock() + self._seconds
        while len(self._streams) and clock() < until and not self.force_exit:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_UP_SECONDS):
                    await self._streams.ended()
        self.config.timeout_graceful_shutdown = max(1, ceil(until - clock()))
        await super().shutdown(sockets)
