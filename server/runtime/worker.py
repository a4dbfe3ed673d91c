"""The worker: it runs ready executions, locally or on a Dask cluster, and waits for more.

As a process of a server it reads its parameters from the first line of standard input. Each further
line wakes it; the end of input stops it, also after the server was killed.
"""

import asyncio
import logging
import os
import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import msgspec

from penstock.datastore.errors import PenstockError
from penstock.datastore.executions.claims.turns import KeptPlace
from penstock.datastore.executions.workers.row_engine import LOCAL_ENGINE, RowEngine
from penstock.datastore.executions.workers.worker import ExecutionWorker
from penstock.datastore.periodic import cancel_tasks, check_cancelled
from penstock.datastore.store import Store
from penstock.datastore.work_reports import ExecutionReport, WatchExecution
from penstock.server.core.command_output import CommandFailed, ExitCode
from penstock.server.runtime.child_process import open_further_lines, read_first_line
from penstock.server.runtime.core_engine import CoreEngine
from penstock.server.runtime.stop_signals import StopSignals, run_until_stopped
from penstock.server.runtime.stores import build_store, open_files, open_table
from penstock.server.settings.settings import Settings
from penstock.server.telemetry.logs import configure_logging
from penstock.server.telemetry.work_log import log_execution


def row_engine_of(settings: Settings) -> RowEngine:
    """Return the row engine that the settings choose; raises CommandFailed as `require_engine`."""
    require_engine(settings)
    if settings.dask is None:
        cores = settings.execution_cores or count_cores()
        return CoreEngine(cores) if cores > 1 else LOCAL_ENGINE
    engine: RowEngine = import_module("penstock.server.runtime.dask.cluster").Cluster(settings.dask)
    return engine


def count_cores() -> int:
    """Return the number of processor cores that this process may use."""
    known = hasattr(os, "sched_getaffinity")  # Not everywhere.
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


def require_engine(settings: Settings) -> None:
    """Raise CommandFailed if the settings name a cluster and `distributed` is missing."""
    if settings.dask is not None and find_spec("distributed") is None:
        raise CommandFailed(
            "PENSTOCK_DASK names a cluster, but distributed is not installed: install Penstock "
            "with its extra `dask`.",
            code=ExitCode.USAGE,
        )


logger = logging.getLogger("penstock.executions")


class WorkerLoop:
    """A loop that runs executions until it is stopped, or idle for too long.

    It looks for work every `poll` seconds, and at once after `wake`. Without `idle` seconds it
    never ends by itself.
    """

    def __init__(self, runner: ExecutionWorker, *, poll: float, idle: float | None = None) -> None:
        self._runner = runner
        self._poll = poll
        self._idle = idle
        self._woken = asyncio.Event()
        self._stopping = asyncio.Event()

    def wake(self) -> None:
        """Look for work now."""
        self._woken.set()

    def stop(self) -> None:
        """End the loop, and leave the current execution to other workers."""
        self._stopping.set()

    async def work(self) -> None:
        working = asyncio.create_task(self._work())
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
        await cancel_tasks([working, stopping])
        if not working.cancelled():
            await working

    async def _work(self) -> None:
        clock = asyncio.get_running_loop().time
        busy = clock()
        while self._idle is None or clock() - busy < self._idle:
            check_cancelled()
            self._woken.clear()
            if await self._run():
                busy = clock()
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), self._poll)

    async def _run(self) -> bool:
        """Run one execution; returns False if none is ready or the store does not answer."""
        try:
            return await self._runner.run_one()
        except PenstockError as error:
            logger.warning("no execution could be run: %s", error.message)
        return False


class WorkerProcessConfig(msgspec.Struct, frozen=True):
    """The start parameters of a worker process; `poll` and `idle` are in seconds.

    With `kept` it is the worker that a pool keeps for callers who have nothing running.
    """

    worker: str
    settings: dict[str, Any]
    poll: float
    idle: float
    kept: KeptPlace | None = None


async def _run_worker(orders: WorkerProcessConfig, settings: Settings, stop: StopSignals) -> None:
    async with open_table(settings) as table, open_files(settings) as files:
        store = with_watch(build_store(table, settings, files), _watch_for_server(settings))
        runner = store.execution_worker(orders.worker, row_engine_of(settings))
        runner = replace(runner, kept=orders.kept)
        worker = WorkerLoop(runner, poll=orders.poll, idle=orders.idle)
        listening = asyncio.create_task(_obey_lines(worker))
        with stop.handled_by(lambda _signal: worker.stop()):
            await worker.work()
        listening.cancel()


def with_watch(store: Store, watch: WatchExecution) -> Store:
    """Return a store whose workers report to `watch`."""
    return replace(store, execution_rules=replace(store.execution_rules, watch=watch))


def _watch_for_server(settings: Settings) -> WatchExecution:
    """Log each change, and send it to the server as a line of standard output."""

    def watch(report: ExecutionReport) -> None:
        if settings.access_log:
            log_execution(report)
        # A server that is gone ends this process; what it does until then, nobody counts.
        with suppress(OSError):
            os.write(sys.stdout.fileno(), msgspec.json.encode(report) + b"\n")

    return watch


async def _obey_lines(worker: WorkerLoop) -> None:
    """Wake the worker for each line of standard input, and stop it at its end."""
    lines = await open_further_lines()
    while await lines.readline():
        worker.wake()
    worker.stop()


def main() -> None:
    orders = read_first_line(WorkerProcessConfig)
    settings = Settings.load(**orders.settings)
    configure_logging(settings.log_format)
    run_until_stopped(partial(_run_worker, orders, settings))


if __name__ == "__main__":
    main()
