"""What a server does about executions beside running them, every so often."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NoReturn

from datastore.errors import PenstockError
from datastore.store import Store

UPLOADS_SECONDS = 10.0
CLEARING_SECONDS = 60.0

logger = logging.getLogger("penstock.executions")


@asynccontextmanager
async def upkept(
    store: Store, uploads: float = UPLOADS_SECONDS, clearing: float = CLEARING_SECONDS
) -> AsyncIterator[None]:
    """Look for uploads, and take away what is over or deleted, every so many seconds."""

    async def look() -> None:
        if await store.look_for_uploads():
            store.execution_ready()

    tasks = [
        asyncio.create_task(_every(uploads, look)),
        asyncio.create_task(_every(clearing, store.finish_deletes)),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _every(seconds: float, work: Callable[[], Awaitable[object]]) -> NoReturn:
    while True:
        await asyncio.sleep(seconds)
        try:
            await work()
        except PenstockError as error:
            logger.warning("executions could not be looked after: %s", error.message)
        except Exception:
            logger.exception("executions could not be looked after")
