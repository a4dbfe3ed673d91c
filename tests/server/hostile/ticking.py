"""`penstock serve` with a clock on its event loop, which `/longest` is asked for its longest pause.

Run as a process of its own, so that nothing but the server takes the loop's time.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from server.__main__ import run
from server.app import open_app

STEP_SECONDS = 0.001
SCHEDULED = Path("/proc/thread-self/schedstat")
"""Where Linux says how long a thread had something to do and no processor to do it on."""


class Pauses:
    """The longest time in which nothing but one thing was done on the loop."""

    def __init__(self) -> None:
        self._longest = 0.0

    async def watch(self) -> None:
        while True:
            began, waited = time.perf_counter(), _waited()
            await asyncio.sleep(STEP_SECONDS)
            pause = time.perf_counter() - began - STEP_SECONDS - (_waited() - waited)
            self._longest = max(self._longest, pause)

    async def tell(self, _: Request) -> JSONResponse:
        """Answer with the longest pause since this was last asked, in milliseconds."""
        # What held the loop up just now is noted before it is told.
        await asyncio.sleep(2 * STEP_SECONDS)
        longest, self._longest = self._longest, 0.0
        return JSONResponse({"pause": longest * 1000})


def _waited() -> float:
    """Tell how long this thread waited for a processor that others kept busy, in seconds."""
    return int(SCHEDULED.read_text().split()[1]) / 1e9 if SCHEDULED.exists() else 0.0


@asynccontextmanager
async def ticking(*arguments: Any) -> AsyncIterator[Starlette]:
    """Open the application with the clock running."""
    pauses = Pauses()
    async with open_app(*arguments) as app:
        app.router.routes.append(Route("/longest", pauses.tell))
        watching = asyncio.create_task(pauses.watch())
        yield app
        watching.cancel()


if __name__ == "__main__":
    with patch("server.commands.serve.open_app", ticking):
        sys.exit(run(["serve", *sys.argv[1:]]))
