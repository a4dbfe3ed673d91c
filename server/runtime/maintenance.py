"""Runs the jobs of a store for as long as the server runs, whichever server they were begun by.

Removes files that nobody will use any more, for as long as the server runs.

What a server does about executions beside running them, every so often.
"""

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
    """Give the store back as one whose jobs this process runs until the end.

    What is unfinished at the start and what is begun through the store is taken up at once; what
    other servers leave behind, within so many seconds.
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
    """Sweep now and every so many seconds, until the end."""
    trouble = "files could not be swept"
    return repeated(Chore(store.sweep_files, seconds, file_logger, trouble, at_once=True))


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
