"""The query field that runs rows through a pipeline and stores nothing."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.executions.dry_run import DryRunResult
from penstock.datastore.resources.version_labels.labels import VersionName
from penstock.datastore.roles import GroupPath
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
from penstock.schema.core.scalars import JSON
from penstock.schema.engine.cost import price_metadata
from penstock.schema.executions.inline_results import InlineResults, inline_results
from penstock.schema.executions.inline_rows import require_objects
from penstock.schema.executions.row_explanations import RowExplanation, show_row
from penstock.schema.resources.transformers import TransformerInput

PRICE = price_metadata(100)


@strawberry.type(description="The results of a dry run; an error in one row stops no other row.")
class EvaluatePipelinePayload:
    version: int | None = strawberry.field(
        description="The number of the version of the pipeline; null for a draft."
    )
    results: InlineResults = strawberry.field(
        description="The outputs of the rows, and the problems of those that were rejected."
    )
    ran: strawberry.Private[DryRunResult]

    @strawberry.field(
        metadata=PRICE,
        description="The steps by which one of the rows comes to its values, up to the first "
        "formula that fails. The caller must see the calculations and reference datasets that they "
        "use.",
    )
    @staticmethod
    async def explanation(
        payload: strawberry.Parent["EvaluatePipelinePayload"],
        info: Info,
        row: Annotated[
            int, strawberry.argument(description="The number of the row, counted from 1.")
        ],
    ) -> RowExplanation:
        runs = info.context.session.executions.dry_runs
        return show_row(await runs.explain(payload.ran, row))


EvaluatePipelineResult = Annotated[
    EvaluatePipelinePayload
    | NotFound
    | NotPermitted
    | ValidationProblem
    | LimitExceeded
    | IllegalState,
    strawberry.union(
        "EvaluatePipelineResult",
        description="The outputs, or the reason why nothing was evaluated.",
    ),
]


@strawberry.input(
    description="The pipeline to evaluate, and the rows to evaluate it for. Give either `id` or "
    "`draft`."
)
class EvaluatePipelineInput:
    id: strawberry.ID | None = strawberry.field(
        default=UNSET, description="The global id of a saved pipeline."
    )
    draft: TransformerInput | None = strawberry.field(
        default=UNSET,
        description="A transformer that is not saved. It is checked by the same rules as one that "
        "is saved.",
    )
    group: GroupPath | None = strawberry.field(
        default=UNSET,
        description="The path of the group in which the draft would be saved. The default is the "
        "caller's default group.",
    )
    version: int | None = strawberry.field(
        default=UNSET,
        description="The number of the version to evaluate. The default is the latest version. A "
        "draft has no versions.",
    )
    label: str | None = strawberry.field(
        default=UNSET, description="A label of the version to evaluate, instead of its number."
    )
    rows: list[JSON] = strawberry.field(
        description="The rows to evaluate: 1 to 1,000 objects with the labels or keys of the "
        "parameters as keys; missing entries are null."
    )


@strawberry.type
class DryRunQuery:
    @strawberry.field(
        graphql_type=EvaluatePipelineResult,
        metadata=PRICE,
        description="Run rows through a saved pipeline, or through a draft of one, as an execution "
        "would, and store nothing. The caller must be allowed to run the pipeline, or to save the "
        "draft in the group.",
    )
    @staticmethod
    async def evaluate_pipeline(
        info: Info, input: InputOf[EvaluatePipelineInput]
    ) -> EvaluatePipelinePayload:
        id, draft = unset_to_none(input.id), unset_to_none(input.draft)
        version = VersionName(unset_to_none(input.version), unset_to_none(input.label))
        rows = require_objects(input.rows)
        runs = info.context.session.executions.dry_runs
        if id is not None and draft is None:
            ran = await runs.run_saved(parse_key("Pipeline", id), rows, version)
        elif draft is not None and id is None and not version.is_latest:
            raise Invalid([FieldProblem(["version"], "a draft has no versions")])
        elif draft is not None and id is None:
            ran = await runs.run_draft(unset_to_none(input.group), draft.record(), rows)
        else:
            raise Invalid([FieldProblem(["id"], "give either `id` or `draft`")])
        results = inline_results(ran.output)
        return EvaluatePipelinePayload(version=ran.version, results=results, ran=ran)
