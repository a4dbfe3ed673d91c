"""What each field of jobs does."""

from datastore.jobs import Job
from resolvers.context import Context


async def by_id(context: Context, id: str) -> Job:
    return await context.loaders.jobs.load(id)
