"""Evaluating calculations: the query field, its input, and what it answers."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.evaluation.evaluator import MAX_ROWS, Prepared
from penstock.datastore.roles import GroupPath
from penstock.resolvers import resources
from penstock.resolvers.resources import Draft, Subject
from penstock.schema.calculations.formula_values import EvaluationError, Explanation, FormulaValue
from penstock.schema.core.context import Info, given
from penstock.schema.core.failures import IllegalState, LimitExceeded, NotFound, ValidationProblem
from penstock.schema.core.relay import GlobalId, key_of
from penstock.schema.core.scalars import Row
from penstock.schema.engine.cost import costs
from penstock.schema.resources.transformers import OutputInput, ParameterInput

EVALUATE = costs(100)
EXPLAIN = costs(20)


@strawberry.type(description="A reference dataset that values were looked up in.")
class UsedDataset:
    id: strawberry.ID = strawberry.field(description="The global id of the dataset.")
    name: str = strawberry.field(description="Its name.")
    version: int = strawberry.field(description="The version that was read.")


@strawberry.type(description="The rows were evaluated, each by itself.")
class EvaluatePayload:
    version: int | None = strawberry.field(
        description="The version of the calculation; null for a draft."
    )
    values: list[FormulaValue] = strawberry.field(
        description="One for each row, in their order; null where there is an error."
    )
    errors: list[EvaluationError] = strawberry.field(
        description="The rows that have no value, in their order."
    )
    datasets: list[UsedDataset] = strawberry.field(
        description="What was read for LOOKUP and IMPACT, in the order of the names."
    )
    prepared: strawberry.Private[Prepared]
    rows: strawberry.Private[list[Row]]

    @strawberry.field(
        graphql_type=Explanation | None,
        metadata=EXPLAIN,
        description="How one of the rows comes to its value.",
    )
    async def explanation(
        self,
        row: Annotated[int, strawberry.argument(description="The position, from 0.")] = 0,
    ) -> Explanation:
        if not 0 <= row < len(self.rows):
            raise Invalid([FieldProblem(["row"], f"there are {len(self.rows)} rows")])
        return Explanation.of(row, await self.prepared.explain(self.rows[row]))


EvaluateResult = Annotated[
    EvaluatePayload | NotFound | ValidationProblem | LimitExceeded | IllegalState,
    strawberry.union(
        "EvaluateResult", description="The values, or why nothing could be evaluated."
    ),
]


@strawberry.input(description="A calculation that is not saved, and would be without a problem.")
class DraftCalculationInput:
    formula: str = strawberry.field(description="How the first output is computed.")
    parameters: list[ParameterInput] | None = strawberry.field(
        default=UNSET, description="What it is given, each used by the formula."
    )
    outputs: list[OutputInput] = strawberry.field(description="What it gives.")

    def draft(self) -> Draft:
        parameters = [one.record() for one in given(self.parameters) or ()]
        return Draft(self.formula, parameters, [one.record() for one in self.outputs])


@strawberry.input(description="What to evaluate: one of `id`, `name` and `draft`. For which rows.")
class EvaluateInput:
    id: strawberry.ID | None = strawberry.field(
        default=UNSET, description="The global id of a calculation."
    )
    name: str | None = strawberry.field(
        default=UNSET, description="The name of a calculation, as the group sees it."
    )
    draft: DraftCalculationInput | None = strawberry.field(
        default=UNSET, description="A calculation that is not saved, as in the group."
    )
    group: GroupPath | None = strawberry.field(
        default=UNSET, description="For `name` and `draft`; the caller's default group if left out."
    )
    version: int | None = strawberry.field(
        default=UNSET, description="The version of the calculation; the latest if left out."
    )
    rows: list[Row] = strawberry.field(description=f"At most {MAX_ROWS}.")

    def subject(self) -> Subject:
        id, draft = given(self.id), given(self.draft)
        return Subject(
            id=None if id is None else key_of("Calculation", id),
            name=given(self.name),
            draft=None if draft is None else draft.draft(),
            group=given(self.group),
            version=given(self.version),
        )


@strawberry.type
class EvaluationQuery:
    @strawberry.field(
        graphql_type=EvaluateResult,
        metadata=EVALUATE,
        description="Evaluate a calculation, or what is to become one, for rows. Whoever sees it "
        "may, as far as they also see all that it calls and looks up.",
    )
    @staticmethod
    async def evaluate(info: Info, input: EvaluateInput) -> EvaluatePayload:
        calculation, prepared = await resources.prepare(info.context, input.subject())
        found = await prepared.evaluate(input.rows)
        return EvaluatePayload(
            version=None if calculation is None else calculation.version,
            values=[
                FormulaValue.of(value, text)
                for value, text in zip(found.values, found.texts, strict=True)
            ],
            errors=[EvaluationError.of(error.row, error) for error in found.errors],
            datasets=[
                UsedDataset(
                    id=GlobalId("ReferenceDataset", one.id).text(),
                    name=one.name,
                    version=one.version,
                )
                for one in sorted(prepared.lookups.used.values(), key=lambda one: one.name)
            ],
            prepared=prepared,
            rows=input.rows,
        )
