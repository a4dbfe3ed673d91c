"""The jobs about a library that have not ended, in one row, so that no two begin by the same look.

They are imports, and changes of names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem, Invalid, Unavailable
from penstock.datastore.jobs.jobs import Job, find_jobs
from penstock.datastore.jobs.rows import creation_writes
from penstock.datastore.table.commit import Attempts, StaleRead, Write, commit
from penstock.datastore.table.layout import OPEN_IMPORTS
from penstock.datastore.table.rosters import NamedThings, read_roster

MAX_JOBS: Final = 8
"""Most jobs about one library that have not ended."""


async def begin_library_job(
    access: Access, job: Job, is_equal: Callable[[Job], bool], too_many: FieldProblem
) -> Job:
    """Begin a job, or return an equal one of the caller that has not ended.

    Raises Invalid with `too_many` for one more than MAX_JOBS that have not ended.
    """
    async for _ in Attempts():
        listed = await read_open_imports(access)
        if (standing := listed.find(is_equal)) is not None:
            return standing
        if len(listed.jobs) >= MAX_JOBS:
            raise Invalid([too_many])
        try:
            await commit(access.table, [*creation_writes(job), listed.adding_write(job)])
        except StaleRead:
            continue
        return job
    raise Unavailable("Many jobs about the library are being begun at once.")


@dataclass(frozen=True, slots=True)
class OpenImports:
    """The jobs of a library that have not ended, as they were read from their roster."""

    named: NamedThings
    jobs: Mapping[str, Job]

    def find(self, is_wanted: Callable[[Job], bool]) -> Job | None:
        """Find a job; None without one."""
        return next(filter(is_wanted, self.jobs.values()), None)

    def adding_write(self, job: Job) -> Write:
        """The write that adds a job; it raises StaleRead after any other change of the row."""
        return self.named.replacing_write([*self.jobs, job.id])


async def read_open_imports(access: Access) -> OpenImports:
    """Read the open jobs of the caller's library: `pk = UI:<user>, sk = UI`, then the jobs."""
    key = OPEN_IMPORTS.key(user=access.caller.user_id)
    named = await read_roster(access.table, key, "jobs")
    found = {job.id: job for job in await find_jobs(access.table, named.ids) if job is not None}
    going = {id: job for id, job in found.items() if not job.is_over}
    return OpenImports(named, going)
