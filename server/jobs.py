"""Runs the jobs of a store for as long as the server runs, whichever server they were begun by."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import NoReturn

from datastore.repeating import stopped, tried
from datastore.store import Store

POLL_SECONDS = 5.0

logger = logging.getLogger("penstock.jobs")


@asynccontextmanager
async def running_jobs(store: Store, seconds: float = POLL_SECONDS) -> AsyncIterator[Store]:
    """Give the store back as one whose jobs this process runs until the end.

    What is unfinished at the start and what is begun through the store is taken up at once; what
    other servers leave behind, within so many seconds.
    """
    wanted = asyncio.Event()
    running = asyncio.create_task(_run(store, wanted, seconds))
    try:
        yield replace(store, job_begun=wanted.set)
    finally:
        await stopped([running])


async def _run(store: Store, wanted: asyncio.Event, seconds: float) -> NoReturn:
    worker = store.clock.new_id()
    while True:
        wanted.clear()
        await tried(partial(store.run_jobs, worker), logger, "no job could be run")
        with suppress(TimeoutError):
            await asyncio.wait_for(wanted.wait(), seconds)
