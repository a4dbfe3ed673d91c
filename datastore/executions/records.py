"""What is stored of executions.

How long things may take, and how much of them there may be.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from penstock.datastore.objects.port import OBJECT_BYTES
from penstock.datastore.records import Struct, Tag
from penstock.transform.outcome import Counts


class ExecutionState(StrEnum):
    """How far an execution is: waiting for its input or for a worker, being run, or at its end."""

    WAITING = "waiting"
    IN_PROGRESS = "in_progress"
    SUCCESS = "success"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        return self not in (ExecutionState.WAITING, ExecutionState.IN_PROGRESS)


class ExecutionMode(StrEnum):
    """Whether the input is uploaded as a file, or came with the request."""

    JOB = "job"
    INLINE = "inline"


class Pin(Struct, frozen=True, kw_only=True):
    """What else an execution uses, of which kind (its letter), at which version."""

    kind: str
    id: str
    version: int
    name: str


class Execution(Struct, frozen=True, kw_only=True):
    """One run of one version of a pipeline over one input.

    `ready_at` is when its input was there. `events` counts transitions, `revision` every write.
    While a worker holds it, `fence` is the number of that hold, which only ever grows; `attempts`
    counts the holds since it was last ready, and `told_at` is the last sign of life. `code` and
    `message` say why it failed; `digest` stands for all that its output depends on. One that has a
    `deleted_at` is gone for every reader, and being taken away.
    """

    id: str
    pipeline_id: str
    pipeline_version: int
    mode: ExecutionMode
    state: ExecutionState
    tags: tuple[Tag, ...]
    pins: tuple[Pin, ...] = ()
    max_failed_rows: int | None = None
    ingest: str
    created_at: str
    created_by: str
    upload_until: str | None = None
    ready_at: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    code: str | None = None
    message: str | None = None
    events: int = 0
    revision: int = 0
    fence: int = 0
    attempts: int = 0
    worker: str | None = None
    claimed_at: str | None = None
    held_until: str | None = None
    told_at: str | None = None
    due: int = 0
    rows: int = 0
    succeeded: int = 0
    failed: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    bytes_total: int | None = None
    digest: str | None = None
    deleted_at: str | None = None

    @property
    def seconds_at_work(self) -> float | None:
        """For how long its worker has been at it, as last told; None where none has begun."""
        if self.claimed_at is None:
            return None
        until = datetime.fromisoformat(self.finished_at or self.told_at or self.claimed_at)
        return max(0.0, (until - datetime.fromisoformat(self.claimed_at)).total_seconds())

    @property
    def counts(self) -> Counts:
        """The progress, as last told by who runs it."""
        return Counts(self.rows, self.succeeded, self.failed, self.bytes_read, self.bytes_written)


class Happening(StrEnum):
    """What led from one state to the next, or made an execution ready."""

    CREATED = "created"
    UPLOADED = "uploaded"
    CLAIMED = "claimed"
    TAKEN_OVER = "taken_over"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RETRIED = "retried"


class ExecutionEvent(Struct, frozen=True, kw_only=True):
    """One line of an execution's history: what happened, when, by whom, and the state after it."""

    seq: int
    happening: Happening
    state: ExecutionState
    at: str
    by: str
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRules:
    """The bounds an operator sets.

    A worker holds what it runs for `held` from each sign of life on; another takes it over when
    that is past by `skew`, as their clocks may differ by so much. After so many `attempts` to run
    one it has failed.
    """

    kept: timedelta = timedelta(days=30)
    upload: timedelta = timedelta(hours=1)
    download: timedelta = timedelta(minutes=15)
    max_bytes: int = OBJECT_BYTES
    inline_rows: int = 1000
    held: timedelta = timedelta(seconds=30)
    skew: timedelta = timedelta(seconds=60)
    beat: timedelta = timedelta(seconds=2)
    attempts: int = 8
