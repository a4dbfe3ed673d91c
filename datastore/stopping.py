"""Ends tasks that would go on for ever."""

import asyncio
from collections.abc import Iterable
from typing import Any, Final

SECONDS: Final = 2.0
"""After which a task that was cancelled and goes on is cancelled again."""


async def stopped(tasks: Iterable["asyncio.Task[Any]"]) -> None:
    """Cancel tasks, and wait until each has ended.

    A loop that goes on whatever fails may miss it once: where something that it waits for ends or
    fails in the very moment of the cancellation, asyncio's `gather`, `wait_for` and `TaskGroup`
    tell of that instead.
    """
    going = set(tasks)
    while going:
        for task in going:
            task.cancel()
        _, going = await asyncio.wait(going, timeout=SECONDS)
