"""Starts the processes that serve a port together, watches them, and replaces dead ones."""

import asyncio
import logging
import os
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import msgspec

from penstock.datastore.background_tasks import start_task
from penstock.datastore.periodic import cancel_tasks
from penstock.server.core.command_output import CommandFailed, ExitCode
from penstock.server.core.siblings import ServerProcessConfig, Siblings
from penstock.server.runtime.child_process import as_first_line, settings_for_process, start_process
from penstock.server.runtime.listeners import Listeners
from penstock.server.settings.settings import Settings

PAUSE_SECONDS: Final = 1.0
"""The pause between the end of a process and the start of its replacement."""

GRACE_SECONDS: Final = 5.0
"""The extra time of a process beyond its own shutdown time."""

logger = logging.getLogger("penstock.processes")


@asynccontextmanager
async def supervise_processes(
    settings: Settings, listeners: Listeners
) -> AsyncIterator["Supervisor"]:
    """Yield a supervisor of `settings.workers` processes, which are gone at the end.

    Raises CommandFailed if the system has no shared memory files.
    """
    if not hasattr(os, "memfd_create"):
        raise CommandFailed("Several processes can serve one port on Linux only.")
    siblings = Siblings.create(settings.workers)
    supervisor = Supervisor(settings, listeners, siblings)
    try:
        yield supervisor
    finally:
        await supervisor.stop()
        os.close(siblings.rates)


class Supervisor:
    """Owns the ports and the processes that serve them."""

    def __init__(self, settings: Settings, listeners: Listeners, siblings: Siblings) -> None:
        self._settings = settings
        self._listeners = listeners
        self._siblings = siblings
        self._processes: dict[int, Process] = {}

    async def start(self) -> None:
        """Start all processes; raises CommandFailed if one ends before it serves."""
        await asyncio.gather(*(self._start(index) for index in range(self._siblings.count)))

    async def run(self) -> None:
        """Watch the processes until the task is cancelled."""
        watching = [
            start_task(self._watch(index), logger, "a process of the server is not replaced")
            for index in self._processes
        ]
        try:
            await asyncio.wait(watching)
        finally:
            await cancel_tasks(watching)

    async def stop(self) -> None:
        """Stop all processes, and kill those that take too long."""
        processes = list(self._processes.values())
        for process in processes:
            if process.stdin is not None:
                process.stdin.close()
        patience = self._settings.shutdown_seconds + GRACE_SECONDS
        waiting = [asyncio.create_task(process.wait()) for process in processes]
        try:
            if waiting:
                await asyncio.wait(waiting, timeout=patience)
        finally:
            # A second signal ends the wait.
            for process in processes:
                with suppress(ProcessLookupError):
                    process.kill()
            await asyncio.gather(*waiting)

    async def _watch(self, index: int) -> None:
        while True:
            code = await self._processes[index].wait()
            logger.error("process %d of the server ended (%d) and is replaced", index, code)
            await asyncio.sleep(PAUSE_SECONDS)
            try:
                await self._start(index)
            except CommandFailed:
                pass  # It has said why itself.
            except OSError as error:
                logger.error("process %d of the server cannot be started yet: %s", index, error)

    async def _start(self, index: int) -> None:
        siblings = msgspec.structs.replace(self._siblings, index=index)
        share = siblings.share_of(self._settings.execution_workers)
        settings = settings_for_process(self._settings, execution_workers=share)
        listeners = self._listeners.files
        process = await start_process(
            "penstock.server.runtime.server_process",
            as_first_line(ServerProcessConfig(settings, siblings, listeners)),
            answers=True,
            files=(*listeners, siblings.rates),
        )
        self._processes[index] = process
        if process.stdout is None or not await process.stdout.readline():
            code = await process.wait()
            raise CommandFailed(
                f"Process {index} of the server did not start.",
                code=ExitCode(code) if code in {*ExitCode} else ExitCode.FAILED,
            )
