"""What a server does about executions beside running them, every so often."""

import logging
from contextlib import AbstractAsyncContextManager

from penstock.datastore.repeating import Chore, repeated
from penstock.datastore.store import Store
from penstock.server.settings import Settings

CLEARING_SECONDS = 60.0

execution_logger = logging.getLogger("penstock.executions")


def upkept(store: Store, settings: Settings) -> AbstractAsyncContextManager[None]:
    """Look for uploads, now and every so often, and take away what is over or deleted."""

    async def look() -> None:
        if await store.look_for_uploads():
            store.execution_ready()

    trouble = "executions could not be looked after"
    return repeated(
        Chore(look, settings.upload_poll_seconds, execution_logger, trouble, at_once=True),
        Chore(store.finish_deletes, CLEARING_SECONDS, execution_logger, trouble),
    )
