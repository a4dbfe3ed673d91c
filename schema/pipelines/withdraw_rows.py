"""The mutation that withdraws kept rows."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.errors import FieldProblem, Invalid, blame_field
from penstock.datastore.kept_rows.withdraw import MAX_KEYS, MAX_REASON
from penstock.datastore.table.layout import PIPELINE
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import (
    IllegalState,
    LimitExceeded,
    NotFound,
    NotPermitted,
    ValidationProblem,
)
from penstock.schema.core.relay import parse_key
from penstock.schema.engine.cost import price_metadata
from penstock.schema.pipelines.pipelines import Pipeline


@strawberry.input(
    description="The rows to withdraw, and the reason. Give either `keys` or `executionId`."
)
class WithdrawRowsInput:
    pipeline_id: strawberry.ID = strawberry.field(description="The global id of the pipeline.")
    keys: list[list[str]] | None = strawberry.field(
        default=UNSET,
        description="The keys of the rows: for each row the values that identify it, as `key` of "
        f"a row has them. At most {MAX_KEYS} rows.",
    )
    execution_id: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="The global id of an execution: all rows in the caller's sight are withdrawn "
        "that stand as it made them. Rows that a later execution corrected stay, and so do those "
        "of groups out of sight.",
    )
    reason: str = strawberry.field(
        description=f"The reason of the withdrawal, in 1 to {MAX_REASON} characters."
    )


@strawberry.type(description="The rows were withdrawn. They are in no total from now on.")
class WithdrawRowsPayload:
    pipeline: records.Pipeline = strawberry.field(
        graphql_type=Pipeline, description="The pipeline whose rows were withdrawn."
    )
    count: int = strawberry.field(description="The number of rows that were withdrawn.")


WithdrawRowsResult = Annotated[
    WithdrawRowsPayload
    | NotFound
    | NotPermitted
    | ValidationProblem
    | LimitExceeded
    | IllegalState,
    strawberry.union(
        "WithdrawRowsResult",
        description="The number of withdrawn rows, or the reason why none was.",
    ),
]


@strawberry.type
class KeptRowMutation:
    @strawberry.mutation(
        graphql_type=WithdrawRowsResult,
        metadata=price_metadata(100),
        description="Withdraw rows that a pipeline keeps: all that `keys` name, or all in the "
        "caller's sight that `executionId` made; none if one of them cannot be. A later execution "
        "can make them again. The caller must be a contributor at the groups of the rows.",
    )
    @staticmethod
    async def withdraw_rows(info: Info, input: InputOf[WithdrawRowsInput]) -> WithdrawRowsPayload:
        keys, execution = unset_to_none(input.keys), unset_to_none(input.execution_id)
        if (keys is None) is (execution is None):
            raise Invalid([FieldProblem(["keys"], "give either `keys` or `executionId`")])
        session = info.context.session
        with blame_field("pipelineId"):
            pipeline = await info.context.loaders.of(PIPELINE).latest(
                parse_key("Pipeline", input.pipeline_id)
            )
        withdrawing = session.row_withdrawals
        if keys is not None:
            count = await withdrawing.by_keys(pipeline, keys, input.reason)
        else:
            with blame_field("executionId"):
                made_by = parse_key("Execution", execution or "")
            count = await withdrawing.by_execution(pipeline, made_by, input.reason)
        session.kept_rows.forget(pipeline.id)
        return WithdrawRowsPayload(pipeline=pipeline, count=count)
