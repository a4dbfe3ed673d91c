"""The worker of jobs: it takes each job that no other worker holds and runs it."""

import logging
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.errors import ExpectedFailure, Unavailable, Unreadable
from penstock.datastore.jobs.delete_group import delete_subtree
from penstock.datastore.jobs.jobs import JobKind, JobState, unfinished_jobs
from penstock.datastore.jobs.leases import JobLease, JobLeaseLost, JobPaused, release_job, take_job
from penstock.datastore.roles import ROOT, Caller, Role

JobFunction: TypeAlias = Callable[[Access, JobLease], Awaitable[None]]

JOB_FUNCTIONS: Mapping[JobKind, JobFunction] = {JobKind.DELETE_GROUP: delete_subtree}
UNEXPECTED_FAILURE = "An unexpected error occurred; see the log of the server."

logger = logging.getLogger("penstock.jobs")


@dataclass(frozen=True, slots=True)
class JobWorker:
    """A worker that runs the jobs of a table, one after another.

    `more_functions` has the functions of job kinds that need more than a table. `access` gives the
    table, the clock and the limits; permissions were checked when the job began.
    """

    access: Access
    worker: str
    more_functions: Mapping[JobKind, JobFunction] = field(default_factory=dict)

    async def run(self) -> int:
        """Run every job that no other worker holds; return the number of jobs that ended.

        A job stays unfinished if the store is not available or if another worker took it.
        """
        table, ended = self.access.table, 0
        for id in await unfinished_jobs(table):
            try:
                lease = await take_job(table, self.access.clock, self.worker, id)
                ended += lease is not None and await self._run_job(lease)
            except Unreadable:
                # A server of the release that made the job can run it.
                await release_job(table, self.worker, id)
            except CancelledError:
                # A failure to release the job must not hide the cancellation.
                with suppress(Exception):
                    await release_job(table, self.worker, id)
                raise
        return ended

    async def _run_job(self, lease: JobLease) -> bool:
        try:
            await self._call_function(lease)
        except JobLeaseLost:
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
        access = replace(self.access, caller=Caller(job.created_by, {ROOT: Role.ADMIN}))
        try:
            await {**JOB_FUNCTIONS, **self.more_functions}[job.kind](access, lease)
        except (JobLeaseLost, Unavailable, JobPaused):
            raise
        except ExpectedFailure as failure:
            await lease.finish(JobState.FAILED, failure.message)
        except Exception:
            logger.exception("the job %s failed", job.id)
            await lease.finish(JobState.FAILED, UNEXPECTED_FAILURE)
        else:
            await lease.finish(JobState.DONE)
