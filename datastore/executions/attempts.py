"""The attempts of workers at an execution, as its history has them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from penstock.datastore.executions.reading import ReadExecutions
from penstock.datastore.executions.records import EventKind, Execution, ExecutionEvent
from penstock.datastore.table.pages import Window

MAX_EVENTS: Final = 200
"""The latest events of a history in which attempts are looked for."""


class AttemptOutcome(Enum):
    """The end of an attempt; one that goes on is running."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class ExecutionAttempt:
    """One claim of a worker, from its beginning to its end; times are in UTC."""

    worker: str
    started_at: str
    ended_at: str | None = None
    outcome: AttemptOutcome = AttemptOutcome.RUNNING
    note: str | None = None


_ENDS: Final = {
    EventKind.TAKEN_OVER: AttemptOutcome.LOST,
    EventKind.SUCCEEDED: AttemptOutcome.SUCCEEDED,
    EventKind.FAILED: AttemptOutcome.FAILED,
    EventKind.CANCELLED: AttemptOutcome.CANCELLED,
}


async def read_attempts(reading: ReadExecutions, execution: Execution) -> list[ExecutionAttempt]:
    """Read the latest attempts, newest first: `pk = PE:<id>`, `sk` begins with `PEH:`."""
    window = Window(size=MAX_EVENTS, backward=True)
    found = (await reading.events(execution, window)).entries
    return attempts_of(sorted((event for _, event in found), key=lambda event: event.seq))[::-1]


def attempts_of(events: Iterable[ExecutionEvent]) -> list[ExecutionAttempt]:
    """The attempts in a history, oldest first."""
    found: list[ExecutionAttempt] = []
    for event in events:
        if found and found[-1].ended_at is None and event.happening in _ENDS:
            outcome = _ENDS[event.happening]
            found[-1] = replace(found[-1], ended_at=event.at, outcome=outcome, note=event.note)
        if event.happening in (EventKind.CLAIMED, EventKind.TAKEN_OVER):
            found.append(ExecutionAttempt(event.by, event.at))
    return found
