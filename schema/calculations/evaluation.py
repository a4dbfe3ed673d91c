"""The query field that evaluates calculations, with its input and its result."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.evaluation.evaluator import MAX_ROWS, PreparedFormula
from penstock.datastore.resources.version_labels.labels import VersionName
from penstock.datastore.roles import GroupPath
from penstock.resolvers import resources
from penstock.resolvers.resources import CalculationDraft, EvaluationSubject
from penstock.schema.calculations.formula_values import EvaluationError, Explanation, FormulaValue
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import IllegalState, LimitExceeded, NotFound, ValidationProblem
from penstock.schema.core.relay import GlobalId, parse_key
from penstock.schema.core.scalars import Row
from penstock.schema.engine.cost import price_metadata
from penstock.schema.resources.transformers import OutputInput, ParameterInput

EVALUATE_PRICE = price_metadata(100)
EXPLAIN_PRICE = price_metadata(20)


@strawberry.type(description="A reference dataset in which the formula looked up values.")
class UsedDataset:
    id: strawberry.ID = strawberry.field(description="The global id of the reference dataset.")
    name: str = strawberry.field(description="The name of the reference dataset.")
    version: int = strawberry.field(description="The number of the version that was read.")


@strawberry.type(
    description=("The result of an evaluation. An error in one row does not affect the other rows.")
)
class EvaluatePayload:
    version: int | None = strawberry.field(
        description="The number of the version of the calculation; null for a draft."
    )
    values: list[FormulaValue] = strawberry.field(
        description=(
            "The values in the order of the rows, one for each row; the type of a value is "
            "`NULL` where the row has an error."
        )
    )
    errors: list[EvaluationError] = strawberry.field(
        description="The errors of the rows that have no value, in the order of the rows."
    )
    datasets: list[UsedDataset] = strawberry.field(
        description="The reference datasets that `LOOKUP` and `IMPACT` read, sorted by name."
    )
    prepared: strawberry.Private[PreparedFormula]
    rows: strawberry.Private[list[Row]]

    @strawberry.field(
        graphql_type=Explanation | None,
        metadata=EXPLAIN_PRICE,
        description="The steps by which one of the rows comes to its value.",
    )
    async def explanation(
        self,
        row: Annotated[
            int,
            strawberry.argument(
                description="The position of the row, counted from 0. The default is 0."
            ),
        ] = 0,
    ) -> Explanation:
        if not 0 <= row < len(self.rows):
            raise Invalid([FieldProblem(["row"], f"there are {len(self.rows)} rows")])
        return Explanation.from_explained(row, await self.prepared.explain(self.rows[row]))


EvaluateResult = Annotated[
    EvaluatePayload | NotFound | ValidationProblem | LimitExceeded | IllegalState,
    strawberry.union(
        "EvaluateResult", description="The values, or the reason why nothing was evaluated."
    ),
]


@strawberry.input(
    description=(
        "A calculation that is not saved. It is checked by the same rules as one that is saved."
    )
)
class DraftCalculationInput:
    formula: str = strawberry.field(
        description="The formula that computes the value of the first output."
    )
    parameters: list[ParameterInput] | None = strawberry.field(
        default=UNSET,
        description=(
            "The parameters of the formula. The formula must use each of them. The default is none."
        ),
    )
    outputs: list[OutputInput] = strawberry.field(
        description="The outputs that the calculation fills."
    )

    def draft(self) -> CalculationDraft:
        parameters = [one.record() for one in unset_to_none(self.parameters) or ()]
        return CalculationDraft(self.formula, parameters, [one.record() for one in self.outputs])


@strawberry.input(
    description=(
        "The calculation to evaluate, and the rows to evaluate it for. Give exactly one "
        "of `id`, `name` and `draft`."
    )
)
class EvaluateInput:
    id: strawberry.ID | None = strawberry.field(
        default=UNSET, description="The global id of a saved calculation."
    )
    name: str | None = strawberry.field(
        default=UNSET,
        description=(
            "The name of a saved calculation, as the group sees it. Upper and lower case "
            "are the same."
        ),
    )
    draft: DraftCalculationInput | None = strawberry.field(
        default=UNSET,
        description=(
            "A calculation that is not saved. It sees the calculations and reference "
            "datasets that the group sees."
        ),
    )
    group: GroupPath | None = strawberry.field(
        default=UNSET,
        description=(
            "The path of the group for `name` and `draft`. The default is the caller's "
            "default group."
        ),
    )
    version: int | None = strawberry.field(
        default=UNSET,
        description=(
            "The number of the version to evaluate. The default is the latest version. A "
            "draft has no versions."
        ),
    )
    label: str | None = strawberry.field(
        default=UNSET, description="A label of the version to evaluate, instead of its number."
    )
    rows: list[Row] = strawberry.field(
        description=(
            f"The rows to evaluate, at most {MAX_ROWS}. Each gives the inputs of the formula "
            "by the keys of its parameters."
        )
    )

    def subject(self) -> EvaluationSubject:
        id, draft = unset_to_none(self.id), unset_to_none(self.draft)
        return EvaluationSubject(
            id=None if id is None else parse_key("Calculation", id),
            name=unset_to_none(self.name),
            draft=None if draft is None else draft.draft(),
            group=unset_to_none(self.group),
            version=VersionName(unset_to_none(self.version), unset_to_none(self.label)),
        )


@strawberry.type
class EvaluationQuery:
    @strawberry.field(
        graphql_type=EvaluateResult,
        metadata=EVALUATE_PRICE,
        description=(
            "Evaluate a saved calculation, or a draft of one, for rows. The caller must see "
            "the calculation and everything that it calls and looks up."
        ),
    )
    @staticmethod
    async def evaluate(info: Info, input: InputOf[EvaluateInput]) -> EvaluatePayload:
        calculation, prepared = await resources.prepare_evaluation(info.context, input.subject())
        found = await prepared.evaluate(input.rows)
        return EvaluatePayload(
            version=None if calculation is None else calculation.version,
            values=[
                FormulaValue.from_value(value, text)
                for value, text in zip(found.values, found.texts, strict=True)
            ],
            errors=[EvaluationError.from_error(error.row, error) for error in found.errors],
            datasets=[
                UsedDataset(
                    id=GlobalId("ReferenceDataset", one.id).encode(),
                    name=one.name,
                    version=one.version,
                )
                for one in sorted(prepared.lookups.used.values(), key=lambda one: one.name)
            ],
            prepared=prepared,
            rows=input.rows,
        )
