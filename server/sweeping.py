"""Removes files that nobody will use any more, for as long as the server runs."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NoReturn

from datastore.errors import PenstockError
from datastore.store import Store

SWEEP_SECONDS = 3600.0

logger = logging.getLogger("penstock.files")


@asynccontextmanager
async def sweeping(store: Store, seconds: float = SWEEP_SECONDS) -> AsyncIterator[None]:
    """Sweep now and every so many seconds, until the end."""
    running = asyncio.create_task(_run(store, seconds))
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])


async def _run(store: Store, seconds: float) -> NoReturn:
    while True:
        try:
            await store.sweep_files()
        except PenstockError as error:
            logger.warning("files could not be swept: %s", error.message)
        except Exception:
            logger.exception("files could not be swept")
        await asyncio.sleep(seconds)
