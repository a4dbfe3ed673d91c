"""What a worker does: it runs what is ready, and waits for more."""

import asyncio
import logging
from contextlib import suppress

from penstock.datastore.errors import PenstockError
from penstock.datastore.executions.running import Runner
from penstock.datastore.repeating import heed, stopped

logger = logging.getLogger("penstock.executions")


class Worker:
    """One runner that goes on until it is told to stop, or has been idle for too long.

    It looks for work every `poll` seconds, and at once when it is woken. Without `idle` seconds it
    never gives up.
    """

    def __init__(self, runner: Runner, *, poll: float, idle: float | None = None) -> None:
        self._runner = runner
        self._poll = poll
        self._idle = idle
        self._woken = asyncio.Event()
        self._stopping = asyncio.Event()

    def wake(self) -> None:
        """Look for work now."""
        self._woken.set()

    def stop(self) -> None:
        """Leave what is being run to others, and end."""
        self._stopping.set()

    async def work(self) -> None:
        working = asyncio.create_task(self._work())
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
        await stopped([working, stopping])
        if not working.cancelled():
            await working

    async def _work(self) -> None:
        clock = asyncio.get_running_loop().time
        busy = clock()
        while self._idle is None or clock() - busy < self._idle:
            heed()
            self._woken.clear()
            if await self._run():
                busy = clock()
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), self._poll)

    async def _run(self) -> bool:
        """Run one execution; False where none is ready, or the store does not answer."""
        try:
            return await self._runner.run_one()
        except PenstockError as error:
            logger.warning("no execution could be run: %s", error.message)
        return False
