"""The worker of executions: it claims those that are ready and renews each claim as it runs."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from penstock.datastore.access.work import FREE_WORK, WorkAccount
from penstock.datastore.background_tasks import retrieve_failure
from penstock.datastore.clock import Clock
from penstock.datastore.datasets.limits import LARGEST, CsvLimits
from penstock.datastore.datasets.table_cache import DatasetTables
from penstock.datastore.errors import PenstockError, RequestRefused, Unavailable
from penstock.datastore.executions.claims.claims import ClaimLost, Claims, with_end_state
from penstock.datastore.executions.claims.turns import KeptPlace, claimable_in_turn
from penstock.datastore.executions.failure_codes import FailureCode
from penstock.datastore.executions.files import (
    end_earlier_uploads,
    lost_keys,
    place_own_files,
    written_keys,
)
from penstock.datastore.executions.records import Execution, ExecutionRules, ExecutionState
from penstock.datastore.executions.removal import delete_orphaned_files
from penstock.datastore.executions.workers.late_files import delete_late_files
from penstock.datastore.executions.workers.row_engine import LOCAL_ENGINE, RowEngine
from penstock.datastore.executions.workers.run_one import ExecutionRunner
from penstock.datastore.executions.workers.write_dataset import DatasetOutput
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.part_files import PartFiles
from penstock.datastore.objects.port import Files
from penstock.datastore.periodic import cancel_tasks, check_cancelled
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.table.counters import SHARDS
from penstock.datastore.table.port import Table

STORE_FAILURES: Final = (PenstockError, RequestRefused)
REFUSED: Final = "AWS refused a request of the worker, whose log says which."
UNEXPECTED_FAILURE: Final = "An unexpected error occurred; see the log of the worker."
LONGEST_PAUSE: Final = timedelta(minutes=1)
MAX_REASON: Final = 500

logger = logging.getLogger("penstock.executions")


@dataclass(frozen=True, slots=True)
class ExecutionWorker:
    """A worker that runs the executions of a store, one after another.

    `worker` is an id that no other worker has, in this process or elsewhere. `tables` caches
    datasets; `engine` is what processes the rows. A worker with a `kept` place leaves the
    executions of busy callers to others. `work` pays for what only the time tells.
    """

    table: Table
    files: Files
    clock: Clock
    rules: ExecutionRules
    worker: str
    tables: DatasetTables
    engine: RowEngine = LOCAL_ENGINE
    kept: KeptPlace | None = None
    part_files: PartFiles = field(default_factory=lambda: PartFiles(RowsEngine()))
    quotas: Quotas = field(default_factory=Quotas)
    shards: int = SHARDS
    dataset_limits: CsvLimits = LARGEST
    work: WorkAccount = FREE_WORK

    async def run_all(self) -> int:
        """Run executions until none is ready; return the number of executions it claimed."""
        count = 0
        while await self.run_one():
            count += 1
        return count

    async def run_one(self) -> bool:
        """Run one execution that no worker holds; False if there is none."""
        now = self.clock.now()
        for execution in await claimable_in_turn(self.table, now, self.rules, self.kept):
            if claimed := await self._claims.claim(execution, self.worker):
                await self.run(claimed)
                return True
        return False

    async def run(self, claimed: Execution) -> None:
        """Run a claimed execution to its end, or until a store is not available."""
        try:
            if claimed.attempts > self.rules.max_attempts:
                with suppress(*STORE_FAILURES):
                    await end_earlier_uploads(self.files, claimed)
                words = "It was attempted too often without success."
                message = " ".join([words, *filter(None, [claimed.message])])
                await self._fail(claimed, FailureCode.ATTEMPTS_EXHAUSTED, message)
            else:
                # An external worker may have had it, and forms that are valid still.
                await end_earlier_uploads(self.files, claimed)
                await self._run_with_heartbeats(claimed)
        except ClaimLost as lost:
            logger.warning("the execution %s is no longer ours: %s", claimed.id, lost)
            self._claims.report_lost(claimed, lost.reason)
            await self._delete_orphaned_files(claimed)
            await self._delete_late_files(claimed)
        except Unavailable as error:
            logger.warning("the execution %s waits: %s", claimed.id, error.message)
            await self._release_with_delay(claimed, error.message)
            await self._delete_orphaned_files(claimed)
        except asyncio.CancelledError:
            # A failure to release the claim must not hide the cancellation.
            with suppress(Exception):
                await self._claims.release_claim(claimed, count_attempt=False)
            raise
        except Exception as error:
            logger.exception("the execution %s failed", claimed.id)
            if isinstance(error, RequestRefused) and not error.is_fault:
                # The operator may repair a permission or a key before the last attempt.
                await self._release_with_delay(claimed, REFUSED)
            else:
                await self._fail_unexpectedly(claimed)
            await self._delete_orphaned_files(claimed)

    async def _run_with_heartbeats(self, claimed: Execution) -> None:
        if claimed.attempts > 1:
            for key in (*lost_keys(claimed), *written_keys(place_own_files(claimed))):
                await self.files.drop_unfinished(key)
        work = ExecutionRunner(
            self.table,
            self.files,
            self.clock,
            self.rules,
            self.tables,
            self.engine,
            place_own_files(claimed),
            DatasetOutput(
                self.table, self.files, self.clock, self.quotas, self.shards, self.dataset_limits
            ),
            self.part_files,
            self.work,
        )
        running = asyncio.create_task(work.run())
        beating = asyncio.create_task(self._send_heartbeats(work))
        for task in (running, beating):
            task.add_done_callback(retrieve_failure)
        try:
            await asyncio.wait([running, beating], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_tasks([beating, running])
        if running.cancelled():
            await beating
        # The failure of the work says more than a failure of the heartbeats.
        await running

    async def _send_heartbeats(self, work: ExecutionRunner) -> None:
        """Send heartbeats until they are refused; raises ClaimLost.

        If the store is not available for a while, the work goes on: the fence decides at the next
        write.
        """
        while True:
            await asyncio.sleep(self.rules.heartbeat.total_seconds())
            try:
                await self._claims.send_heartbeat(work.execution, work.counts)
            except STORE_FAILURES as error:
                logger.warning("no sign of life for %s: %s", work.execution.id, error.message)
                check_cancelled()

    async def _delete_orphaned_files(self, ended: Execution) -> None:
        with suppress(*STORE_FAILURES):
            await delete_orphaned_files(self.table, self.files, ended)

    async def _delete_late_files(self, claimed: Execution) -> None:
        """Delete what was written for a claim that was lost to another one or a cancellation."""
        with suppress(*STORE_FAILURES):
            await delete_late_files(self.table, self.files, place_own_files(claimed))

    async def _delete_files_of(self, claimed: Execution) -> None:
        """Delete what was written for a claim; what stays goes with the next, or the execution."""
        with suppress(*STORE_FAILURES):
            for key in written_keys(place_own_files(claimed)):
                await self.files.delete(key)

    async def _release_with_delay(self, claimed: Execution, reason: str) -> None:
        """Release the claim with a delay that doubles with each attempt, and say why it waits."""
        pause = min(timedelta(seconds=2**claimed.attempts), LONGEST_PAUSE)
        with suppress(*STORE_FAILURES):  # The claim then expires by itself.
            reason = f"The last attempt failed: {reason[:MAX_REASON]}"
            await self._claims.release_claim(claimed, pause, reason=reason)

    async def _fail_unexpectedly(self, claimed: Execution) -> None:
        with suppress(ClaimLost, *STORE_FAILURES):
            await self._fail(claimed, FailureCode.INTERNAL_ERROR, UNEXPECTED_FAILURE)

    async def _fail(self, claimed: Execution, code: str, message: str) -> None:
        placed = place_own_files(claimed)
        ended = with_end_state(placed, ExecutionState.FAILED, self.clock.now(), self.rules)
        await self._claims.end(claimed, replace(ended, code=code, message=message))
        await self._delete_files_of(claimed)

    @property
    def _claims(self) -> Claims:
        return Claims(self.table, self.clock, self.rules)
