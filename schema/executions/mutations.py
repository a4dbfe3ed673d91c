"""The results of the mutations of executions.

The mutations of executions, and their inputs.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.executions.create import Wanted
from penstock.datastore.executions.records import Execution as Record
from penstock.datastore.executions.records import ExecutionMode
from penstock.datastore.records import DatasetContent as ContentRecord
from penstock.datastore.tag_search.tags import MAX_TAGS
from penstock.resolvers import executions
from penstock.schema.core.context import Info, TagInput, given
from penstock.schema.core.failures import (
    IllegalState,
    LimitExceeded,
    NotFound,
    NotPermitted,
    ValidationProblem,
)
from penstock.schema.core.files import UploadForm
from penstock.schema.core.relay import key_of
from penstock.schema.core.scalars import JSON, Long
from penstock.schema.datasets.datasets import DatasetContent
from penstock.schema.engine.cost import costs
from penstock.schema.executions.executions import Execution
from penstock.schema.resources.inputs import id_of, key_for, records_of


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


@strawberry.input(description="The execution to create.")
class CreateExecutionInput:
    pipeline_id: strawberry.ID = id_of("pipeline")
    mode: ExecutionMode | None = strawberry.field(
        default=ExecutionMode.JOB,
        description="JOB: its input is uploaded. INLINE: its rows are given here and run at once.",
    )
    rows: list[JSON] | None = strawberry.field(
        default=UNSET,
        description="With INLINE, at most 1,000 objects; entries are named by the parameters' "
        "labels or keys, and those left out are null.",
    )
    tags: list[TagInput] | None = strawberry.field(
        default=UNSET, description=f"What it is found by: at most {MAX_TAGS}, no two of one key."
    )
    max_failed_rows: int | None = strawberry.field(
        default=UNSET, description="With more failed rows it fails; any number may if left out."
    )
    idempotency_key: strawberry.ID | None = key_for("execution")


@strawberry.input(description="The execution whose input is there.")
class StartExecutionInput:
    id: strawberry.ID = id_of("execution")


@strawberry.input(description="The execution to cancel.")
class CancelExecutionInput:
    id: strawberry.ID = id_of("execution")


@strawberry.input(description="The execution to try again.")
class RetryExecutionInput:
    id: strawberry.ID = id_of("execution")


@strawberry.type
class ExecutionMutation:
    @strawberry.mutation(
        graphql_type=CreateExecutionResult,
        metadata=costs(10),
        description="Create an execution of a pipeline's latest version; the caller contributes to "
        "its owner group, or to a group that a grant reaches. A JOB waits until its input is "
        "uploaded with the form `upload`; an INLINE one is over when it is answered.",
    )
    @staticmethod
    async def create_execution(info: Info, input: CreateExecutionInput) -> CreateExecutionPayload:
        rows, mode = given(input.rows), input.mode or ExecutionMode.JOB
        wanted = Wanted(
            pipeline_id=key_of("Pipeline", input.pipeline_id),
            mode=mode,
            tags=records_of(given(input.tags)),
            max_failed_rows=given(input.max_failed_rows),
        )
        key = given(input.idempotency_key)
        if mode is ExecutionMode.INLINE:
            made = await executions.run_inline(info.context, wanted, _objects(rows), key)
        else:
            _require_no_rows(rows)
            made = await executions.create(info.context, wanted, key)
        return CreateExecutionPayload(execution=made)

    @strawberry.mutation(
        graphql_type=StartExecutionResult,
        description="Say that the input of an execution is uploaded; the caller may run the "
        "pipeline. Said again, it changes nothing. Uploads that nobody tells of are found too.",
    )
    @staticmethod
    async def start_execution(info: Info, input: StartExecutionInput) -> StartExecutionPayload:
        id = key_of("Execution", input.id)
        return StartExecutionPayload(execution=await executions.start(info.context, id))

    @strawberry.mutation(
        graphql_type=CancelExecutionResult,
        description="Cancel an execution that is not over; the caller created it or contributes to "
        "the owner group.",
    )
    @staticmethod
    async def cancel_execution(info: Info, input: CancelExecutionInput) -> CancelExecutionPayload:
        id = key_of("Execution", input.id)
        return CancelExecutionPayload(execution=await executions.cancel(info.context, id))

    @strawberry.mutation(
        graphql_type=RetryExecutionResult,
        description="Let an execution that failed or was cancelled begin anew with all that was "
        "pinned; the caller created it or contributes to the owner group.",
    )
    @staticmethod
    async def retry_execution(info: Info, input: RetryExecutionInput) -> RetryExecutionPayload:
        id = key_of("Execution", input.id)
        return RetryExecutionPayload(execution=await executions.retry(info.context, id))


def _objects(rows: list[JSON] | None) -> Sequence[Mapping[str, Any]]:
    if rows is None:
        raise Invalid([FieldProblem(["rows"], "must be given with the mode INLINE")])
    found = [row for row in rows if isinstance(row, dict)]
    if len(found) < len(rows):
        places = [n for n, row in enumerate(rows) if not isinstance(row, dict)]
        raise Invalid([FieldProblem(["rows", str(n)], "must be an object") for n in places])
    return found


def _require_no_rows(rows: list[JSON] | None) -> None:
    if rows is not None:
        raise Invalid([FieldProblem(["rows"], "go with the mode INLINE only")])
