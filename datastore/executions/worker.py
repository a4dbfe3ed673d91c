"""Runs executions: claims those that are ready, keeps the claim while it works, survives faults."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from penstock.datastore.clock import Clock
from penstock.datastore.datasets.table_cache import DatasetTables
from penstock.datastore.errors import PenstockError, Unavailable
from penstock.datastore.executions.claims import ClaimLost, Claims, claimable, ended
from penstock.datastore.executions.files import all_keys, errors_key, output_key
from penstock.datastore.executions.queue import due
from penstock.datastore.executions.reading import find_execution
from penstock.datastore.executions.records import Execution, ExecutionRules, ExecutionState
from penstock.datastore.executions.row_engine import HERE, Engine
from penstock.datastore.executions.rows import Stage
from penstock.datastore.executions.run_one import Work
from penstock.datastore.objects.port import Files
from penstock.datastore.periodic import heed, stopped
from penstock.datastore.table.port import Table

UNFORESEEN: Final = "Something went wrong that should not; the log of the worker says what."
LONGEST_PAUSE: Final = timedelta(minutes=1)

logger = logging.getLogger("penstock.executions")


@dataclass(frozen=True, slots=True)
class Runner:
    """The executions of a store in the hands of one worker, who runs one after another.

    `worker` tells it from every other, in this process and elsewhere; `tables` are the datasets it
    has at hand, `engine` is where it has the rows worked on.
    """

    table: Table
    files: Files
    clock: Clock
    rules: ExecutionRules
    worker: str
    tables: DatasetTables
    engine: Engine = HERE

    async def run_all(self) -> int:
        """Run executions until none is ready; how many this worker held."""
        held = 0
        while await self.run_one():
            held += 1
        return held

    async def run_one(self) -> bool:
        """Run an execution that nobody holds; False where there is none."""
        now = self.clock.now()
        async for execution in due(self.table, Stage.READY):
            if not claimable(execution, now, self.rules):
                continue
            if held := await self._claims.take(execution, self.worker):
                await self.run(held)
                return True
        return False

    async def run(self, held: Execution) -> None:
        """Run a claimed execution to its end, or as far as the stores allow."""
        try:
            if held.attempts > self.rules.attempts:
                await self._fail(held, "ATTEMPTS_EXHAUSTED", "It was begun too often in vain.")
            else:
                await self._work(held)
        except ClaimLost as lost:
            logger.warning("the execution %s is no longer ours: %s", held.id, lost)
            await self._forget(held)
        except Unavailable as error:
            logger.warning("the execution %s waits: %s", held.id, error.message)
            await self._put_off(held)
        except asyncio.CancelledError:
            # Whatever comes of this, the cancellation must not be lost.
            with suppress(Exception):
                await self._claims.let_go(held, forgiven=True)
            raise
        except Exception:
            logger.exception("the execution %s failed", held.id)
            await self._give_up(held)

    async def _work(self, held: Execution) -> None:
        if held.attempts > 1:
            for key in (output_key(held), errors_key(held)):
                await self.files.drop_unfinished(key)
        work = Work(self.table, self.files, self.clock, self.rules, self.tables, self.engine, held)
        running = asyncio.create_task(work.run())
        beating = asyncio.create_task(self._beat(work))
        try:
            await asyncio.wait([running, beating], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await stopped([beating, running])
        if running.cancelled():
            await beating
        # What ended the work says more than what kept its signs of life from being heard.
        with suppress(asyncio.CancelledError):
            beating.exception()
        await running

    async def _beat(self, work: Work) -> None:
        """Give signs of life for as long as they are heard; raises ClaimLost.

        A store that does not answer for a while is no reason to stop: the fence tells in the end.
        """
        while True:
            await asyncio.sleep(self.rules.beat.total_seconds())
            try:
                await self._claims.beat(work.held, work.counts)
            except PenstockError as error:
                logger.warning("no sign of life for %s: %s", work.held.id, error.message)
                heed()

    async def _forget(self, lost: Execution) -> None:
        """Take away the files of an execution that is gone.

        Who removed it may have looked for them before this worker put its own in place.
        """
        with suppress(PenstockError):
            if await find_execution(self.table, lost.id) is None:
                for key in all_keys(lost):
                    await self.files.delete(key)

    async def _put_off(self, held: Execution) -> None:
        """Leave it for another attempt, later with each."""
        pause = min(timedelta(seconds=2**held.attempts), LONGEST_PAUSE)
        with suppress(PenstockError):  # then its time runs out
            await self._claims.let_go(held, pause)

    async def _give_up(self, held: Execution) -> None:
        with suppress(ClaimLost, PenstockError):
            await self._fail(held, "INTERNAL_ERROR", UNFORESEEN)

    async def _fail(self, held: Execution, code: str, message: str) -> None:
        over = ended(held, ExecutionState.FAILED, self.clock.now(), self.rules)
        await self._claims.end(held, replace(over, code=code, message=message))

    @property
    def _claims(self) -> Claims:
        return Claims(self.table, self.clock, self.rules)
