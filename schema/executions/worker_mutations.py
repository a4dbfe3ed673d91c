"""The mutations with which external workers run executions, and their inputs."""

import strawberry

from penstock.datastore.executions.failure_codes import WORKER_CODES
from penstock.resolvers import executions
from penstock.schema.core.context import Info
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.files import UploadForm
from penstock.schema.core.relay import parse_key
from penstock.schema.core.scalars import JSON, Long
from penstock.schema.executions.mutations import (
    ClaimedDataset,
    ClaimExecutionPayload,
    ClaimExecutionResult,
    CompleteExecutionPayload,
    CompleteExecutionResult,
    FailExecutionPayload,
    FailExecutionResult,
    HeartbeatExecutionPayload,
    HeartbeatExecutionResult,
)
from penstock.schema.resources.inputs import id_field
from penstock.transform.outcome import RowCounts

_FENCE = "The fence of the claim, as `claimExecution` returned it."


@strawberry.input(description="The progress of an execution, counted from its start.")
class ExecutionProgressInput:
    rows_succeeded: Long = strawberry.field(
        description="The number of rows that were written to the output."
    )
    rows_failed: Long = strawberry.field(
        description="The number of rows that were rejected and left out of the output."
    )
    bytes_read: Long = strawberry.field(
        description="The number of bytes of the input that were read."
    )
    bytes_written: Long = strawberry.field(
        description="The number of bytes that were written to the output and to the file of "
        "rejected rows."
    )

    def record(self) -> RowCounts:
        rows = self.rows_succeeded + self.rows_failed
        return RowCounts(
            rows, self.rows_succeeded, self.rows_failed, self.bytes_read, self.bytes_written
        )


@strawberry.input(description="The execution to claim, and the worker that claims it.")
class ClaimExecutionInput:
    id: strawberry.ID = id_field("execution")
    worker: str = strawberry.field(
        description="The name of the worker, to be shown to people. It has no colon with a space "
        "behind it."
    )


@strawberry.input(description="The heartbeat of a worker for an execution that it has claimed.")
class HeartbeatExecutionInput:
    id: strawberry.ID = id_field("execution")
    fence: Long = strawberry.field(description=_FENCE)
    progress: ExecutionProgressInput = strawberry.field(
        description="The progress of the execution so far."
    )


@strawberry.input(description="The execution that succeeded.")
class CompleteExecutionInput:
    id: strawberry.ID = id_field("execution")
    fence: Long = strawberry.field(description=_FENCE)
    progress: ExecutionProgressInput = strawberry.field(
        description="The final progress of the execution."
    )


@strawberry.input(description="The execution that failed, and the reason.")
class FailExecutionInput:
    id: strawberry.ID = id_field("execution")
    fence: Long = strawberry.field(description=_FENCE)
    code: str = strawberry.field(
        description=f"The code of the failure, for programs: one of {', '.join(WORKER_CODES)}."
    )
    message: str = strawberry.field(
        description="The description of the failure, for people: at most 1,000 characters, "
        "and no control characters but ends of lines and tabs."
    )


@strawberry.type
class ExecutionWorkerMutation:
    @strawberry.mutation(
        graphql_type=ClaimExecutionResult,
        description="Claim an execution that is ready, or whose worker has sent no heartbeat for "
        "90 seconds. The caller must be a contributor of the owner group.",
    )
    @staticmethod
    async def claim_execution(
        info: Info, input: InputOf[ClaimExecutionInput]
    ) -> ClaimExecutionPayload:
        id = parse_key("Execution", input.id)
        claimed = await executions.claim(info.context, id, input.worker)
        return ClaimExecutionPayload(
            execution=claimed.execution,
            fence=Long(claimed.execution.fence),
            plan=JSON(claimed.plan),
            input_url=claimed.input.url,
            datasets=[
                ClaimedDataset(identity=one.identity, content=one.content, url=one.download.url)
                for one in claimed.datasets
            ],
            output=UploadForm.from_port(claimed.output),
            errors=UploadForm.from_port(claimed.errors),
        )

    @strawberry.mutation(
        graphql_type=HeartbeatExecutionResult,
        description="Keep the claim of an execution and report its progress. A worker must send a "
        "heartbeat at least every 30 seconds.",
    )
    @staticmethod
    async def heartbeat_execution(
        info: Info, input: InputOf[HeartbeatExecutionInput]
    ) -> HeartbeatExecutionPayload:
        id, counts = parse_key("Execution", input.id), input.progress.record()
        held = await executions.heartbeat(info.context, id, input.fence, counts)
        return HeartbeatExecutionPayload(execution=held)

    @strawberry.mutation(
        graphql_type=CompleteExecutionResult,
        description="Report that an execution succeeded, once its output and its rejected rows "
        "have been uploaded. With more failed rows than `maxFailedRows`, or with rows of which "
        "none succeeded, it has failed, and `failExecution` reports it.",
    )
    @staticmethod
    async def complete_execution(
        info: Info, input: InputOf[CompleteExecutionInput]
    ) -> CompleteExecutionPayload:
        id, counts = parse_key("Execution", input.id), input.progress.record()
        ended = await executions.complete(info.context, id, input.fence, counts)
        return CompleteExecutionPayload(execution=ended)

    @strawberry.mutation(
        graphql_type=FailExecutionResult,
        description="Report that an execution failed, with the reason.",
    )
    @staticmethod
    async def fail_execution(
        info: Info, input: InputOf[FailExecutionInput]
    ) -> FailExecutionPayload:
        id = parse_key("Execution", input.id)
        ended = await executions.fail(info.context, id, input.fence, input.code, input.message)
        return FailExecutionPayload(execution=ended)
