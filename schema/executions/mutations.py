"""The mutations that users call on executions, their inputs, and the results of all mutations."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from penstock.datastore.errors import FieldProblem, Invalid, blame_field
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.records import Execution as Record
from penstock.datastore.records import DatasetContent as ContentRecord
from penstock.resolvers import executions
from penstock.schema.core.context import Info, TagInput, input_records, unset_to_none
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import (
    IllegalState,
    LimitExceeded,
    NotFound,
    NotPermitted,
    QuotaExceeded,
    ValidationProblem,
)
from penstock.schema.core.files import UploadForm
from penstock.schema.core.relay import parse_key
from penstock.schema.core.scalars import JSON, Long
from penstock.schema.datasets.datasets import DatasetContent
from penstock.schema.engine.cost import price_metadata
from penstock.schema.executions.executions import Execution
from penstock.schema.executions.inline_rows import require_objects
from penstock.schema.executions.states import ExecutionMode, OutputFormat
from penstock.schema.resources.inputs import id_field, idempotency_key_field


@strawberry.type(description="The result of creating an execution.")
class CreateExecutionPayload:
    execution: Record = strawberry.field(
        graphql_type=Execution,
        description="The new execution, or the one created before with the same idempotency key.",
    )


@strawberry.type(description="The result of starting an execution.")
class StartExecutionPayload:
    execution: Record = strawberry.field(
        graphql_type=Execution, description="The execution, which is now ready for a worker."
    )


@strawberry.type(description="The result of cancelling an execution.")
class CancelExecutionPayload:
    execution: Record = strawberry.field(
        graphql_type=Execution, description="The execution that was cancelled."
    )


@strawberry.type(description="The result of retrying an execution.")
class RetryExecutionPayload:
    execution: Record = strawberry.field(
        graphql_type=Execution, description="The execution, which starts again from the beginning."
    )


@strawberry.type(description="A reference dataset in which the formulas of a plan look up values.")
class ClaimedDataset:
    identity: str = strawberry.field(
        description="The name of the dataset in the plan, made of its id and version."
    )
    content: ContentRecord = strawberry.field(
        graphql_type=DatasetContent,
        description="The description of the dataset's content: its columns and its file.",
    )
    url: str = strawberry.field(
        description="The signed URL of the dataset's file for GET requests, with support for HTTP "
        "range requests."
    )


@strawberry.type(
    description="The result of claiming an execution, with everything that the worker needs to "
    "run it. The URLs and forms are valid for one day."
)
class ClaimExecutionPayload:
    execution: Record = strawberry.field(
        graphql_type=Execution, description="The execution that the worker has claimed."
    )
    fence: Long = strawberry.field(
        description="The fence of this claim: a number to send with every heartbeat and with the "
        "result."
    )
    plan: JSON = strawberry.field(
        description="The plan of the execution: the input columns, the formulas in their order, "
        "and the calculations and reference datasets that the formulas use."
    )
    input_url: str = strawberry.field(
        description="The signed URL of the input for GET requests, with support for HTTP range "
        "requests."
    )
    datasets: list[ClaimedDataset] = strawberry.field(
        description="The reference datasets that the plan uses, each once."
    )
    output: UploadForm = strawberry.field(description="The form that uploads the output.")
    errors: UploadForm = strawberry.field(description="The form that uploads the rejected rows.")


@strawberry.type(description="The result of a heartbeat: the worker still holds the execution.")
class HeartbeatExecutionPayload:
    execution: Record = strawberry.field(
        graphql_type=Execution, description="The execution with the reported progress."
    )


@strawberry.type(description="The result of completing an execution.")
class CompleteExecutionPayload:
    execution: Record = strawberry.field(
        graphql_type=Execution, description="The execution, which has succeeded."
    )


@strawberry.type(description="The result of reporting a failure.")
class FailExecutionPayload:
    execution: Record = strawberry.field(
        graphql_type=Execution, description="The execution, which has failed."
    )


CreateExecutionResult = Annotated[
    CreateExecutionPayload
    | NotFound
    | NotPermitted
    | ValidationProblem
    | LimitExceeded
    | QuotaExceeded
    | IllegalState,
    strawberry.union(
        "CreateExecutionResult",
        description="The new execution, or the reason why it was not created.",
    ),
]
StartExecutionResult = Annotated[
    StartExecutionPayload | NotFound | NotPermitted | IllegalState,
    strawberry.union(
        "StartExecutionResult",
        description="The started execution, or the reason why it cannot start.",
    ),
]
CancelExecutionResult = Annotated[
    CancelExecutionPayload | NotFound | NotPermitted | IllegalState,
    strawberry.union(
        "CancelExecutionResult",
        description="The cancelled execution, or the reason why it was not cancelled.",
    ),
]
RetryExecutionResult = Annotated[
    RetryExecutionPayload | NotFound | NotPermitted | IllegalState | LimitExceeded | QuotaExceeded,
    strawberry.union(
        "RetryExecutionResult", description="The execution, or the reason why it cannot be retried."
    ),
]
ClaimExecutionResult = Annotated[
    ClaimExecutionPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union(
        "ClaimExecutionResult",
        description="The claimed execution, or the reason why the worker cannot have it.",
    ),
]
HeartbeatExecutionResult = Annotated[
    HeartbeatExecutionPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union(
        "HeartbeatExecutionResult",
        description="The execution, or the reason why the worker no longer holds it.",
    ),
]
CompleteExecutionResult = Annotated[
    CompleteExecutionPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union(
        "CompleteExecutionResult",
        description="The completed execution, or the reason why it was not completed.",
    ),
]
FailExecutionResult = Annotated[
    FailExecutionPayload | NotFound | NotPermitted | ValidationProblem | IllegalState,
    strawberry.union(
        "FailExecutionResult",
        description="The failed execution, or the reason why the failure was not accepted.",
    ),
]


@strawberry.input(description="The execution to create, with its pipeline and mode.")
class CreateExecutionInput:
    pipeline_id: strawberry.ID = id_field("pipeline")
    mode: ExecutionMode | None = strawberry.field(
        default=ExecutionMode.JOB,
        description="The way in which the execution receives its input: with JOB the input is "
        "uploaded as a file, with INLINE the rows are given here and executed at once.",
    )
    rows: list[JSON] | None = strawberry.field(
        default=UNSET,
        description="The input rows, required with INLINE and not allowed with JOB: at most 1,000 "
        "objects with the labels or keys of the parameters as keys; missing entries are null.",
    )
    tags: list[TagInput] | None = strawberry.field(
        default=UNSET,
        description="The tags by which the execution can be found: at most 30, or 18 of two levels "
        "each, with different keys. A tag takes one write and two for each level of its value; all "
        "tags take 90 at most.",
    )
    max_failed_rows: int | None = strawberry.field(
        default=UNSET,
        description="The execution fails if more rows than this fail; there is no limit if left "
        "out.",
    )
    output_format: OutputFormat | None = strawberry.field(
        default=OutputFormat.CSV,
        description="The format of the output file. PARQUET is for the mode JOB, and needs a "
        "server with the extra `results`.",
    )
    input_name: str | None = strawberry.field(
        default=UNSET,
        description="The name of the input, such as that of its file, for people: 1 to 255 "
        "characters.",
    )
    idempotency_key: strawberry.ID | None = idempotency_key_field("execution")


@strawberry.input(description="The execution to start; its input has been uploaded.")
class StartExecutionInput:
    id: strawberry.ID = id_field("execution")


@strawberry.input(description="The execution to cancel.")
class CancelExecutionInput:
    id: strawberry.ID = id_field("execution")


@strawberry.input(description="The execution to retry.")
class RetryExecutionInput:
    id: strawberry.ID = id_field("execution")


@strawberry.type
class ExecutionMutation:
    @strawberry.mutation(
        graphql_type=CreateExecutionResult,
        metadata=price_metadata(10),
        description="Create an execution of the latest version of a pipeline. The caller must be "
        "a contributor of the pipeline's owner group or of a group that a grant reaches. A JOB "
        "waits until its input is uploaded with the form in `upload`; an INLINE execution has "
        "ended when the response arrives.",
    )
    @staticmethod
    async def create_execution(
        info: Info, input: InputOf[CreateExecutionInput]
    ) -> CreateExecutionPayload:
        rows, mode = unset_to_none(input.rows), input.mode or ExecutionMode.JOB
        key = unset_to_none(input.idempotency_key)
        with blame_field("pipelineId"):
            wanted = ExecutionRequest(
                pipeline_id=parse_key("Pipeline", input.pipeline_id),
                mode=mode,
                tags=input_records(unset_to_none(input.tags)),
                max_failed_rows=unset_to_none(input.max_failed_rows),
                input_name=unset_to_none(input.input_name),
                output_format=input.output_format or OutputFormat.CSV,
            )
            if mode is ExecutionMode.INLINE:
                objects = _require_rows(rows)
                made = await executions.run_inline(info.context, wanted, objects, key)
            else:
                _require_no_rows(rows)
                made = await executions.create(info.context, wanted, key)
        return CreateExecutionPayload(execution=made)

    @strawberry.mutation(
        graphql_type=StartExecutionResult,
        description="Report that the input of an execution has been uploaded. The caller must be "
        "allowed to run the pipeline. Calling it again has no effect. The server also finds "
        "uploads that are not reported.",
    )
    @staticmethod
    async def start_execution(
        info: Info, input: InputOf[StartExecutionInput]
    ) -> StartExecutionPayload:
        id = parse_key("Execution", input.id)
        return StartExecutionPayload(execution=await executions.start(info.context, id))

    @strawberry.mutation(
        graphql_type=CancelExecutionResult,
        description="Cancel an execution that has not ended. The caller must have created it or "
        "be a contributor of the owner group.",
    )
    @staticmethod
    async def cancel_execution(
        info: Info, input: InputOf[CancelExecutionInput]
    ) -> CancelExecutionPayload:
        id = parse_key("Execution", input.id)
        return CancelExecutionPayload(execution=await executions.cancel(info.context, id))

    @strawberry.mutation(
        graphql_type=RetryExecutionResult,
        description="Start an execution that failed or was cancelled from the beginning, with the "
        "same pinned versions. The caller must have created it or be a contributor of the owner "
        "group.",
    )
    @staticmethod
    async def retry_execution(
        info: Info, input: InputOf[RetryExecutionInput]
    ) -> RetryExecutionPayload:
        id = parse_key("Execution", input.id)
        return RetryExecutionPayload(execution=await executions.retry(info.context, id))


def _require_rows(rows: list[JSON] | None) -> Sequence[Mapping[str, Any]]:
    if rows is None:
        raise Invalid([FieldProblem(["rows"], "must be given with the mode INLINE")])
    return require_objects(rows)


def _require_no_rows(rows: list[JSON] | None) -> None:
    if rows is not None:
        raise Invalid([FieldProblem(["rows"], "go with the mode INLINE only")])
