"""`penstock serve` with a monitor of its event loop.

`/watch` begins to watch it, and `/longest` answers with the longest pause since then. Pauses are
compared to `/yardstick`. It runs as a separate process, so that nothing but the server uses the
loop's time.
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
from starlette.responses import JSONResponse, Response
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
        self._watching: asyncio.Task[None] | None = None

    async def begin(self, _: Request) -> Response:
        """Watch the loop from now on."""
        self.end()
        self._longest = 0.0
        self._watching = asyncio.create_task(self._watch())
        return Response()

    async def tell(self, _: Request) -> JSONResponse:
        """Watch no longer, and answer with the longest pause in milliseconds."""
        # The latest pause of the loop is recorded before the answer.
        await asyncio.sleep(2 * STEP_SECONDS)
        self.end()
        return JSONResponse(self._longest * 1000)

    def end(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    async def _watch(self) -> None:
        while True:
            began = time.thread_time()
            await asyncio.sleep(STEP_SECONDS)
            self._longest = max(self._longest, time.thread_time() - began)


async def tell_yardstick(_: Request) -> JSONResponse:
    """Answer with the time of a fixed amount of work on this loop now, in milliseconds."""
    return JSONResponse(_yardstick() * 1000)


def _yardstick() -> float:
    began = time.thread_time()
    for number in range(YARDSTICK):
        hash(f"word {number}")
    return time.thread_time() - began


@asynccontextmanager
async def ticking(*arguments: Any) -> AsyncIterator[Starlette]:
    """Open the application with the monitor."""
    pauses = Pauses()
    async with open_app(*arguments) as app:
        for path, answer in (
            ("/watch", pauses.begin),
            ("/longest", pauses.tell),
            ("/yardstick", tell_yardstick),
        ):
            app.router.routes.append(Route(path, answer))
        yield app
        pauses.end()


if __name__ == "__main__":
    with patch("penstock.server.runtime.run_server.open_app", ticking):
        sys.exit(run(["serve", *sys.argv[1:]]))
