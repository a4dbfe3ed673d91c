"""The pool of a server's worker processes: started for ready executions, watched, and replaced."""

import asyncio
import logging
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from typing import NoReturn

import msgspec

from penstock.datastore.background_tasks import start_task
from penstock.datastore.errors import PenstockError, RequestRefused
from penstock.datastore.executions.claims.turns import KeptPlace
from penstock.datastore.executions.workers.registry import WorkerKind
from penstock.datastore.periodic import PeriodicTask, cancel_tasks, repeat_when_set
from penstock.datastore.store import Store
from penstock.datastore.work_reports import ExecutionReport, WatchExecution, ignore_report
from penstock.server.runtime.child_process import as_first_line, settings_for_process, start_process
from penstock.server.runtime.worker import WorkerProcessConfig, require_engine
from penstock.server.runtime.worker_presence import announce_worker
from penstock.server.settings.settings import Settings
from penstock.server.telemetry.instrument import Instrumentation

IDLE_SECONDS = 60.0
WATCH_FAILED = "what a worker process does is not watched any more"
HEARING_SECONDS = 1.0
"""The time in which the last reports of a process that ended are read."""

logger = logging.getLogger("penstock.executions")


@asynccontextmanager
async def run_workers(
    store: Store, settings: Settings, instrumentation: Instrumentation | None = None
) -> AsyncIterator[Store]:
    """Run executions in worker processes; yields the store that wakes them.

    Executions made ready through this store start at once, others within
    `settings.execution_poll_seconds`. What the processes do is shown to the `instrumentation`.
    Raises CommandFailed if the workers lack what the settings require.
    """
    require_engine(settings)
    watch = ignore_report if instrumentation is None else instrumentation.show_from_worker
    pool = WorkerPool(store, settings, watch)
    if instrumentation is not None:
        instrumentation.count_workers(lambda: len(pool.processes))
    running = asyncio.create_task(pool.run())
    try:
        async with pool.announce():
            yield replace(store, on_execution_ready=pool.wake)
    finally:
        await cancel_tasks([running])
        await pool.stop()


class WorkerPool:
    """At most `settings.execution_workers` processes, and none of them while there is no work.

    When a process dies, the pool releases its execution to the others at once. Of several processes
    one is kept for callers who have no execution running: nobody holds all of them.
    """

    def __init__(
        self, store: Store, settings: Settings, watch: WatchExecution = ignore_report
    ) -> None:
        self._store = store
        self._watch_report = watch
        self._settings = settings
        self._poll = settings.execution_poll_seconds
        self._kept = KeptPlace(f"@{store.clock.new_id()}", settings.execution_workers - 1)
        self._kept_worker: str | None = None
        self._wanted = asyncio.Event()
        self._processes: dict[str, Process] = {}
        self._watching: set[asyncio.Task[None]] = set()
        self._stopping = False

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of the current processes."""
        return tuple(process.pid for process in self._processes.values())

    def announce(self) -> AbstractAsyncContextManager[None]:
        """Announce the pool as one worker, unless it has no places."""
        places = self._settings.execution_workers
        if not places:
            return nullcontext()
        name, kind = self._kept.pool.removeprefix("@"), WorkerKind.SERVER
        return announce_worker(self._store, name, kind, places, lambda: set(self._processes))

    def wake(self) -> None:
        """Look for work now."""
        self._wanted.set()

    async def run(self) -> NoReturn:
        chore = PeriodicTask(self._fill, self._poll, logger, "no worker could be started")
        await repeat_when_set(self._wanted, chore)

    async def stop(self) -> None:
        """Stop all processes, and kill those that take too long."""
        self._stopping = True
        for process in self._processes.values():
            if process.stdin is not None:
                process.stdin.close()
        if self._watching:
            await asyncio.wait(self._watching, timeout=self._settings.shutdown_seconds)
        for process in self._processes.values():
            with suppress(ProcessLookupError):
                process.kill()
        if self._watching:
            await asyncio.wait(self._watching)

    async def _fill(self) -> None:
        """Start a process for each ready execution, up to the limit."""
        ready = await self._store.count_ready_executions(self._settings.execution_workers)
        if not ready:
            return
        for process in self._processes.values():
            if process.stdin is not None:
                process.stdin.write(b"\n")
        busy = await self._store.count_held_executions(set(self._processes))
        wanted = min(ready + busy, self._settings.execution_workers)
        others = max(1, self._kept.others)
        running = len(self._processes) - (self._kept_worker in self._processes)
        for _ in range(min(wanted, others) - running):
            await self._start()
        if wanted > others and self._kept_worker not in self._processes:
            self._kept_worker = await self._start(self._kept)

    async def _start(self, kept: KeptPlace | None = None) -> str:
        """Start a process; returns the name of its worker."""
        worker = self._store.clock.new_id() + self._kept.pool
        orders = WorkerProcessConfig(
            worker, settings_for_process(self._settings), self._poll, IDLE_SECONDS, kept
        )
        module = "penstock.server.runtime.worker"
        process = await start_process(module, as_first_line(orders), answers=True)
        self._processes[worker] = process
        watching = start_task(self._watch(worker, process), logger, WATCH_FAILED)
        self._watching.add(watching)
        watching.add_done_callback(self._watching.discard)
        return worker

    async def _hear(self, process: Process) -> None:
        """Pass on what the process reports, a line for each change, until it has ended."""
        while process.stdout is not None and not process.stdout.at_eof():
            # A library may print what is no report, or a line longer than any.
            with suppress(msgspec.DecodeError, ValueError):
                line = await process.stdout.readline()
                self._watch_report(msgspec.json.decode(line, type=ExecutionReport))

    async def _watch(self, worker: str, process: Process) -> None:
        hearing = start_task(self._hear(process), logger, WATCH_FAILED)
        code = await process.wait()
        # Whatever it has left running may hold its output open.
        await asyncio.wait([hearing], timeout=HEARING_SECONDS)
        await cancel_tasks([hearing])
        del self._processes[worker]
        if code == 0:
            return
        logger.warning("the worker process %d died (%d)", process.pid, code)
        try:
            released = await self._store.release_executions(worker)
        except (PenstockError, RequestRefused) as error:
            logger.warning("what it ran waits for its time to run out: %s", error.message)
        else:
            if released and not self._stopping:
                self.wake()
