"""Deletions whose jobs are over while their marks stand: whoever reads the hours takes them off.

No worker does so for a job that is cancelled between two workers, or that fails.
"""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.jobs.jobs import Job, find_jobs
from penstock.datastore.ngsi.directory import Directory, Entity
from penstock.datastore.ngsi.hours.generations import HourDeletion

WORKER_TIME: Final = timedelta(minutes=2)
"""The time in which a worker of a job that is over has noticed that, and deletes no more."""


async def end_abandoned(
    access: Access, of: Entity, deletions: Mapping[str, tuple[int, int]]
) -> bool:
    """Forget what is kept in the spans of deletions that nobody goes on with, and end them.

    Returns whether there were any.
    """
    jobs = await find_jobs(access.table, list(deletions))
    latest = access.clock.now() - WORKER_TIME
    pairs = zip(deletions.items(), jobs, strict=True)
    abandoned = [
        HourDeletion(access.table, of, id, *span)
        for (id, span), job in pairs
        if job is None or _is_abandoned(job, latest)
    ]
    for deletion in abandoned:
        await deletion.forget(_names_of_attributes(access, of))
        await deletion.end()
    return bool(abandoned)


def _is_abandoned(job: Job, latest: datetime) -> bool:
    ended = job.finished_at or job.created_at
    return job.is_over and datetime.fromisoformat(ended) <= latest


async def _names_of_attributes(access: Access, of: Entity) -> AsyncIterator[str]:
    async for attribute in Directory(access).walk_attributes(of):
        yield attribute.name
