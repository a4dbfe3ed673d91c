"""Chores: what a server does over and over for as long as it runs, whatever becomes of one time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from logging import Logger
from typing import NamedTuple, NoReturn

from datastore.errors import PenstockError
from datastore.stopping import stopped


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
    tasks = [asyncio.create_task(_again_and_again(chore)) for chore in chores]
    try:
        yield
    finally:
        await stopped(tasks)


async def _again_and_again(chore: Chore) -> NoReturn:
    if not chore.at_once:
        await asyncio.sleep(chore.seconds)
    while True:
        try:
            await chore.work()
        except PenstockError as error:
            chore.logger.warning("%s: %s", chore.trouble, error.message)
        except Exception:
            chore.logger.exception(chore.trouble)
        await asyncio.sleep(chore.seconds)
