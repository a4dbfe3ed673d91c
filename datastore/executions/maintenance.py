"""Maintenance of executions: find uploads, fail executions without input, remove old ones.

Any process may do it at any time.
"""

from asyncio import Semaphore, gather
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.executions.claims.claims import with_end_state
from penstock.datastore.executions.claims.queue import due_executions
from penstock.datastore.executions.failure_codes import FailureCode
from penstock.datastore.executions.files import delete_copies, end_upload, ingest_key, input_key
from penstock.datastore.executions.records import (
    EventKind,
    Execution,
    ExecutionMode,
    ExecutionRules,
    ExecutionState,
)
from penstock.datastore.executions.removal import ExecutionRemoval
from penstock.datastore.executions.revoked_pins import has_revoked_pins
from penstock.datastore.executions.rows import (
    DueStage,
    TransitionEvent,
    report_transition,
    transition_writes,
)
from penstock.datastore.executions.start import make_ready
from penstock.datastore.executions.unattended_starts import needs_starter
from penstock.datastore.executions.upload_places import awaits_upload
from penstock.datastore.groups.states import find_disabled
from penstock.datastore.objects.port import Files
from penstock.datastore.periodic import finish_all
from penstock.datastore.table.commit import StaleRead, commit

PLACES: Final = 8
"""The uploads that are checked at the same time."""

SYSTEM_USER: Final = "penstock"
UPLOAD_GRACE: Final = timedelta(minutes=10)
"""The extra time for an upload that began in time, and for a request to store its rows."""


class _Reason(NamedTuple):
    """The reason why an execution did not begin."""

    code: str
    message: str


_NO_INPUT: Final = _Reason(FailureCode.NO_INPUT, "No input was uploaded in time.")
_ROWS_LOST: Final = _Reason(
    FailureCode.ROWS_NOT_STORED,
    "The server stopped before it had stored the rows of the request, so nothing ran. Create it "
    "again: the same idempotency key then runs this execution.",
)
_NOT_STARTED: Final = _Reason(
    FailureCode.NOT_STARTED, "Its input was uploaded, but nobody who may start it did so in time."
)


@dataclass(frozen=True, slots=True)
class ExecutionMaintenance:
    """One pass of the maintenance of executions."""

    access: Access
    rules: ExecutionRules
    files: Files

    async def find_uploads(self) -> int:
        """Make executions ready whose input is stored, and fail those that waited too long.

        Those that write rows, and those of creators who may run the pipeline no more, wait for a
        caller who may. Returns the number of inputs found. It asks for the file of each execution
        that waits for one.
        """
        places = Semaphore(PLACES)

        async def take_turn(execution: Execution) -> bool:
            async with places:
                return await self._check_upload(execution)

        waiting = [one async for one in due_executions(self.access.table, DueStage.UPLOAD)]
        # A copy of a large upload, or one that fails, holds up no other.
        found = await gather(*map(take_turn, waiting), return_exceptions=True)
        for failure in found:
            if isinstance(failure, BaseException):
                raise failure
        return found.count(True)

    async def remove_obsolete(self) -> int:
        """Remove expired executions, and those of deleted pipelines; return their number."""
        return await finish_all([self._removal.remove_expired, self._removal.remove_orphans])

    @property
    def _removal(self) -> ExecutionRemoval:
        return ExecutionRemoval(self.access.table, self.files, self.access.clock)

    async def _check_upload(self, execution: Execution) -> bool:
        """Do what is due for an execution that waits for its input; tell whether it came."""
        if execution.deleted_at is not None:
            await self._removal.remove(execution)
            return False
        if execution.mode is ExecutionMode.INLINE:
            return self._is_late(execution) and await self._take_over_rows(execution)
        is_uploaded = await self._is_uploaded(execution)
        waits = is_uploaded and await self._waits_for_starter(execution)
        if is_uploaded and not waits and await self._make_ready(execution):
            return True
        if self._is_late(execution):
            # A retry has another form, so what nobody started would count nowhere from then on.
            await end_upload(self.files, execution)
            if await self._fail(execution, _NOT_STARTED if waits else _NO_INPUT):
                # A start that was killed may have left one; a retry has others.
                await delete_copies(self.files, execution)
        return False

    async def _take_over_rows(self, execution: Execution) -> bool:
        """Leave to workers an execution of rows of a request whose server is gone.

        Its creator has started it. Without the rows it fails; returns whether they are stored.
        """
        stat = await self.files.stat(input_key(execution))
        if stat is None:
            await self._fail(execution, _ROWS_LOST)
            return False
        now = self.access.clock.timestamp()
        ready = msgspec.structs.replace(execution, ready_at=now, bytes_total=stat.size)
        event = TransitionEvent(EventKind.UPLOADED, execution.created_by, now)
        try:
            await commit(self.access.table, transition_writes(execution, ready, event))
        except StaleRead:
            return False
        return True

    async def _is_uploaded(self, execution: Execution) -> bool:
        if not awaits_upload(execution):
            return False
        return await self.files.stat(ingest_key(execution)) is not None

    async def _waits_for_starter(self, execution: Execution) -> bool:
        """Whether only a caller may start the execution, or nobody.

        Nobody may in a disabled group, or where it uses what was revoked.
        """
        if await needs_starter(self.access, execution):
            return True
        owner = execution.owner
        if owner is None:
            return False
        is_disabled = await find_disabled(self.access, owner) is not None
        return is_disabled or await has_revoked_pins(self.access, owner, execution)

    async def _make_ready(self, execution: Execution) -> bool:
        return await make_ready(self.access, self.files, execution, SYSTEM_USER) is not None

    def _is_late(self, execution: Execution) -> bool:
        # Rows of a request are due since its creation, or since it was started again.
        since = iso_timestamp(datetime.fromtimestamp(execution.due / 1000, UTC))
        until = execution.upload_until or since
        return until < iso_timestamp(self.access.clock.now() - UPLOAD_GRACE)

    async def _fail(self, execution: Execution, reason: _Reason) -> bool:
        """Fail an execution; False if it was written meanwhile."""
        now = self.access.clock.now()
        failed = msgspec.structs.replace(
            with_end_state(execution, ExecutionState.FAILED, now, self.rules),
            code=reason.code,
            message=reason.message,
        )
        event = TransitionEvent(EventKind.FAILED, SYSTEM_USER, iso_timestamp(now))
        try:
            await commit(self.access.table, transition_writes(execution, failed, event))
        except StaleRead:
            return False
        report_transition(self.rules, failed, event)
        return True
