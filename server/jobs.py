"""Runs the jobs of a store for as long as the server runs, whichever server they were begun by."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

from penstock.datastore.repeating import Chore, stopped, whenever
from penstock.datastore.store import Store

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
