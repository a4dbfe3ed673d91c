"""Jobs of which a user may have few at a time, because each takes long."""

from collections.abc import Sequence

from penstock.datastore.access.access import Access
from penstock.datastore.jobs.jobs import Job, JobKind, unfinished_jobs
from penstock.datastore.jobs.rows import creation_writes
from penstock.datastore.table.layout import JOB, ROSTER
from penstock.datastore.table.port import INDEX_HASH
from penstock.datastore.table.rosters import Roster


async def require_job_room(access: Access, kind: JobKind, limit: str, most: int) -> None:
    """Raise LimitExceeded where the caller can begin no job of the kind now."""
    await _roster(access, kind, limit, most).require_room(access.table)


async def begin_job(access: Access, job: Job, limit: str, most: int) -> None:
    """Begin a job of the caller; LimitExceeded where so many of its kind have not ended."""
    await _roster(access, job.kind, limit, most).add(access.table, job.id, creation_writes(job))


def _roster(access: Access, kind: JobKind, limit: str, most: int) -> Roster:
    user = access.caller.user_id

    async def find_listed() -> Sequence[str]:
        listed = await unfinished_jobs(access.table)
        return [job.id for job in listed if job.kind == kind and job.created_by == user]

    return Roster(
        ROSTER.key(user=user, kind=kind.value),
        limit,
        most,
        lambda one: JOB.key(id=one),
        find_listed,
        lambda row: INDEX_HASH in row,
    )
