"""The background work of a server: jobs, the removal of unused files, and care for executions."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial

from penstock.datastore.periodic import Chore, repeated, stopped, whenever
from penstock.datastore.store import Store
from penstock.server.settings.settings import Settings

POLL_SECONDS = 5.0

job_logger = logging.getLogger("penstock.jobs")


@asynccontextmanager
async def running_jobs(store: Store, seconds: float = POLL_SECONDS) -> AsyncIterator[Store]:
    """Run the store's jobs in this process; yields the store that wakes them.

    It starts unfinished jobs and new jobs of this store at once, and jobs of other servers within
    `seconds`.
    """
    wanted = asyncio.Event()
    work = partial(store.run_jobs, store.clock.new_id())
    chore = Chore(work, seconds, job_logger, "no job could be run")
    running = asyncio.create_task(whenever(wanted, chore))
    try:
        yield replace(store, job_begun=wanted.set)
    finally:
        await stopped([running])


SWEEP_SECONDS = 3600.0

file_logger = logging.getLogger("penstock.files")


def sweeping(store: Store, seconds: float = SWEEP_SECONDS) -> AbstractAsyncContextManager[None]:
    """Remove unused files now and every `seconds`, until the end."""
    trouble = "files could not be swept"
    return repeated(Chore(store.sweep_files, seconds, file_logger, trouble, at_once=True))


CLEARING_SECONDS = 60.0

execution_logger = logging.getLogger("penstock.executions")


def upkept(store: Store, settings: Settings) -> AbstractAsyncContextManager[None]:
    """Find uploaded inputs, remove expired executions, and finish interrupted deletes."""

    async def look() -> None:
        if await store.look_for_uploads():
            store.execution_ready()

    trouble = "executions could not be looked after"
    return repeated(
        Chore(look, settings.upload_poll_seconds, execution_logger, trouble, at_once=True),
        Chore(store.finish_deletes, CLEARING_SECONDS, execution_logger, trouble),
    )
