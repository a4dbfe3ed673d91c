"""The types of an execution's input, and of the attempts of workers at it."""

import strawberry

from penstock.datastore.executions.attempts import AttemptOutcome
from penstock.datastore.executions.create import INPUT_NAME_CHARACTERS
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.scalars import DateTime, Long
from penstock.schema.core.text_bounds import text_metadata


@strawberry.type(description="The input of an execution.")
class ExecutionInput:
    name: str | None = strawberry.field(
        metadata=text_metadata(INPUT_NAME_CHARACTERS),
        description="The name that the creator of the execution gave it; null if there is none.",
    )
    size_bytes: Long | None = strawberry.field(
        description="The size of the input in bytes; null until it is complete."
    )
    read_as: str | None = strawberry.field(
        description="The way in which a worker of the server read the file, for people: its "
        "encoding, and what separates its fields. Null before, and for rows of a request."
    )


strawberry.enum(AttemptOutcome, description="The end of a worker's attempt.")
describe_values(
    AttemptOutcome,
    {
        AttemptOutcome.RUNNING: "The attempt goes on.",
        AttemptOutcome.SUCCEEDED: "The worker wrote the result.",
        AttemptOutcome.FAILED: "The worker, or the system, ended the execution as failed.",
        AttemptOutcome.CANCELLED: "A user cancelled the execution.",
        AttemptOutcome.LOST: (
            "The worker sent no heartbeat for too long, and another one took over."
        ),
    },
)


@strawberry.type(description="One attempt of a worker at an execution.")
class ExecutionAttempt:
    worker: str = strawberry.field(description="The name of the worker.")
    started_at: DateTime = strawberry.field(
        description="The time when the worker claimed the execution, in UTC."
    )
    ended_at: DateTime | None = strawberry.field(
        description="The time when the attempt ended, in UTC; null while it goes on."
    )
    outcome: AttemptOutcome = strawberry.field(description="The end of the attempt.")
    note: str | None = strawberry.field(
        description="A remark about the end of the attempt; null if there is none, and for a "
        "caller who may not read the files of the execution."
    )
