"""`penstock worker`: runs executions on a separate machine."""

import asyncio
import signal
from typing import Annotated

from cyclopts import Parameter
from uvloop import new_event_loop

from penstock.server.commands.options import StoreOptions, option
from penstock.server.core.command_output import CommandFailed, ExitCode
from penstock.server.runtime.stores import open_files, open_table, store_over
from penstock.server.runtime.worker import Worker, engine_of
from penstock.server.settings.settings import Settings
from penstock.server.telemetry.logs import configure

_ONCE_HELP = "Stop when no execution is ready."


def worker(
    *,
    once: Annotated[bool, Parameter(help=_ONCE_HELP)] = False,
    dask: Annotated[str | None, option("dask")] = None,
    options: StoreOptions = StoreOptions(),  # noqa: B008 - frozen
) -> None:
    """Run executions until a signal stops it (Ctrl-C, SIGTERM); start one worker for each core.

    A stopped worker leaves its execution to other workers. With `PENSTOCK_EXECUTION_WORKERS=0` the
    servers themselves run none.
    """
    settings = options.settings(dask=dask)
    configure(settings.log_format)
    with asyncio.Runner(loop_factory=new_event_loop) as loop:
        loop.run(_work(settings, once))


async def _work(settings: Settings, once: bool) -> None:
    engine = engine_of(settings)
    async with open_table(settings) as table, open_files(settings) as files:
        if problems := [*await table.verify(), *await files.verify()]:
            raise CommandFailed(*problems, code=ExitCode.STORE)
        store = store_over(table, settings, files)
        runner = store.runner(store.clock.new_id(), engine)
        working = Worker(runner, poll=settings.execution_poll_seconds, idle=0.0 if once else None)
        for name in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(name, working.stop)
        await (runner.run_all() if once else working.work())
