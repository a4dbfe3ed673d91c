"""`penstock worker`: runs executions on a separate machine."""

import asyncio
from functools import partial
from typing import Annotated

from cyclopts import Parameter

from penstock.datastore.executions.workers.registry import WorkerKind
from penstock.datastore.scratch_folders import remove_abandoned_folders
from penstock.datastore.work_reports import ExecutionReport, WatchExecution
from penstock.server.commands.options import StoreOptions, setting_option
from penstock.server.core.command_output import CommandFailed, ExitCode
from penstock.server.lineage.lineage import Lineage, deliver_lineage
from penstock.server.runtime.stop_signals import StopSignals, run_until_stopped
from penstock.server.runtime.stores import build_store, open_files, open_whole_table
from penstock.server.runtime.worker import WorkerLoop, row_engine_of, with_watch
from penstock.server.runtime.worker_presence import announce_worker
from penstock.server.settings.settings import Settings
from penstock.server.telemetry.logs import configure_logging
from penstock.server.telemetry.span_export import export_spans
from penstock.server.telemetry.work_log import log_execution
from penstock.server.telemetry.work_spans import WorkSpans, open_tracer

_ONCE_HELP = "Stop when no execution is ready."


def worker(
    *,
    once: Annotated[bool, Parameter(help=_ONCE_HELP)] = False,
    dask: Annotated[str | None, setting_option("dask")] = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> None:
    """Run executions until a signal stops it (Ctrl-C, SIGTERM); start one worker for each core.

    A stopped worker leaves its execution to other workers. With `PENSTOCK_EXECUTION_WORKERS=0` the
    servers themselves run none.
    """
    settings = options.settings(dask=dask)
    configure_logging(settings.log_format)
    run_until_stopped(partial(_run_worker, settings, once))


async def _run_worker(settings: Settings, once: bool, stop: StopSignals) -> None:
    engine = row_engine_of(settings)
    async with export_spans(), open_whole_table(settings) as table, open_files(settings) as files:
        if problems := await files.verify():
            raise CommandFailed(*problems, code=ExitCode.STORE)
        await asyncio.to_thread(remove_abandoned_folders)
        lineage = Lineage.of(settings)
        store = with_watch(build_store(table, settings, files), _watch(settings, lineage))
        runner = store.execution_worker(store.clock.new_id(), engine)
        async with deliver_lineage(lineage, store):
            if once:
                await runner.run_all()
                return
            working = WorkerLoop(runner, poll=settings.execution_poll_seconds)
            name = runner.worker
            announced = announce_worker(store, name, WorkerKind.COMMAND, 1, lambda: {name})
            async with announced:
                with stop.handled_by(lambda _signal: working.stop()):
                    await working.work()


def _watch(settings: Settings, lineage: Lineage | None) -> WatchExecution:
    """Log, trace and tell what this worker does; no server learns of it."""
    tracer = open_tracer()
    spans = None if tracer is None else WorkSpans(tracer)

    def watch(report: ExecutionReport) -> None:
        if settings.access_log:
            log_execution(report)
        if spans is not None:
            spans.execution(report)
        if lineage is not None:
            lineage.tell_execution(report)

    return watch
