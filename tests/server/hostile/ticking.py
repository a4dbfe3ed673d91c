"""`penstock serve` with a clock on its event loop, which `/longest` is asked for its longest pause.

Run as a process of its own, so that nothing but the server takes the loop's time.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from server.__main__ import run
from server.app import open_app

STEP_SECONDS = 0.001


class Pauses:
    """The longest time in which the loop did nothing else, on the clock and of the processor."""

    def __init__(self) -> None:
        self._longest = (0.0, 0.0)

    async def watch(self) -> None:
        while True:
            began, used = time.perf_counter(), time.thread_time()
            await asyncio.sleep(STEP_SECONDS)
            pause = time.perf_counter() - began - STEP_SECONDS
            self._longest = max(self._longest, (pause, time.thread_time() - used))

    async def tell(self, _: Request) -> JSONResponse:
        """Answer with the longest pause since this was last asked, in milliseconds."""
        # What the loop was held up by just now is noted before it is told.
        await asyncio.sleep(2 * STEP_SECONDS)
        clock, processor = self._longest
        self._longest = (0.0, 0.0)
        return JSONResponse({"clock": clock * 1000, "processor": processor * 1000})


@asynccontextmanager
async def ticking(*arguments: Any) -> AsyncIterator[Starlette]:
    pauses = Pauses()
    async with open_app(*arguments) as app:
        app.router.routes.append(Route("/longest", pauses.tell))
        watching = asyncio.create_task(pauses.watch())
        yield app
        watching.cancel()


if __name__ == "__main__":
    with patch("server.commands.serve.open_app", ticking):
        sys.exit(run(["serve", *sys.argv[1:]]))
