"""Cancel and retry of executions."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import TRANSITION_UNITS
from penstock.datastore.clock import iso_timestamp
from penstock.datastore.errors import IllegalState, Unavailable
from penstock.datastore.executions.access import (
    note_rights,
    require_control,
    require_open,
    require_reach,
)
from penstock.datastore.executions.claims.claims import with_end_state
from penstock.datastore.executions.create import admit_execution
from penstock.datastore.executions.files import (
    delete_copies,
    delete_lost_rows,
    delete_staged_files,
    delete_used_upload,
    end_upload,
    has_results,
    lost_keys,
    next_ingest,
    place_files,
    placed_keys,
    refuse_staged_uploads,
)
from penstock.datastore.executions.reading import ReadExecutions, VisibleExecution
from penstock.datastore.executions.records import (
    EventKind,
    Execution,
    ExecutionMode,
    ExecutionRules,
    ExecutionState,
)
from penstock.datastore.executions.revoked_pins import require_pins
from penstock.datastore.executions.rows import TransitionEvent, report_transition, transition_writes
from penstock.datastore.executions.upload_places import commit_with_place
from penstock.datastore.groups.states import require_enabled
from penstock.datastore.table.commit import Attempts, StaleRead, Write


@dataclass(frozen=True, slots=True)
class ChangeExecutions:
    """Changes of executions, for their creators and contributors at the pipeline's owner group.

    `on_ready` is called when an execution becomes ready.
    """

    access: Access
    rules: ExecutionRules
    on_ready: Callable[[], None]

    async def cancel(self, id: str) -> Execution:
        """Cancel an execution that is not over; its worker learns this at its next heartbeat.

        An execution that is cancelled already stays as it is. Raises IllegalState if it ended
        otherwise.
        """

        def cancel_execution(found: VisibleExecution) -> Execution:
            execution = found.execution
            if execution.state is ExecutionState.CANCELLED:
                return execution
            if execution.state.is_over:
                raise illegal_state_error(execution)
            if execution.state is ExecutionState.IN_PROGRESS:
                execution = place_files(execution)
            return with_end_state(
                execution, ExecutionState.CANCELLED, self.access.clock.now(), self.rules
            )

        cancelled = await self._change(
            id, EventKind.CANCELLED, cancel_execution, self._remove_counted_files
        )
        # Of what was cancelled, and not of what it may be by now: a retry has files of its own.
        await self._end_uploads(cancelled)
        if _awaits_upload(cancelled):
            await delete_copies(self.access.files, cancelled)
        await delete_staged_files(self.access.files, cancelled)
        if cancelled.fence and not has_results(cancelled):
            for key in placed_keys(cancelled):
                await self.access.files.delete(key)
            await delete_lost_rows(self.access.files, cancelled)
        return await self._read(id)

    async def _remove_counted_files(self, found: VisibleExecution) -> Sequence[Write]:
        """Remove what counts no more behind the write, when a process may die and leave it.

        An upload holds a place among the open ones, and results of earlier claims count.
        """
        execution = found.execution
        await self._end_uploads(execution)
        if execution.state is ExecutionState.IN_PROGRESS and has_results(execution):
            for key in lost_keys(execution):
                await self.access.files.delete(key)
        return ()

    async def _end_uploads(self, execution: Execution) -> None:
        """Let the forms of its input, and those of its claims, write nothing any more.

        What was sent for an input that is awaited goes.
        """
        files = self.access.files
        await refuse_staged_uploads(files, execution)
        await delete_used_upload(files, execution)
        if _awaits_upload(execution):
            await end_upload(files, execution)

    async def retry(self, id: str) -> Execution:
        """Restart a failed or cancelled execution with everything that was pinned.

        Without an input it waits for one, which takes a place of the caller's open uploads. Raises
        IllegalState in any other state, and if its pipeline or its group is not enabled,
        NotPermitted if something that was pinned has been revoked, and QuotaExceeded where no
        execution can begin.
        """

        def retry_execution(found: VisibleExecution) -> Execution:
            require_open(found.pipeline)
            if found.execution.state not in (ExecutionState.FAILED, ExecutionState.CANCELLED):
                raise illegal_state_error(found.execution)
            restarted = self._restarted_execution(found.execution, upload_until)
            if restarted.created_by != self.access.caller.user_id:
                return restarted
            return note_rights(restarted, self.access.caller, found.pipeline)

        upload_until = self.access.clock.now() + self.rules.upload_time
        found = await ReadExecutions(self.access).one(id)
        require_control(self.access.caller, found.pipeline, found.execution)
        await require_reach(self.access, found.pipeline, found.execution)
        await require_enabled(self.access, found.pipeline.owner)
        await require_pins(self.access, found.pipeline.owner, found.execution)
        await self._change(id, EventKind.RETRIED, retry_execution, self._admit)
        self.on_ready()
        return await self._read(id)

    async def _admit(self, found: VisibleExecution) -> Sequence[Write]:
        return await admit_execution(self.access, found.pipeline, found.execution)

    async def _change(
        self,
        id: str,
        event_kind: EventKind,
        change: Callable[[VisibleExecution], Execution],
        prepare: Callable[[VisibleExecution], Awaitable[Sequence[Write]]],
    ) -> Execution:
        """Write a change of the execution, each time with the writes that `prepare` returns.

        Returns the execution as it was written, which may be another one by now.
        """
        async for _ in Attempts():
            found = await ReadExecutions(self.access).one(id)
            require_control(self.access.caller, found.pipeline, found.execution)
            after = change(found)
            if after is found.execution:
                return after
            event = TransitionEvent(
                event_kind, self.access.caller.user_id, self.access.clock.timestamp()
            )
            try:
                prepared = await prepare(found)
                writes = [*transition_writes(found.execution, after, event), *prepared]
                await commit_with_place(self.access, found.pipeline.owner, after, writes)
            except StaleRead:
                continue
            self.access.work.owe(TRANSITION_UNITS)
            report_transition(self.rules, after, event)
            return after
        raise Unavailable("The execution is being written by many at once.")

    async def _read(self, id: str) -> Execution:
        return (await ReadExecutions(self.access).one(id)).execution

    def _restarted_execution(self, execution: Execution, upload_until: datetime) -> Execution:
        now = self.access.clock.now()
        awaited = execution.ready_at is None and execution.mode is ExecutionMode.JOB
        return msgspec.structs.replace(
            execution,
            state=ExecutionState.WAITING,
            ingest=next_ingest(execution) if awaited else execution.ingest,
            upload_until=iso_timestamp(upload_until) if awaited else None,
            started_at=None,
            claimed_at=None,
            heartbeat_at=None,
            finished_at=None,
            code=None,
            message=None,
            attempts=0,
            rows=0,
            succeeded=0,
            failed=0,
            bytes_read=0,
            bytes_written=0,
            due=int(now.timestamp() * 1000),
        )


def _awaits_upload(execution: Execution) -> bool:
    return execution.upload_until is not None and execution.ready_at is None


def illegal_state_error(execution: Execution) -> IllegalState:
    """The error for a transition that the current state of the execution does not allow."""
    return IllegalState(f"It is {execution.state.value}.", execution.state.name)
