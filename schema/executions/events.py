"""The events in the history of an execution."""

import strawberry

from penstock.datastore.executions import records
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.scalars import DateTime
from penstock.schema.executions.states import ExecutionState

strawberry.enum(
    records.EventKind,
    name="ExecutionHappening",
    description="The kind of an event in the history of an execution.",
)
describe_values(
    records.EventKind,
    {
        records.EventKind.CREATED: "The execution was created.",
        records.EventKind.UPLOADED: "The input was uploaded completely.",
        records.EventKind.CLAIMED: "A worker claimed the execution.",
        records.EventKind.TAKEN_OVER: (
            "A worker claimed the execution from a worker that had stopped sending heartbeats."
        ),
        records.EventKind.SUCCEEDED: "The execution ended in success.",
        records.EventKind.FAILED: "The execution ended in failure.",
        records.EventKind.CANCELLED: "A user cancelled the execution.",
        records.EventKind.RETRIED: "A user started the execution again from the beginning.",
    },
)


@strawberry.type(description="One event in the history of an execution.")
class ExecutionEvent:
    seq: int = strawberry.field(
        description="The number of the event in the execution's history, counted from 1."
    )
    happening: records.EventKind = strawberry.field(description="The kind of the event.")
    state: ExecutionState = strawberry.field(
        description="The state of the execution after the event."
    )
    at: DateTime = strawberry.field(description="The time of the event, in UTC.")
    by: str = strawberry.field(
        description="The id of the user or worker who caused the event; `penstock` if the system "
        "did."
    )
    note: str | None = strawberry.field(
        description="A remark about the event; null if there is none, and for a caller who may not "
        "read the files of the execution."
    )
