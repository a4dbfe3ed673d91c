"""The records of executions, and the limits that an operator sets for them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from operator import attrgetter
from typing import Final

import msgspec

from penstock.datastore.objects.port import OBJECT_BYTES
from penstock.datastore.records import StoredRecord, Tag
from penstock.datastore.roles import GroupPath
from penstock.datastore.work_reports import WatchExecution, ignore_report
from penstock.transform.outcome import RejectionCount, RowCounts

LONGEST_ESTIMATE: Final = 2**31 - 1
"""The largest number of seconds that an estimate may have, which GraphQL can send."""


MOST_REJECTIONS: Final = 10
"""The most reasons of rejected rows that an execution keeps."""


OF_USER: Final = ": "
"""Behind the user in the name of an external worker; those of servers are named by ids."""


def external_worker_name(user: str, name: str) -> str:
    """The name under which a user's own worker holds a claim; the `name` has no OF_USER."""
    return f"{user}{OF_USER}{name}"


def keep_commonest(rejections: Iterable[RejectionCount]) -> tuple[RejectionCount, ...]:
    """The reasons of most rows, the commonest first."""
    return tuple(sorted(rejections, key=attrgetter("rows"), reverse=True)[:MOST_REJECTIONS])


class ExecutionState(StrEnum):
    """The state of an execution; one that waits, waits for its input or for a worker."""

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


class OutputFormat(StrEnum):
    """The format of an output file."""

    CSV = "csv"
    PARQUET = "parquet"


class Pin(StoredRecord, frozen=True, kw_only=True):
    """A calculation or dataset that an execution uses, pinned to a version.

    `kind` is the letter of its kind.
    """

    kind: str
    id: str
    version: int
    name: str


class Execution(StoredRecord, frozen=True, kw_only=True):
    """One execution of one version of a pipeline over one input.

    `ingest` names the upload of its input: the time of the creation and the id, or the time alone
    if an earlier release created it. `ready_at` is when its input was complete. `events` counts
    transitions, `revision` every write. `fence` is the number of the latest claim and only ever
    grows; `attempts` counts the claims since the execution was last ready; `heartbeat_at` is the
    time of the worker's last heartbeat. `code` and `message` say why it failed. `digest` is a hash
    of everything that its output depends on. `input_copy` names the copy of its input that was made
    when it became ready; rows of a request, and executions of earlier releases, have none.
    `copied_from` is the earlier execution whose result was taken. `input_name` is the name that its
    creator gave the input. `started_by` is who made it ready or started it again, `cancelled_by`
    who cancelled it; executions of earlier releases have none. An execution with a `deleted_at`
    is invisible to every reader while it is being removed. `owner` is the group that owns the
    pipeline, for whose quotas it counts by `counted_files` and `counted_bytes`; executions of
    earlier releases have none. `result_bytes` is the size of the output and the rejected rows that
    are stored; None before, and for results of earlier releases. `listed` says that it is in the
    lists of its group; those of earlier releases are not before the upgrade of the table.
    `read_as` says for people how its file was read: the encoding, and what separates the fields.
    `table_bytes` is the size of the CSV that was made of an input of another kind.
    `rows_commit` is the last commit that added its rows to those that the pipeline keeps, and
    `rows_first` the first of them if there were several; `keeps_rows` says that there may be
    some, which belong to the groups that an output names, or to the owner, and `row_groups` are the
    topmost groups whose rows it may write, None if an earlier release made it. One that
    `writes_dataset` makes the next version of one; `dataset_id` and `dataset_version` name what it
    made. `placed` is the claim that ended it, if its files have a place of their own: that of a
    worker elsewhere, or not the first of a server.
    `granted_through` are the groups by whose grants its creator may run the pipeline, none if by a
    role at the owner group; `api_key` is the id of the key that created it. A retry by its creator
    notes both anew; executions of earlier releases have none. `rejections` are the commonest
    reasons of its rejected rows; None before its end, and for those of earlier releases and of
    workers elsewhere.
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
    input_name: str | None = None
    started_by: str | None = None
    cancelled_by: str | None = None
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
    heartbeat_at: str | None = msgspec.field(default=None, name="toldAt")
    due: int = 0
    rows: int = 0
    succeeded: int = 0
    failed: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    bytes_total: int | None = None
    owner: GroupPath | None = None
    counted_files: int = 0
    counted_bytes: int = 0
    result_bytes: int | None = None
    input_copy: str | None = None
    digest: str | None = None
    copied_from: str | None = None
    deleted_at: str | None = None
    shard: int = 0
    listed: bool = False
    rows_first: int | None = None
    rows_commit: int | None = None
    keeps_rows: bool = msgspec.field(default=False, name="rowsByGroup")
    row_groups: tuple[GroupPath, ...] | None = None
    writes_dataset: bool = False
    dataset_id: str | None = None
    dataset_version: int | None = None
    read_as: str | None = None
    table_bytes: int | None = None
    output_format: OutputFormat = OutputFormat.CSV
    placed: int | None = None
    granted_through: tuple[GroupPath, ...] = ()
    api_key: str | None = None
    rejections: tuple[RejectionCount, ...] | None = None

    @property
    def is_run_elsewhere(self) -> bool:
        """Whether an external worker has claimed it."""
        return self.worker is not None and OF_USER in self.worker

    def is_claimed_by(self, user: str) -> bool:
        """Whether the latest claim is that of a user's own worker."""
        return self.is_run_elsewhere and (self.worker or "").rpartition(OF_USER)[0] == user

    @property
    def seconds_at_work(self) -> float | None:
        """The seconds from the claim to the last heartbeat or the end; None before any claim."""
        if self.claimed_at is None:
            return None
        until = datetime.fromisoformat(self.finished_at or self.heartbeat_at or self.claimed_at)
        return max(0.0, (until - datetime.fromisoformat(self.claimed_at)).total_seconds())

    @property
    def duration_seconds(self) -> float | None:
        """The seconds from the start to the last heartbeat or the end; None before any start."""
        if self.started_at is None:
            return None
        until = datetime.fromisoformat(self.finished_at or self.heartbeat_at or self.started_at)
        return max(0.0, (until - datetime.fromisoformat(self.started_at)).total_seconds())

    @property
    def bytes_to_read(self) -> int | None:
        """The bytes of CSV that are read; None until they are known."""
        return self.bytes_total if self.table_bytes is None else self.table_bytes

    @property
    def seconds_left(self) -> float | None:
        """The estimated seconds to the end at the rate so far; None without an estimate.

        A worker elsewhere reports any progress: what would take many years is no estimate.
        """
        seconds, done, total = self.seconds_at_work, self.bytes_read, self.bytes_to_read
        if not seconds or not done or total is None:
            return None
        left = max(0, total - done) * seconds / done
        return left if left <= LONGEST_ESTIMATE else None

    @property
    def end_estimate(self) -> datetime | None:
        """The time of the end at the rate until the last heartbeat; None if it is not known."""
        left = self.seconds_left
        if self.state is not ExecutionState.IN_PROGRESS or None in (self.heartbeat_at, left):
            return None
        return datetime.fromisoformat(self.heartbeat_at or "") + timedelta(seconds=left or 0.0)

    @property
    def counts(self) -> RowCounts:
        """The progress at the last heartbeat."""
        return RowCounts(
            self.rows, self.succeeded, self.failed, self.bytes_read, self.bytes_written
        )


class EventKind(StrEnum):
    """The kinds of events in the history of an execution."""

    CREATED = "created"
    UPLOADED = "uploaded"
    CLAIMED = "claimed"
    TAKEN_OVER = "taken_over"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RETRIED = "retried"


class ExecutionEvent(StoredRecord, frozen=True, kw_only=True):
    """One event of an execution's history: its time, its author, and the state after it."""

    seq: int
    happening: EventKind
    state: ExecutionState
    at: str
    by: str
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionRules:
    """The limits that an operator sets.

    A claim is valid for `lease` after each heartbeat. Another worker may take the execution over
    when `clock_skew` more has passed, since clocks may differ by that much. An execution fails
    after `max_attempts` claims. `watch` is no limit: it learns of each change of an execution, and
    goes with the limits to where executions are changed.
    """

    retention: timedelta = timedelta(days=30)
    upload_time: timedelta = timedelta(hours=1)
    download_time: timedelta = timedelta(minutes=15)
    max_bytes: int = OBJECT_BYTES
    inline_rows: int = 1000
    lease: timedelta = timedelta(seconds=30)
    clock_skew: timedelta = timedelta(seconds=60)
    heartbeat: timedelta = timedelta(seconds=2)
    max_attempts: int = 8
    watch: WatchExecution = ignore_report
