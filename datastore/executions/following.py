"""Following an execution, by asking the table for its row."""

from collections.abc import AsyncIterator

from penstock.datastore.changes import Changes
from penstock.datastore.errors import NotFound
from penstock.datastore.executions.reading import ReadExecutions
from penstock.datastore.executions.records import Execution
from penstock.datastore.executions.rows import key_of_execution


async def followed_execution(
    reading: ReadExecutions, changes: Changes, id: str
) -> AsyncIterator[Execution]:
    """Yield an execution as it is now, then after each write of it, until it is over.

    A follower who is slow misses states, never the last. Ends also when it is gone or the caller no
    longer sees it. Raises NotFound where they do not see it to begin with.
    """
    execution = (await reading.one(id, consistent=True)).execution
    yield execution
    with changes.watch(key_of_execution(id), execution.revision) as watch:
        while not execution.state.is_over:
            await watch.next()
            (found,) = await reading.many([id], consistent=True)
            if isinstance(found, NotFound):
                return
            if found.revision > execution.revision:
                execution = found
                yield execution
