"""Maintenance of executions: find uploads, fail executions without input, remove old ones.

Any process may do it at any time.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.clock import canonical
from penstock.datastore.executions.claims import ended
from penstock.datastore.executions.files import ingest_key
from penstock.datastore.executions.queue import due
from penstock.datastore.executions.records import (
    Execution,
    ExecutionRules,
    ExecutionState,
    Happening,
)
from penstock.datastore.executions.removal import Removal
from penstock.datastore.executions.rows import Stage, Told, transition
from penstock.datastore.executions.uploads import awaits_upload, uploaded
from penstock.datastore.objects.port import Files
from penstock.datastore.table.transaction import Moved, commit

SYSTEM: Final = "penstock"
GRACE: Final = timedelta(minutes=10)
"""The extra time for an upload that began in time, and for a request to store its rows."""


@dataclass(frozen=True, slots=True)
class Sweeping:
    """One pass of the maintenance of executions."""

    access: Access
    rules: ExecutionRules
    files: Files

    async def look_for_uploads(self) -> int:
        """Make executions ready whose input was uploaded, and fail those that waited too long.

        Returns the number of uploads found. It asks for the file of each execution that waits for
        one.
        """
        found = 0
        async for execution in due(self.access.table, Stage.UPLOAD):
            if execution.deleted_at is not None:
                await self._removal.remove(execution)
            elif await self._is_uploaded(execution):
                found += 1
            elif self._is_late(execution):
                await self._give_up(execution)
        return found

    async def clear(self) -> int:
        """Remove expired executions, and those of deleted pipelines; return their number."""
        removal = self._removal
        return await removal.expire() + await removal.bury()

    @property
    def _removal(self) -> Removal:
        return Removal(self.access.table, self.files, self.access.clock)

    async def _is_uploaded(self, execution: Execution) -> bool:
        if not awaits_upload(execution):
            return False
        stat = await self.files.stat(ingest_key(execution))
        if stat is None:
            return False
        await uploaded(self.access, execution, stat, SYSTEM)
        return True

    def _is_late(self, execution: Execution) -> bool:
        until = execution.upload_until or execution.created_at
        return until < canonical(self.access.clock.now() - GRACE)

    async def _give_up(self, execution: Execution) -> None:
        now = self.access.clock.now()
        failed = msgspec.structs.replace(
            ended(execution, ExecutionState.FAILED, now, self.rules),
            code="NO_INPUT",
            message="No input was uploaded in time.",
        )
        told = Told(Happening.FAILED, SYSTEM, canonical(now))
        try:
            await commit(self.access.table, transition(execution, failed, told))
        except Moved:
            return
