"""The lease of a worker on a job: while it is renewed, no other worker takes the job."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NoReturn

from msgspec.structs import asdict

from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.errors import FieldProblem
from penstock.datastore.jobs.jobs import Job, JobState
from penstock.datastore.jobs.rows import HOLD_ATTRIBUTES, ending_updates
from penstock.datastore.table.commit import Write
from penstock.datastore.table.items import load
from penstock.datastore.table.layout import JOB
from penstock.datastore.table.port import (
    INDEX_HASH,
    AllOf,
    AnyOf,
    Compare,
    ConditionFailed,
    Exists,
    Item,
    Missing,
    Table,
    Update,
    Value,
)

LEASE_TIME: Final = timedelta(seconds=30)
NOTE_INTERVAL: Final = timedelta(seconds=1)


class JobLeaseLost(Exception):
    """The lease expired, and another worker took the job."""


class JobPaused(Exception):
    """The job used up its share of time and continues after other jobs had theirs."""


@dataclass(slots=True)
class JobLease:
    """A worker's lease of a job; `done` counts the finished steps out of `total`.

    The progress is written to the row about once a second, which also renews the lease. Every
    method raises JobLeaseLost if another worker has the job by now.
    """

    table: Table
    clock: Clock
    worker: str
    job: Job
    done: int
    total: int | None
    noted_at: datetime
    cursor: str | None = None
    is_over: bool = False

    @property
    def is_first(self) -> bool:
        """Whether no worker had the job before; asked before any progress is written."""
        return self.job.started_at == iso_timestamp(self.noted_at)

    async def set_steps_left(self, left: int) -> None:
        """Set the number of steps that are left; the first call also sets the total."""
        self.total = left if self.total is None else self.total
        self.done = max(self.total - left, 0)
        await self._write_progress()

    async def advance(self, steps: int = 0, cursor: str | None = None) -> None:
        """Count finished steps, and remember the cursor if there is one."""
        self.done += steps
        self.cursor = cursor or self.cursor
        if self.clock.now() - self.noted_at >= NOTE_INTERVAL:
            await self._write_progress()

    async def pause(self) -> NoReturn:
        """Give the job back to the workers; always raises JobPaused."""
        await self._write_progress()
        await release_job(self.table, self.worker, self.job.id)
        raise JobPaused

    async def finish(
        self, state: JobState, message: str | None = None, problems: Sequence[FieldProblem] = ()
    ) -> None:
        """End the job, unless a transaction of its work has ended it."""
        if not self.is_over:
            await self._send(self._ending_updates(state, message, problems))

    def done_writes(self) -> list[Write]:
        """The writes that end the job together with what it made; then `is_over` is to be set."""
        return [Write(update, _lost_lease) for update in self._ending_updates(JobState.DONE)]

    def _ending_updates(
        self, state: JobState, message: str | None = None, problems: Sequence[FieldProblem] = ()
    ) -> list[Update]:
        """The updates that end the job.

        A job that succeeded has done all its steps, whichever worker did them.
        """
        now = self.clock.now()
        ended: dict[str, Value] = {
            "state": state.value,
            "done": self.total if state is JobState.DONE and self.total else self.done,
        }
        if message is not None:
            ended["message"] = message
        if problems:
            ended["problems"] = [_problem_item(problem) for problem in problems]
        update = Update(key=JOB.key(id=self.job.id), set=ended, condition=self._is_ours)
        return ending_updates(self.job, update, now)

    async def _write_progress(self) -> None:
        now = self.clock.now()
        found: dict[str, Value] = {
            "done": self.done,
            "heldUntil": iso_timestamp(now + LEASE_TIME),
        }
        known = {"total": self.total, "cursor": self.cursor}
        found |= {name: value for name, value in known.items() if value is not None}
        key = JOB.key(id=self.job.id)
        await self._send([Update(key=key, set=found, condition=self._is_ours)])
        self.noted_at = now

    @property
    def _is_ours(self) -> Compare:
        return Compare("worker", "=", self.worker)

    async def _send(self, updates: Sequence[Update]) -> None:
        try:
            await self.table.transact(updates)
        except ConditionFailed as failed:
            raise JobLeaseLost from failed


def _lost_lease(_standing: Item | None) -> Exception:
    return JobLeaseLost()


def _problem_item(problem: FieldProblem) -> dict[str, Value]:
    return {name: value for name, value in asdict(problem).items() if value is not None}


async def take_job(table: Table, clock: Clock, worker: str, id: str) -> JobLease | None:
    """Take a job that no other worker holds; None if a worker holds it or if it is over."""
    now = clock.now()
    key = JOB.key(id=id)
    ours, over = Compare("worker", "=", worker), Compare("heldUntil", "<", iso_timestamp(now))
    taken = Update(
        key=key,
        set={
            "state": JobState.RUNNING.value,
            "worker": worker,
            "heldUntil": iso_timestamp(now + LEASE_TIME),
        },
        default={"startedAt": iso_timestamp(now)},
        condition=AllOf((Exists(INDEX_HASH), AnyOf((Missing("worker"), ours, over)))),
    )
    try:
        await table.transact([taken])
    except ConditionFailed:
        return None
    job = load(Job, (await table.get([key], consistent=True)).items[key], id=id)
    return JobLease(table, clock, worker, job, job.done, job.total, now, job.cursor)


async def release_job(table: Table, worker: str, id: str) -> None:
    """Give up the worker's lease of a job, so that any worker can take it at once."""
    ours = Compare("worker", "=", worker)
    with suppress(ConditionFailed):
        await table.transact([Update(key=JOB.key(id=id), remove=HOLD_ATTRIBUTES, condition=ours)])
