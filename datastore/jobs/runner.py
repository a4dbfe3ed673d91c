"""Runs the jobs that nobody else works on, each to its end or until it has to wait."""

import logging
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.errors import Failure, Unavailable
from penstock.datastore.jobs.delete_group import delete_subtree
from penstock.datastore.jobs.jobs import JobKind, JobState, unfinished
from penstock.datastore.jobs.leases import Lease, LeaseLost, Paused, release, take
from penstock.datastore.roles import ROOT, Caller, Role

Work: TypeAlias = Callable[[Access, Lease], Awaitable[None]]

WORK: Mapping[JobKind, Work] = {JobKind.DELETE_GROUP: delete_subtree}
UNFORESEEN = "Something went wrong that should not; the log of the server says what."

logger = logging.getLogger("penstock.jobs")


@dataclass(frozen=True, slots=True)
class JobRuns:
    """The jobs of a table in the hands of one worker, who runs one after another.

    `more` is work that needs more than a table. `access` gives the table, the clock and the bounds;
    who may do what was decided when a job began.
    """

    access: Access
    worker: str
    more: Mapping[JobKind, Work] = field(default_factory=dict)

    async def run(self) -> int:
        """Run every job that no other worker holds; how many came to an end.

        A job that has to wait for the store, or that another worker took, is left unfinished.
        """
        table, ended = self.access.table, 0
        for id in await unfinished(table):
            try:
                lease = await take(table, self.access.clock, self.worker, id)
                ended += lease is not None and await self._ends(lease)
            except CancelledError:
                # Whatever comes of this, the cancellation must not be lost.
                with suppress(Exception):
                    await release(table, self.worker, id)
                raise
        return ended

    async def _ends(self, lease: Lease) -> bool:
        try:
            await self._work(lease)
        except LeaseLost:
            logger.warning("another worker took the job %s", lease.job.id)
            return False
        except Paused:
            return False
        except Unavailable as error:
            logger.warning("the job %s waits: %s", lease.job.id, error.message)
            return False
        return True

    async def _work(self, lease: Lease) -> None:
        job = lease.job
        access = replace(self.access, caller=Caller(job.created_by, {ROOT: Role.ADMIN}))
        try:
            await {**WORK, **self.more}[job.kind](access, lease)
        except (LeaseLost, Unavailable, Paused):
            raise
        except Failure as failure:
            await lease.finish(JobState.FAILED, failure.message)
        except Exception:
            logger.exception("the job %s failed", job.id)
            await lease.finish(JobState.FAILED, UNFORESEEN)
        else:
            await lease.finish(JobState.DONE)
