"""The time of an event loop, which a test moves forward instead of waiting for it.

A limit of a few milliseconds would end what a busy machine has not begun. So tests set limits that
are never reached by themselves, let the work come to the point where it waits, and move the time.
"""

import asyncio
from functools import cache
from typing import Final

import pytest

LONG: Final = 1000.0
"""A limit in seconds that passes only when a test moves the time."""

TURNS: Final = 50
"""The turns of the loop in which everything that is ready comes to the point where it waits."""


class LoopClock:
    """A time that goes on by itself, and can be moved forward; it never goes back."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._time = loop.time
        self._moved = 0.0

    def time(self) -> float:
        return self._time() + self._moved

    async def move(self, seconds: float) -> None:
        """Let the running tasks come to where they wait, and then so many seconds pass."""
        await let_tasks_run()
        self._moved += seconds
        await let_tasks_run()


async def let_tasks_run() -> None:
    """Let every task run that waits for nothing but its turn."""
    for _ in range(TURNS):
        await asyncio.sleep(0)


@cache
def clock_of(loop: asyncio.AbstractEventLoop) -> LoopClock:
    """Return the clock of the loop, set at its first use."""
    clock = LoopClock(loop)
    # It is never taken away: timers that were set by it would fire late.
    pytest.MonkeyPatch().setattr(loop, "time", clock.time)
    return clock


async def pass_time(seconds: float) -> None:
    """Move the time of the running loop."""
    await clock_of(asyncio.get_running_loop()).move(seconds)
