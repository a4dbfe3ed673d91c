"""The rows of an execution, and the writes that lead from one state of it to the next."""

import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from penstock.datastore.executions.listed_rows import (
    change_writes,
    epoch_milliseconds,
    list_changes,
    still_listed,
)
from penstock.datastore.executions.records import (
    EventKind,
    Execution,
    ExecutionEvent,
    ExecutionRules,
    ExecutionState,
)
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.usage import change_kept, counter_of
from penstock.datastore.table.commit import Refusal, Write, stale_read
from penstock.datastore.table.counters import Counter
from penstock.datastore.table.items import Projection, attributes_of, load, resource_id
from penstock.datastore.table.layout import EXECUTION, EXECUTION_DUE, EXECUTION_EVENT
from penstock.datastore.table.port import (
    AllOf,
    Attributes,
    Compare,
    Condition,
    Delete,
    Item,
    Key,
    Missing,
    Put,
    Update,
)
from penstock.datastore.work_reports import ExecutionChange, ExecutionReport

UNNAMED_CODE: Final = "OTHER"
MAX_CODE_LENGTH: Final = 64
_CODE: Final = re.compile(f"[A-Z][A-Z0-9_]{{0,{MAX_CODE_LENGTH - 1}}}")

SHARD_COUNT: Final = 8
"""The number of partitions over which the queue of due executions is spread."""


class DueStage(StrEnum):
    """The next work on an execution: find its upload, run it, or remove it after its time."""

    UPLOAD = "upload"
    READY = "ready"
    EXPIRE = "expire"


def due_stage(execution: Execution) -> DueStage:
    if execution.state.is_over:
        return DueStage.EXPIRE
    return DueStage.UPLOAD if execution.ready_at is None else DueStage.READY


def due_item(execution: Execution) -> Item:
    """The row that lists the execution under its stage and due time (epoch milliseconds)."""
    row = EXECUTION_DUE.item(
        stage=due_stage(execution),
        # An id ends in random digits.
        shard=int(execution.id[-4:], 16) % SHARD_COUNT,
        due=execution.due,
        id=execution.id,
    )
    return {**row, "by": execution.created_by}


def due_key(execution: Execution) -> Key:
    item = due_item(execution)
    return Key(str(item["pk"]), str(item["sk"]))


def key_of_execution(id: str) -> Key:
    return EXECUTION.key(id=id)


def execution_item(execution: Execution) -> Item:
    row = EXECUTION.item(id=execution.id, pipeline=execution.pipeline_id)
    return {**row, **attributes_of(execution)}


def execution_of(item: Attributes, projection: Projection = None) -> Execution:
    """The execution in a row, with at least the fields of the projection."""
    return load(Execution, item, projection, id=resource_id(item))


class TransitionEvent(NamedTuple):
    """The kind of an event, its author and its time."""

    kind: EventKind
    by: str
    at: str


class TransitionGuard(NamedTuple):
    """A further condition of a transition, and the error to raise if it does not hold."""

    condition: Condition
    refused: Refusal = stale_read


def event_write(execution: Execution, transition: TransitionEvent) -> Write:
    """Write the event that led to this state, as the latest in the history."""
    event = ExecutionEvent(
        seq=execution.events,
        happening=transition.kind,
        state=execution.state,
        at=transition.at,
        by=transition.by,
        note=execution.message,
    )
    row = EXECUTION_EVENT.item(id=execution.id, seq=event.seq)
    return Write(Put({**row, **attributes_of(event)}, Missing()))


def transition_writes(
    before: Execution,
    after: Execution,
    event: TransitionEvent,
    guard: TransitionGuard | None = None,
) -> list[Write]:
    """The writes from one state to the next; they fail after another transition.

    They also fail if the guard's condition does not hold. Heartbeats since the read are kept and
    cause no failure.
    """
    after = msgspec.structs.replace(
        with_counted_files(after),
        events=before.events + 1,
        revision=before.revision,
        listed=before.owner is not None,
    )
    after = _with_author(after, event)
    unmoved: Condition = AllOf((Compare("events", "=", before.events), *still_listed(before)))
    old, new = attributes_of(before), attributes_of(after)
    change = Update(
        key=key_of_execution(before.id),
        set={name: value for name, value in new.items() if old.get(name) != value},
        remove=tuple(name for name in old if name not in new),
        add={"revision": 1},
        condition=unmoved if guard is None else AllOf((unmoved, guard.condition)),
    )
    writes = [Write(change, guard.refused if guard else stale_read), event_write(after, event)]
    if due_key(before) != due_key(after):
        writes += [Write(Delete(due_key(before))), Write(Put(due_item(after)))]
    writes += list_changes(before, after)
    writes += change_writes(before, after, epoch_milliseconds(event.at))
    return [*writes, *change_kept(kept_counter(before), kept_counter(after))]


def report_transition(rules: ExecutionRules, after: Execution, event: TransitionEvent) -> None:
    """Report a transition whose writes are committed; that to a ready input is left out."""
    if event.kind in _CHANGES:
        rules.watch(execution_report(after, _CHANGES[event.kind], event.at))


_CHANGES: Final[Mapping[EventKind, ExecutionChange]] = {
    EventKind.CREATED: ExecutionChange.CREATED,
    EventKind.CLAIMED: ExecutionChange.STARTED,
    EventKind.TAKEN_OVER: ExecutionChange.TAKEN_OVER,
    EventKind.SUCCEEDED: ExecutionChange.SUCCEEDED,
    EventKind.FAILED: ExecutionChange.FAILED,
    EventKind.CANCELLED: ExecutionChange.CANCELLED,
    EventKind.RETRIED: ExecutionChange.RETRIED,
}


def execution_report(
    execution: Execution, change: ExecutionChange, at: str, reason: str | None = None
) -> ExecutionReport:
    """The report of a change that led to this state of the execution."""
    counts = execution.counts
    worked = change.is_end and execution.copied_from is None
    started = change is ExecutionChange.STARTED and execution.ready_at is not None
    return ExecutionReport(
        change=change,
        id=execution.id,
        pipeline=execution.pipeline_id,
        mode=execution.mode.value,
        at=_seconds(at),
        attempt=execution.attempts,
        waited=max(0.0, _seconds(at) - _seconds(execution.ready_at or at)) if started else None,
        seconds=execution.duration_seconds if change.is_end else None,
        rows_succeeded=counts.succeeded if worked else 0,
        rows_failed=counts.failed if worked else 0,
        bytes_read=counts.bytes_read if worked else 0,
        bytes_written=counts.bytes_written if worked else 0,
        reason=_code_of(execution) if reason is None else reason,
    )


def _code_of(execution: Execution) -> str | None:
    """The code of the failure; one of a worker elsewhere may be any text, which is not told."""
    code = execution.code
    return code if code is None or _CODE.fullmatch(code) else UNNAMED_CODE


def _seconds(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).timestamp()


def _with_author(after: Execution, event: TransitionEvent) -> Execution:
    """The execution with the author of the event, if that is one who starts or cancels it."""
    match event.kind:
        case EventKind.UPLOADED:
            return msgspec.structs.replace(after, started_by=event.by)
        case EventKind.RETRIED:
            return msgspec.structs.replace(after, started_by=event.by, cancelled_by=None)
        case EventKind.CANCELLED:
            return msgspec.structs.replace(after, cancelled_by=event.by)
        case _:
            return after


def kept_counter(execution: Execution) -> Counter | None:
    """The counter of quotas that an execution raises by its files, if it does."""
    if execution.owner is None:
        return None
    amounts = Amounts(files=execution.counted_files, bytes=execution.counted_bytes)
    return counter_of(execution.owner, execution.created_by, execution.shard, amounts)


def with_counted_files(execution: Execution) -> Execution:
    """The execution with the amounts by which it counts, as far as its files exist.

    The output and its rejected rows count as one file, also rejected rows alone. Their size is what
    is stored: the progress that a worker reports may be anything.
    """
    if execution.owner is None:
        return execution
    sizes: list[int] = []
    if execution.ready_at is not None:
        sizes.append(execution.bytes_total or 0)
    if execution.table_bytes is not None:
        sizes.append(execution.table_bytes)
    if execution.result_bytes is not None:
        sizes.append(execution.result_bytes)
    elif execution.state is ExecutionState.SUCCESS:
        sizes.append(execution.bytes_written)
    return msgspec.structs.replace(execution, counted_files=len(sizes), counted_bytes=sum(sizes))
