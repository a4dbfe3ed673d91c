"""The results of the mutations of executions."""

from typing import Annotated

import strawberry

from penstock.datastore.executions.records import Execution as Record
from penstock.datastore.records import DatasetContent as ContentRecord
from penstock.schema.datasets import DatasetContent
from penstock.schema.executions import Execution
from penstock.schema.failures import (
    IllegalState,
    LimitExceeded,
    NotFound,
    NotPermitted,
    ValidationProblem,
)
from penstock.schema.files import UploadForm
from penstock.schema.scalars import JSON, Long


@strawberry.type(description="An execution was created, or found by its idempotency key.")
class CreateExecutionPayload:
    execution: Record = strawberry.field(graphql_type=Execution)


@strawberry.type(description="The input is there, and the execution ready.")
class StartExecutionPayload:
    execution: Record = strawberry.field(graphql_type=Execution)


@strawberry.type(description="The execution is cancelled.")
class CancelExecutionPayload:
    execution: Record = strawberry.field(graphql_type=Execution)


@strawberry.type(description="The execution begins anew.")
class RetryExecutionPayload:
    execution: Record = strawberry.field(graphql_type=Execution)


@strawberry.type(description="A reference dataset that the formulas of a plan look values up in.")
class ClaimedDataset:
    identity: str = strawberry.field(description="What the plan calls it: its id and version.")
    content: ContentRecord = strawberry.field(
        graphql_type=DatasetContent, description="What it holds."
    )
    url: str = strawberry.field(description="Answers GET with its file, with ranges.")


@strawberry.type(
    description="The execution is the worker's, with all that it takes to run it. URLs and forms "
    "are valid for a day."
)
class ClaimExecutionPayload:
    execution: Record = strawberry.field(graphql_type=Execution)
    fence: Long = strawberry.field(description="To be named in all that is said about it.")
    plan: JSON = strawberry.field(
        description="The columns of the input, the formulas in their order, and the calculations "
        "and reference datasets that these reach."
    )
    input_url: str = strawberry.field(description="Answers GET, with ranges.")
    datasets: list[ClaimedDataset] = strawberry.field(
        description="The reference datasets, each once."
    )
    output: UploadForm = strawberry.field(description="Uploads the output.")
    errors: UploadForm = strawberry.field(description="Uploads the rejected rows.")


@strawberry.type(description="The execution is still the worker's.")
class HeartbeatExecutionPayload:
    execution: Record = strawberry.field(graphql_type=Execution)


@strawberry.type(description="The execution ended in success.")
class CompleteExecutionPayload:
    execution: Record = strawberry.field(graphql_type=Execution)


@strawberry.type(description="The execution ended in failure.")
class FailExecutionPayload:
    execution: Record = strawberry.field(graphql_type=Execution)


CreateExecutionResult = Annotated[
    CreateExecutionPayload
    | NotFound
    | NotPermitted
    | ValidationProblem
    | LimitExceeded
    | IllegalState,
    strawberry.union(
        "CreateExecutionResult", description="The new execution, or why there is none."
    ),
]
StartExecutionResult = Annotated[
    StartExecutionPayload | NotFound | NotPermitted | IllegalState,
    strawberry.union(
        "StartExecutionResult", description="The execution, or why it cannot be started."
    ),
]
CancelExecutionResult = Annotated[
    CancelExecutionPayload | NotFound | NotPermitted | IllegalState,
    strawberry.union(
        "CancelExecutionResult", description="The execution, or why it goes on or was over."
    ),
]
RetryExecutionResult = Annotated[
    RetryExecutionPayload | NotFound | NotPermitted | IllegalState,
    strawberry.union(
        "RetryExecutionResult", description="The execution, or why it does not begin anew."
    ),
]
ClaimExecutionResult = Annotated[
    ClaimExecutionPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union("ClaimExecutionResult", description="The execution, or why it is not given."),
]
HeartbeatExecutionResult = Annotated[
    HeartbeatExecutionPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union(
        "HeartbeatExecutionResult",
        description="The execution, or why it is no longer the worker's.",
    ),
]
CompleteExecutionResult = Annotated[
    CompleteExecutionPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union(
        "CompleteExecutionResult", description="The execution, or why it did not end."
    ),
]
FailExecutionResult = Annotated[
    FailExecutionPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union("FailExecutionResult", description="The execution, or why it did not end."),
]
