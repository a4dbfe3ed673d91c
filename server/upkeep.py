"""What a server does about executions beside running them, every so often."""

import logging
from contextlib import AbstractAsyncContextManager

from datastore.repeating import Chore, repeated
from datastore.store import Store

UPLOADS_SECONDS = 10.0
CLEARING_SECONDS = 60.0

logger = logging.getLogger("penstock.executions")


def upkept(
    store: Store, uploads: float = UPLOADS_SECONDS, clearing: float = CLEARING_SECONDS
) -> AbstractAsyncContextManager[None]:
    """Look for uploads, and take away what is over or deleted, every so many seconds."""

    async def look() -> None:
        if await store.look_for_uploads():
            store.execution_ready()

    trouble = "executions could not be looked after"
    return repeated(
        Chore(look, uploads, logger, trouble),
        Chore(store.finish_deletes, clearing, logger, trouble),
    )
