"""The worker of jobs: it takes each job that no other worker holds and runs it."""

import logging
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.errors import (
    ErrorCode,
    ExpectedFailure,
    Invalid,
    QuotaExceeded,
    RequestRefused,
    Unavailable,
    Unreadable,
)
from penstock.datastore.jobs.delete_group import delete_subtree
from penstock.datastore.jobs.jobs import (
    JobKind,
    JobState,
    UnfinishedJob,
    job_report,
    unfinished_jobs,
)
from penstock.datastore.jobs.leased_table import LeasedTable
from penstock.datastore.jobs.leases import JobLease, JobLeaseLost, JobPaused, release_job, take_job
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.datastore.work_reports import JobChange, WatchJob, ignore_report

JobFunction: TypeAlias = Callable[[Access, JobLease], Awaitable[None]]

JOB_FUNCTIONS: Mapping[JobKind, JobFunction] = {JobKind.DELETE_GROUP: delete_subtree}
UNEXPECTED_FAILURE = "An unexpected error occurred; see the log of the server."

logger = logging.getLogger("penstock.jobs")


@dataclass(frozen=True, slots=True)
class JobWorker:
    """A worker that runs the jobs of a table, one after another; their creators take turns.

    `more_functions` has the functions of job kinds that need more than a table. `access` gives the
    table, the clock and the limits; permissions were checked when the job began. With `kinds` it
    leaves the jobs of other kinds alone. `watch` learns of each change.
    """

    access: Access
    worker: str
    more_functions: Mapping[JobKind, JobFunction] = field(default_factory=dict)
    kinds: Collection[JobKind] = tuple(JobKind)
    watch: WatchJob = ignore_report

    async def run(self) -> int:
        """Run every job that no other worker holds once; return the number of jobs that ended.

        A job stays unfinished if the store is not available or if another worker took it.
        """
        ended, begun, turns = 0, set[str](), dict[str, int]()
        while (job := await self._choose_job(begun, turns)) is not None:
            begun.add(job.id)
            turns[job.created_by] = len(begun)
            ended += await self._take_job(job.id)
        return ended

    async def _choose_job(
        self, begun: Collection[str], turns: Mapping[str, int]
    ) -> UnfinishedJob | None:
        """The oldest job of the creator whose last turn is longest ago; None if none is left."""
        listed = await unfinished_jobs(self.access.table)
        left = [job for job in listed if job.id not in begun and job.kind in self.kinds]
        return min(left, key=lambda job: turns.get(job.created_by, 0), default=None)

    async def _take_job(self, id: str) -> bool:
        table = self.access.table
        try:
            lease = await take_job(table, self.access.clock, self.worker, id)
            return lease is not None and await self._run_job(lease)
        except Unreadable:
            # A server of the release that made the job can run it.
            await release_job(table, self.worker, id)
            return False
        except CancelledError:
            # A failure to release the job must not hide the cancellation.
            with suppress(Exception):
                await release_job(table, self.worker, id)
            raise

    async def _run_job(self, lease: JobLease) -> bool:
        self._report(lease, JobChange.STARTED if lease.is_first else JobChange.CONTINUED)
        try:
            await self._call_function(lease)
        except JobLeaseLost:
            self._report(lease, JobChange.LEASE_LOST)
            logger.warning("another worker took the job %s", lease.job.id)
            return False
        except JobPaused:
            return False
        except Unavailable as error:
            logger.warning("the job %s waits: %s", lease.job.id, error.message)
            return False
        return True

    async def _call_function(self, lease: JobLease) -> None:
        job = lease.job
        table = LeasedTable(self.access.table, lease)
        caller = Caller(job.created_by, {ROOT: Role.ADMIN})
        access = replace(self.access, table=table, caller=caller)
        try:
            await {**JOB_FUNCTIONS, **self.more_functions}[job.kind](access, lease)
        except (JobLeaseLost, Unavailable, JobPaused):
            raise
        except Invalid as invalid:
            await lease.finish(JobState.FAILED, invalid.problems[0].message, invalid.problems)
            self._report(lease, JobChange.FAILED, invalid.code)
        except ExpectedFailure as failure:
            await lease.finish(JobState.FAILED, _failure_words(failure, job.group))
            self._report(lease, JobChange.FAILED, failure.code)
        except Exception as error:
            logger.exception("the job %s failed", job.id)
            if isinstance(error, RequestRefused) and not error.is_fault:
                raise Unavailable("AWS refused a request of the worker.") from error
            await lease.finish(JobState.FAILED, UNEXPECTED_FAILURE)
            self._report(lease, JobChange.FAILED, ErrorCode.INTERNAL_SERVER_ERROR)
        else:
            await lease.finish(JobState.DONE)
            self._report(lease, JobChange.DONE)

    def _report(self, lease: JobLease, change: JobChange, code: ErrorCode | None = None) -> None:
        job = replace(lease.job, done=lease.done)
        now = self.access.clock.timestamp()
        self.watch(job_report(job, change, now, None if code is None else code.value))


def _failure_words(failure: ExpectedFailure, group: str | None) -> str:
    """The words about a failure for all who see a job of the group; without one, its creator.

    Some of them may not know what the group, or the creator, keeps.
    """
    if group is not None and isinstance(failure, QuotaExceeded):
        return failure.message_without_amounts
    return failure.message
