"""The type of explanations of output rows."""

import strawberry

from penstock.datastore.executions.explanations.explain_row import ExplainedRow
from penstock.schema.calculations.formula_values import Explanation
from penstock.schema.core.scalars import JSON


@strawberry.type(description="An output of a row, and how its formula comes to the value.")
class ExplainedOutput:
    key: str = strawberry.field(description="The key of the output.")
    formula: str = strawberry.field(
        description="The formula in the version of the pipeline that made the row."
    )
    explanation: Explanation = strawberry.field(description="The steps of the formula.")


@strawberry.type(
    description="The way from an input row to an output row, with the versions of calculations and "
    "reference datasets that the execution had pinned."
)
class RowExplanation:
    row: int = strawberry.field(
        description="The number of the row in the input file, counted from 1."
    )
    input: JSON = strawberry.field(
        description="An object with the entries of the input row by the keys of the parameters."
    )
    outputs: list[ExplainedOutput] = strawberry.field(
        description="The outputs of the row, in their order."
    )


def show_row(found: ExplainedRow) -> RowExplanation:
    outputs = [
        ExplainedOutput(
            key=one.key,
            formula=one.formula,
            explanation=Explanation.from_explained(found.input.number, one.explained),
        )
        for one in found.outputs
    ]
    return RowExplanation(row=found.input.number, input=JSON(found.input.entries), outputs=outputs)
