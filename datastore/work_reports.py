"""Reports of work in the background: executions, jobs, and runs of manifests.

Metrics, logs and traces take from them ids that the server made, counts and times, and no name,
message or value of a user: only catalogues of data, which an operator chose, read the subject of a
run.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, TypeAlias

import msgspec


class ExecutionChange(StrEnum):
    """A change of an execution; a claim that is lost changes nothing but who works on it."""

    CREATED = "created"
    STARTED = "started"
    TAKEN_OVER = "taken_over"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RETRIED = "retried"
    CLAIM_LOST = "claim_lost"

    @property
    def is_end(self) -> bool:
        return self in _ENDS_OF_EXECUTIONS


_ENDS_OF_EXECUTIONS: Final = frozenset(
    (ExecutionChange.SUCCEEDED, ExecutionChange.FAILED, ExecutionChange.CANCELLED)
)


class LostClaim(StrEnum):
    """The reason for which a worker lost its claim."""

    CANCELLED = "cancelled"
    REMOVED = "removed"
    TAKEN_OVER = "taken_over"
    WORKER_DIED = "worker_died"


class ExecutionReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change of an execution, at an epoch time in seconds, after it was committed.

    `waited` are the seconds from when it was ready to its start, `seconds` those from its start to
    its end; None for other changes, and without a start. Rows and bytes are those that a worker
    processed: an end with a copied result has none. `reason` is the code of a failure, or a
    LostClaim.
    """

    change: ExecutionChange
    id: str
    pipeline: str
    mode: str
    at: float
    attempt: int = 0
    waited: float | None = None
    seconds: float | None = None
    rows_succeeded: int = 0
    rows_failed: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    reason: str | None = None


class JobChange(StrEnum):
    """A change of a job; one that is continued was paused, or held by another worker before."""

    CREATED = "created"
    STARTED = "started"
    CONTINUED = "continued"
    DONE = "done"
    FAILED = "failed"
    LEASE_LOST = "lease_lost"

    @property
    def is_end(self) -> bool:
        return self in (JobChange.DONE, JobChange.FAILED)


class JobReport(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a job, at an epoch time in seconds, after it was committed.

    `waited` are the seconds from its creation to its start, `seconds` those from its start to its
    end; None for other changes. `reason` is the code of a failure.
    """

    change: JobChange
    id: str
    kind: str
    at: float
    waited: float | None = None
    seconds: float | None = None
    steps: int = 0
    reason: str | None = None


class RunChange(StrEnum):
    """A change of the work on a run of a manifest."""

    CLAIMED = "claimed"
    PROCESSED = "processed"
    LOADED = "loaded"
    FAILED = "failed"
    GIVEN_UP = "given_up"
    CLAIM_LOST = "claim_lost"


class RunSubject(msgspec.Struct, frozen=True, kw_only=True):
    """The folders, names and counts of a run after a change, as users gave them.

    They are for catalogues of data, which are told what was made of what. Metrics, logs and traces
    have none of them.
    """

    group: str
    manifest: str
    folder: str
    fence: int
    pipeline: str | None = None
    saved_to: str | None = None
    types: tuple[str, ...] = ()
    counts: Mapping[str, int] = {}
    tags: tuple[tuple[str, str], ...] = ()
    batch: str | None = None
    error: str | None = None


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """One change of a run in one stage, at an epoch time in seconds, after it was committed.

    The `claim` is the key of the claim, which no other has. A claim is lost when its worker told no
    result, and the run is claimed again or reset.
    """

    change: RunChange
    id: str
    stage: str
    at: float
    attempt: int
    claim: str
    subject: RunSubject


WatchExecution: TypeAlias = Callable[[ExecutionReport], None]
"""Called with each change that this process makes; it must not fail."""

WatchJob: TypeAlias = Callable[[JobReport], None]
"""Called with each change that this process makes; it must not fail."""


WatchRun: TypeAlias = Callable[[RunReport], None]
"""Called with each change that this process makes; it must not fail."""


def ignore_report(_report: ExecutionReport | JobReport | RunReport) -> None:
    """Tell nobody."""
