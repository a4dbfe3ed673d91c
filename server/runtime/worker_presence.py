"""The announcements of this process in the list of workers."""

import logging
from collections.abc import AsyncIterator, Callable, Set
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version

from penstock.datastore.errors import PenstockError
from penstock.datastore.executions.workers.registry import ANNOUNCE_SECONDS, WorkerKind
from penstock.datastore.periodic import PeriodicTask, run_periodically
from penstock.datastore.store import Store

logger = logging.getLogger("penstock.executions")


@asynccontextmanager
async def announce_worker(
    store: Store, name: str, kind: WorkerKind, places: int, claimants: Callable[[], Set[str]]
) -> AsyncIterator[None]:
    """Announce this process as a worker until the block ends.

    `claimants` are the names under which it claims executions now.
    """
    workers = store.workers
    worker = workers.describe_process(name, kind, places, version("penstock"))

    async def announce() -> None:
        names = claimants()
        running = await store.count_held_executions(names) if names else 0
        await workers.announce(worker, running)

    chore = PeriodicTask(
        announce, ANNOUNCE_SECONDS, logger, "the worker could not be announced", at_once=True
    )
    try:
        async with run_periodically(chore):
            yield
    finally:
        with suppress(PenstockError):
            await workers.withdraw(worker)
