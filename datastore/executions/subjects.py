"""The subject of an execution: its pipeline, and how often it was begun anew."""

from datetime import datetime
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.errors import NotFound
from penstock.datastore.executions.reading import ReadExecutions
from penstock.datastore.executions.records import EventKind, Execution
from penstock.datastore.records import Pipeline
from penstock.datastore.table.pages import Window

MAX_EVENTS: Final = 200
"""The events of a history among which retries are counted."""


class ExecutionSubject(NamedTuple):
    """An execution, its pipeline, and the number of its retries."""

    execution: Execution
    pipeline: Pipeline
    retries: int


async def read_subject(access: Access, id: str, at: float) -> ExecutionSubject | None:
    """Read what an execution is about, with its retries up to an epoch time; None if it is gone."""
    reading = ReadExecutions(access)
    try:
        execution, pipeline = await reading.one(id)
    except NotFound:
        return None
    history = await reading.events(execution, Window(size=MAX_EVENTS))
    retries = [
        event
        for _, event in history.entries
        if event.happening is EventKind.RETRIED
        and datetime.fromisoformat(event.at).timestamp() <= at
    ]
    return ExecutionSubject(execution, pipeline, len(retries))
