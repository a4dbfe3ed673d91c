"""The patience of tests: they wait for conditions, and a bound only ends a test that hangs."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

HUNG_SECONDS: Final = 540.0
"""The time after which a test counts as hung; a busy machine takes twenty times longer."""

PAUSE_SECONDS: Final = 0.01


async def until(holds: Callable[[], object | Awaitable[object]]) -> None:
    """Wait until the condition holds."""
    async with asyncio.timeout(HUNG_SECONDS):
        while not await _value(holds):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(PAUSE_SECONDS)


async def _value(holds: Callable[[], object | Awaitable[object]]) -> object:
    found = holds()
    return await found if isinstance(found, Awaitable) else found


def wait_until(holds: Callable[[], object]) -> None:
    """Wait, outside of an event loop, until the condition holds."""
    end = time.monotonic() + HUNG_SECONDS
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(PAUSE_SECONDS)
