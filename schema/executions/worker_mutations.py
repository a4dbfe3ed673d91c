"""The mutations by which workers elsewhere run executions, and their inputs."""

import strawberry

from penstock.resolvers import executions
from penstock.schema.core.context import Info
from penstock.schema.core.files import UploadForm
from penstock.schema.core.relay import key_of
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
from penstock.schema.resources.inputs import id_of
from penstock.transform.outcome import Counts

_FENCE = "The fence of the claim."


@strawberry.input(description="How much is done.")
class ExecutionProgressInput:
    rows_succeeded: Long = strawberry.field(description="Rows with a line in the output.")
    rows_failed: Long = strawberry.field(description="Rows that were left out.")
    bytes_read: Long = strawberry.field(description="Bytes of the input that were read.")
    bytes_written: Long = strawberry.field(description="Bytes of output and rejected rows.")

    def record(self) -> Counts:
        rows = self.rows_succeeded + self.rows_failed
        return Counts(
            rows, self.rows_succeeded, self.rows_failed, self.bytes_read, self.bytes_written
        )


@strawberry.input(description="Who wants to run what.")
class ClaimExecutionInput:
    id: strawberry.ID = id_of("execution")
    worker: str = strawberry.field(description="A name for the worker, for people.")


@strawberry.input(description="A sign of life.")
class HeartbeatExecutionInput:
    id: strawberry.ID = id_of("execution")
    fence: Long = strawberry.field(description=_FENCE)
    progress: ExecutionProgressInput = strawberry.field(description="How much is done.")


@strawberry.input(description="An execution that ended in success.")
class CompleteExecutionInput:
    id: strawberry.ID = id_of("execution")
    fence: Long = strawberry.field(description=_FENCE)
    progress: ExecutionProgressInput = strawberry.field(description="How much was done.")


@strawberry.input(description="An execution that ended in failure.")
class FailExecutionInput:
    id: strawberry.ID = id_of("execution")
    fence: Long = strawberry.field(description=_FENCE)
    code: str = strawberry.field(description="Why, for a program: at most 64 characters.")
    message: str = strawberry.field(description="Why, in words: at most 1,000 characters.")


@strawberry.type
class ExecutionWorkerMutation:
    @strawberry.mutation(
        graphql_type=ClaimExecutionResult,
        description="Take an execution that is ready, or whose worker gave no sign of life for 90 "
        "seconds; the caller contributes to the owner group.",
    )
    @staticmethod
    async def claim_execution(info: Info, input: ClaimExecutionInput) -> ClaimExecutionPayload:
        id = key_of("Execution", input.id)
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
            output=UploadForm.of(claimed.output),
            errors=UploadForm.of(claimed.errors),
        )

    @strawberry.mutation(
        graphql_type=HeartbeatExecutionResult,
        description="Give a sign of life, at least every 30 seconds, and tell the progress.",
    )
    @staticmethod
    async def heartbeat_execution(
        info: Info, input: HeartbeatExecutionInput
    ) -> HeartbeatExecutionPayload:
        id, counts = key_of("Execution", input.id), input.progress.record()
        held = await executions.heartbeat(info.context, id, input.fence, counts)
        return HeartbeatExecutionPayload(execution=held)

    @strawberry.mutation(
        graphql_type=CompleteExecutionResult,
        description="End an execution in success; its output and its rejected rows are uploaded.",
    )
    @staticmethod
    async def complete_execution(
        info: Info, input: CompleteExecutionInput
    ) -> CompleteExecutionPayload:
        id, counts = key_of("Execution", input.id), input.progress.record()
        ended = await executions.complete(info.context, id, input.fence, counts)
        return CompleteExecutionPayload(execution=ended)

    @strawberry.mutation(
        graphql_type=FailExecutionResult, description="End an execution in failure, and say why."
    )
    @staticmethod
    async def fail_execution(info: Info, input: FailExecutionInput) -> FailExecutionPayload:
        id = key_of("Execution", input.id)
        ended = await executions.fail(info.context, id, input.fence, input.code, input.message)
        return FailExecutionPayload(execution=ended)
