"""What subscriptions to changes yield."""

from collections.abc import AsyncIterator

from datastore.changes import Changes, followed
from datastore.records import Pipeline
from resolvers.context import Context


def pipeline(context: Context, changes: Changes, id: str) -> AsyncIterator[Pipeline]:
    """Yield the pipeline now and after each write, until it is gone from the caller's sight."""
    return followed(context.view.pipelines.reading, changes, id)
