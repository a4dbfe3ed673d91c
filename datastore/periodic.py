"""Tasks that a process repeats as long as it runs; a failure is logged and ends nothing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from logging import Logger
from typing import Any, NamedTuple, NoReturn

from penstock.datastore.errors import PenstockError


class Chore(NamedTuple):
    """A function that is called every `seconds` seconds.

    The first call is at once (`at_once`) or after the first interval. When the call fails, the
    logger writes the error behind `error_context`, and the next call follows as usual.
    """

    work: Callable[[], Awaitable[object]]
    seconds: float
    logger: Logger
    trouble: str
    at_once: bool = False


@asynccontextmanager
async def repeated(*chores: Chore) -> AsyncIterator[None]:
    """Repeat the tasks concurrently until the block ends."""
    tasks = [asyncio.create_task(repeating(chore)) for chore in chores]
    try:
        yield
    finally:
        await stopped(tasks)


async def repeating(chore: Chore) -> NoReturn:
    """Repeat one task until it is cancelled."""
    if not chore.at_once:
        await asyncio.sleep(chore.seconds)
    while True:
        await tried(chore.work, chore.logger, chore.trouble)
        await asyncio.sleep(chore.seconds)


async def tried(work: Callable[[], Awaitable[object]], logger: Logger, trouble: str) -> None:
    """Call the function once and log its failure; a cancelled task ends all the same."""
    heed()
    try:
        await work()
    except PenstockError as error:
        logger.warning("%s: %s", trouble, error.message)
    except Exception:
        logger.exception(trouble)
    heed()


async def whenever(wanted: asyncio.Event, chore: Chore) -> NoReturn:
    """Repeat a task until cancelled: at once, then when the event is set or the interval ends."""
    while True:
        wanted.clear()
        await tried(chore.work, chore.logger, chore.trouble)
        with suppress(TimeoutError):
            await asyncio.wait_for(wanted.wait(), chore.seconds)


def heed() -> None:
    """Raise CancelledError if the running task was cancelled and the cancellation got lost.

    When an awaited call ends or fails at the moment of the cancellation, asyncio's `gather`,
    `wait_for` and `TaskGroup` report that instead.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def stopped(tasks: Iterable["asyncio.Task[Any]"]) -> None:
    """Cancel the tasks, and wait until each has ended."""
    going = set(tasks)
    for task in going:
        task.cancel()
    if going:
        await asyncio.wait(going)
