"""The background work of a server: jobs, the removal of unused files, and care for executions."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial

from penstock.datastore.jobs.jobs import JobKind
from penstock.datastore.periodic import (
    PeriodicTask,
    cancel_tasks,
    repeat_when_set,
    run_periodically,
)
from penstock.datastore.store import Store
from penstock.server.settings.settings import Settings

POLL_SECONDS = 5.0

job_logger = logging.getLogger("penstock.jobs")


@asynccontextmanager
async def run_jobs_in_background(
    store: Store, seconds: float = POLL_SECONDS
) -> AsyncIterator[Store]:
    """Run the store's jobs in this process; yields the store that wakes them.

    It starts unfinished jobs and new jobs of this store at once, and jobs of other servers within
    `seconds`. Each kind of job runs for itself: a deletion does not wait for imports.
    """
    worker = store.clock.new_id()
    wanted = [asyncio.Event() for _ in JobKind]
    running = [
        asyncio.create_task(
            repeat_when_set(
                event,
                PeriodicTask(
                    partial(store.run_jobs, f"{worker}-{kind}", [kind]),
                    seconds,
                    job_logger,
                    "no job could be run",
                ),
            )
        )
        for kind, event in zip(JobKind, wanted, strict=True)
    ]

    def wake() -> None:
        for event in wanted:
            event.set()

    try:
        yield replace(store, on_job_created=wake)
    finally:
        await cancel_tasks(running)


SWEEP_SECONDS = 3600.0

file_logger = logging.getLogger("penstock.files")


def sweep_files_periodically(
    store: Store, seconds: float = SWEEP_SECONDS
) -> AbstractAsyncContextManager[None]:
    """Remove unused files now and every `seconds`, until the end."""
    trouble = "files could not be swept"
    return run_periodically(
        PeriodicTask(store.sweep_files, seconds, file_logger, trouble, at_once=True)
    )


CLEARING_SECONDS = 60.0

execution_logger = logging.getLogger("penstock.executions")


def maintain_executions(
    store: Store, settings: Settings, charge: Callable[[str, int], None]
) -> AbstractAsyncContextManager[None]:
    """Find uploaded inputs, remove expired executions, and finish interrupted deletes.

    Users are charged what they owe for the time of workers.
    """

    async def start_uploaded() -> None:
        if await store.confirm_uploads():
            store.on_execution_ready()

    trouble = "executions could not be looked after"
    return run_periodically(
        PeriodicTask(
            start_uploaded, settings.upload_poll_seconds, execution_logger, trouble, at_once=True
        ),
        PeriodicTask(
            partial(store.work_debts.take_all, charge),
            settings.execution_poll_seconds,
            execution_logger,
            "what users owe for workers could not be charged",
        ),
        PeriodicTask(store.finish_deletes, CLEARING_SECONDS, execution_logger, trouble),
        PeriodicTask(store.drop_old_rows, SWEEP_SECONDS, execution_logger, "rows could not leave"),
        PeriodicTask(
            store.merge_rows, CLEARING_SECONDS, execution_logger, "files could not be merged"
        ),
    )
