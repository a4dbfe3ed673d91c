"""Chores: what a process does over and over as long as it runs, whatever becomes of one time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from logging import Logger
from typing import Any, NamedTuple, NoReturn

from penstock.datastore.errors import PenstockError


class Chore(NamedTuple):
    """What is done every so many seconds, the first time at once or after them.

    When it fails `logger` is told `trouble`, and it is done again.
    """

    work: Callable[[], Awaitable[object]]
    seconds: float
    logger: Logger
    trouble: str
    at_once: bool = False


@asynccontextmanager
async def repeated(*chores: Chore) -> AsyncIterator[None]:
    """Do the chores, each by itself, until the end."""
    tasks = [asyncio.create_task(repeating(chore)) for chore in chores]
    try:
        yield
    finally:
        await stopped(tasks)


async def repeating(chore: Chore) -> NoReturn:
    """Do a chore until cancelled."""
    if not chore.at_once:
        await asyncio.sleep(chore.seconds)
    while True:
        await tried(chore.work, chore.logger, chore.trouble)
        await asyncio.sleep(chore.seconds)


async def tried(work: Callable[[], Awaitable[object]], logger: Logger, trouble: str) -> None:
    """Do one turn of a loop that goes on whatever fails, unless its task was cancelled."""
    heed()
    try:
        await work()
    except PenstockError as error:
        logger.warning("%s: %s", trouble, error.message)
    except Exception:
        logger.exception(trouble)
    heed()


async def whenever(wanted: asyncio.Event, chore: Chore) -> NoReturn:
    """Do a chore until cancelled: at once, then when it is wanted or its seconds are over."""
    while True:
        wanted.clear()
        await tried(chore.work, chore.logger, chore.trouble)
        with suppress(TimeoutError):
            await asyncio.wait_for(wanted.wait(), chore.seconds)


def heed() -> None:
    """Raise the cancellation of the running task, if there was one that it did not hear of.

    Where something that it waits for ends or fails in the very moment of the cancellation,
    asyncio's `gather`, `wait_for` and `TaskGroup` tell of that instead.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def stopped(tasks: Iterable["asyncio.Task[Any]"]) -> None:
    """Cancel tasks, and wait until each has ended."""
    going = set(tasks)
    for task in going:
        task.cancel()
    if going:
        await asyncio.wait(going)
