"""`penstock serve` with a monitor of its event loop; `/longest` answers with the longest pause.

It runs as a separate process, so that nothing but the server uses the loop's time.
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

from penstock.server.app import open_app
from penstock.server.command_line import run

STEP_SECONDS = 0.001
YARDSTICK = 50_000
"""The number of words to hash, which measures the current speed of this machine."""


class Pauses:
    """The longest time that the loop's thread worked on one thing, in processor time.

    Time spent waiting for a processor, or for another Python thread, does not count.
    """

    def __init__(self) -> None:
        self._longest = 0.0

    async def watch(self) -> None:
        while True:
            began = time.thread_time()
            await asyncio.sleep(STEP_SECONDS)
            self._longest = max(self._longest, time.thread_time() - began)

    async def tell(self, _: Request) -> JSONResponse:
        """Answer with the longest pause since the last request, and a yardstick, in milliseconds.

        The yardstick is the time of a fixed amount of work on this loop now: pauses are compared to
        it.
        """
        # The latest pause of the loop is recorded before the answer.
        await asyncio.sleep(2 * STEP_SECONDS)
        longest = self._longest
        yardstick = _yardstick()
        await asyncio.sleep(2 * STEP_SECONDS)
        self._longest = 0.0
        return JSONResponse({"pause": longest * 1000, "yardstick": yardstick * 1000})


def _yardstick() -> float:
    began = time.thread_time()
    for number in range(YARDSTICK):
        hash(f"word {number}")
    return time.thread_time() - began


@asynccontextmanager
async def ticking(*arguments: Any) -> AsyncIterator[Starlette]:
    """Open the application with the monitor running."""
    pauses = Pauses()
    async with open_app(*arguments) as app:
        app.router.routes.append(Route("/longest", pauses.tell))
        watching = asyncio.create_task(pauses.watch())
        yield app
        watching.cancel()


if __name__ == "__main__":
    with patch("penstock.server.runtime.run_server.open_app", ticking):
        sys.exit(run(["serve", *sys.argv[1:]]))
