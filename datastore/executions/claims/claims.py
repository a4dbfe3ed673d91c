"""Claims of workers on executions: taken, renewed and ended by conditional writes.

Every claim has a number, the fence, which only grows. A worker that was believed dead finds a
higher fence, and all its later writes are refused.
"""

from collections.abc import Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.executions.claims.queue import due_executions, sample_queue
from penstock.datastore.executions.reading import find_execution
from penstock.datastore.executions.records import (
    EventKind,
    Execution,
    ExecutionRules,
    ExecutionState,
)
from penstock.datastore.executions.rows import (
    DueStage,
    TransitionEvent,
    TransitionGuard,
    execution_of,
    execution_report,
    key_of_execution,
    report_transition,
    transition_writes,
    with_counted_files,
)
from penstock.datastore.kept_rows.part_list import RowsMoved, add_parts, read_head
from penstock.datastore.kept_rows.records import RowsPart
from penstock.datastore.table.commit import StaleRead, Write, commit
from penstock.datastore.table.layout import EXECUTION_RESULT
from penstock.datastore.table.port import (
    AllOf,
    Compare,
    Condition,
    ConditionFailed,
    Item,
    Put,
    Table,
    Update,
    Value,
)
from penstock.datastore.work_reports import ExecutionChange, LostClaim
from penstock.transform.outcome import RowCounts

STUCK_AFTER: Final = timedelta(minutes=5)
TICK: Final = timedelta(milliseconds=1)
NEVER: Final = 9_999_999_999_999
"""The due time, in epoch milliseconds, of executions that are kept as long as their rows."""

UNKNOWN_COUNTS: Final = RowCounts(-1, -1, -1, -1, -1)


class ClaimLost(Exception):
    """The worker lost the execution; `state` is its present state, None if it was removed."""

    def __init__(self, state: ExecutionState | None) -> None:
        super().__init__("gone" if state is None else state.value)
        self.state = state

    @property
    def reason(self) -> LostClaim:
        match self.state:
            case None:
                return LostClaim.REMOVED
            case ExecutionState.CANCELLED:
                return LostClaim.CANCELLED
            case _:
                return LostClaim.TAKEN_OVER


def is_claimable(execution: Execution, now: datetime, rules: ExecutionRules) -> bool:
    """Whether a worker may claim it: it is ready, or its worker sent no heartbeat for too long."""
    if execution.deleted_at is not None:
        return False
    match execution.state:
        case ExecutionState.WAITING:
            return execution.ready_at is not None
        case ExecutionState.IN_PROGRESS:
            return (execution.held_until or "") < iso_timestamp(now - rules.clock_skew)
        case _:
            return False


class ExecutionQueue(NamedTuple):
    """The executions that wait for a worker, at most `COUNTED`, and those that have one.

    `age` are the seconds for which the oldest has waited, 0 if none waits.
    """

    waiting: int
    running: int
    age: float


@dataclass(frozen=True, slots=True)
class Claims:
    """The writes of workers to executions."""

    table: Table
    clock: Clock
    rules: ExecutionRules

    async def claim(self, execution: Execution, worker: str) -> Execution | None:
        """Claim an execution in the state in which it was read; None if another write was first."""
        if not is_claimable(execution, self.clock.now(), self.rules):
            return None
        return await self._write_claim(execution, execution, worker)

    async def claim_inline(
        self, execution: Execution, worker: str, bytes_total: int
    ) -> Execution | None:
        """Claim an execution whose rows were just stored, before other workers can find it."""
        ready_at = self.clock.timestamp()
        ready = msgspec.structs.replace(execution, ready_at=ready_at, bytes_total=bytes_total)
        return await self._write_claim(execution, ready, worker)

    async def _write_claim(
        self, before: Execution, execution: Execution, worker: str
    ) -> Execution | None:
        now = self.clock.now()
        held_until = iso_timestamp(now + self.rules.lease)
        claimed = msgspec.structs.replace(
            execution,
            state=ExecutionState.IN_PROGRESS,
            started_at=execution.started_at or iso_timestamp(now),
            fence=execution.fence + 1,
            attempts=execution.attempts + 1,
            worker=worker,
            claimed_at=iso_timestamp(now),
            held_until=held_until,
            heartbeat_at=iso_timestamp(now),
            listed=execution.owner is not None,
            rejections=None,
        )
        claimed = with_counted_files(with_counts(claimed, RowCounts()))
        waited = execution.state is ExecutionState.WAITING
        event_kind = EventKind.CLAIMED if waited else EventKind.TAKEN_OVER
        event = TransitionEvent(event_kind, worker, iso_timestamp(now))
        # A slow worker may have sent a heartbeat since the read.
        guard = (
            None
            if waited
            else TransitionGuard(Compare("heldUntil", "=", execution.held_until or ""))
        )
        try:
            await commit(self.table, transition_writes(before, claimed, event, guard))
        except StaleRead:
            return None
        report_transition(self.rules, claimed, event)
        return msgspec.structs.replace(claimed, events=execution.events + 1)

    async def send_heartbeat(self, claimed: Execution, counts: RowCounts) -> None:
        """Send a heartbeat with the progress; raises ClaimLost."""
        now = self.clock.now()
        lease = {"heldUntil": iso_timestamp(now + self.rules.lease), "toldAt": iso_timestamp(now)}
        heartbeat_update = Update(
            key=key_of_execution(claimed.id),
            set={**lease, **_progress_attributes(counts)},
            add={"revision": 1},
            condition=_still_held(claimed),
        )
        try:
            await self.table.transact([heartbeat_update])
        except ConditionFailed as failed:
            raise _claim_lost_error(failed.failed[0].item) from None

    async def end(
        self,
        claimed: Execution,
        ended: Execution,
        parts: Sequence[RowsPart] = (),
        checked_commits: int | None = None,
    ) -> None:
        """Write the final state of the execution, and add its parts of kept rows.

        Raises ClaimLost, and RowsMoved if another part comes first, or came after the commits
        among which the part was checked.
        """
        added: Sequence[Write] = ()
        if parts:
            head = await read_head(self.table, ended.pipeline_id)
            if checked_commits not in (None, head.commits):
                raise RowsMoved
            numbered, added = add_parts(ended.pipeline_id, head, parts)
            first = numbered[0].commit if len(numbered) > 1 else None
            ended = msgspec.structs.replace(
                ended, rows_first=first, rows_commit=numbered[-1].commit, due=NEVER
            )
        try:
            await commit(self.table, [*self.end_writes(claimed, ended), *added])
        except StaleRead:
            found = await find_execution(self.table, claimed.id)
            raise ClaimLost(found.state if found else None) from None
        self.report_end(claimed, ended)

    def end_writes(self, claimed: Execution, ended: Execution) -> list[Write]:
        """The writes of the final state; they raise ClaimLost if the claim is lost."""
        # Heartbeats may have changed the counts meanwhile, and a runner knows its input better than
        # the table; all final counts are written, and the place of the files is written only here.
        before = msgspec.structs.replace(
            with_counts(claimed, UNKNOWN_COUNTS), result_bytes=-1, table_bytes=-1, placed=None
        )
        guard = TransitionGuard(_still_held(claimed), _claim_lost_error)
        writes = transition_writes(before, ended, self._end_event(claimed, ended), guard)
        if ended.state is ExecutionState.SUCCESS and ended.digest is not None:
            row = EXECUTION_RESULT.item(id=ended.pipeline_id, digest=ended.digest)
            writes.append(Write(Put({**row, "execution": ended.id})))
        return writes

    def report_end(self, claimed: Execution, ended: Execution) -> None:
        """Report that the final state was written."""
        report_transition(self.rules, ended, self._end_event(claimed, ended))

    def _end_event(self, claimed: Execution, ended: Execution) -> TransitionEvent:
        kind = EventKind.SUCCEEDED if ended.state is ExecutionState.SUCCESS else EventKind.FAILED
        return TransitionEvent(kind, claimed.worker or "", ended.finished_at or "")

    async def release_claim(
        self,
        claimed: Execution,
        delay: timedelta = timedelta(0),
        *,
        reason: str | None = None,
        count_attempt: bool = True,
    ) -> None:
        """Release the claim, if it is still held; others may claim it after the delay.

        The execution keeps the reason as its message. Without `count_attempt` the claim does not
        count as one of the attempts.
        """
        until = iso_timestamp(self.clock.now() - self.rules.clock_skew + delay - TICK)
        release_update = Update(
            key=key_of_execution(claimed.id),
            set={"heldUntil": until, **({} if reason is None else {"message": reason})},
            add={"revision": 1, **({} if count_attempt else {"attempts": -1})},
            condition=_still_held(claimed),
        )
        with suppress(ConditionFailed):
            await self.table.transact([release_update])

    async def count_ready(self, most: int) -> int:
        """Count the executions that can be claimed now, up to `most`."""
        now, found = self.clock.now(), 0
        async for one in due_executions(self.table, DueStage.READY):
            found += is_claimable(one, now, self.rules)
            if found >= most:
                break
        return found

    async def read_queue(self) -> ExecutionQueue:
        """Read the length and the age of the queue, from a sample of bounded cost.

        An execution whose claim ran out waits since its last heartbeat. If all of the sample have
        workers, the age is that of the youngest of them, the most that the others can have.
        """
        sample, now = await sample_queue(self.table), self.clock.now()
        waiting = [one for one in sample.sampled if is_claimable(one, now, self.rules)]
        running = sum(one.state is ExecutionState.IN_PROGRESS for one in sample.sampled)
        running -= sum(one.state is ExecutionState.IN_PROGRESS for one in waiting)
        since = [datetime.fromisoformat(_waits_since(one)).timestamp() for one in waiting]
        length = max(0, sample.rows - running)
        if length and not since:
            since = [sample.sampled_until / 1000]
        age = max(0.0, now.timestamp() - min(since)) if since else 0.0
        return ExecutionQueue(length, running, age)

    async def stuck_ids(self) -> list[str]:
        """The ids of executions that could have been claimed five minutes ago and were not."""
        long_ago = self.clock.now() - STUCK_AFTER
        return [
            one.id
            async for one in due_executions(self.table, DueStage.READY)
            if is_claimable(one, long_ago, self.rules)
            and (one.ready_at or one.created_at) < iso_timestamp(long_ago)
        ]

    async def count_held(self, workers: Set[str]) -> int:
        """Count the executions that one of the workers holds."""
        return sum(
            [one.worker in workers async for one in due_executions(self.table, DueStage.READY)]
        )

    async def release_worker(self, worker: str) -> int:
        """Release every claim of a dead worker; return their number."""
        held = [
            one
            async for one in due_executions(self.table, DueStage.READY)
            if one.worker == worker and one.state is ExecutionState.IN_PROGRESS
        ]
        for one in held:
            await self.release_claim(one)
            self.report_lost(one, LostClaim.WORKER_DIED)
        return len(held)

    def report_lost(self, claimed: Execution, reason: LostClaim) -> None:
        """Report that the claim is lost."""
        now = self.clock.timestamp()
        self.rules.watch(execution_report(claimed, ExecutionChange.CLAIM_LOST, now, reason.value))


def _waits_since(execution: Execution) -> str:
    if execution.state is ExecutionState.WAITING:
        return execution.ready_at or execution.created_at
    return execution.heartbeat_at or execution.claimed_at or execution.created_at


def with_end_state(
    execution: Execution, state: ExecutionState, now: datetime, rules: ExecutionRules
) -> Execution:
    """The execution in its final state, to be kept for the configured time."""
    return msgspec.structs.replace(
        execution,
        state=state,
        message=None,
        finished_at=iso_timestamp(now),
        worker=None,
        held_until=None,
        due=int((now + rules.retention).timestamp() * 1000),
    )


def with_counts(execution: Execution, counts: RowCounts) -> Execution:
    """The execution with these progress counts."""
    return msgspec.structs.replace(execution, **msgspec.structs.asdict(counts))


def _progress_attributes(counts: RowCounts) -> dict[str, Value]:
    return {
        "rows": counts.rows,
        "succeeded": counts.succeeded,
        "failed": counts.failed,
        "bytesRead": counts.bytes_read,
        "bytesWritten": counts.bytes_written,
    }


def _still_held(claimed: Execution) -> Condition:
    return AllOf(
        (
            Compare("fence", "=", claimed.fence),
            Compare("state", "=", ExecutionState.IN_PROGRESS.value),
        )
    )


def _claim_lost_error(standing: Item | None) -> ClaimLost:
    return ClaimLost(None if standing is None else execution_of(standing).state)
