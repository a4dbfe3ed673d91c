"""The mutations of calculations with their inputs, payloads and results."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.formulas.calculations import MAX_SUMMARY
from penstock.datastore.formulas.transformers import MAX_ENTRIES
from penstock.datastore.table.layout import CALCULATION
from penstock.formula.core.limits import MAX_TEXT
from penstock.schema.calculations.calculations import Calculation
from penstock.schema.core.context import input_records
from penstock.schema.resources.inputs import (
    ContentReader,
    CreateResourceInput,
    DeleteResourceInput,
    GrantResourceInput,
    RevokeResourceInput,
    UpdateResourceInput,
    id_field,
    idempotency_key_field,
    return_unchanged,
)
from penstock.schema.resources.kind_mutations import (
    CHANGED_DESCRIPTION,
    CreateFailure,
    DeleteFailure,
    GrantFailure,
    RevokeFailure,
    UpdateFailure,
    create_mutation,
    delete_mutation,
    grant_mutation,
    revoke_mutation,
    update_mutation,
)
from penstock.schema.resources.transformers import OutputInput, ParameterInput

_SUMMARY = (
    "A short text for people that says which value the calculation gives, of at "
    f"most {MAX_SUMMARY} characters."
)
_FORMULA = (
    f"The formula that computes the value of the first output, of 1 to {MAX_TEXT} characters."
)
_PARAMETERS = (
    f"The parameters of the formula, at most {MAX_ENTRIES}. The formula must use each of them."
)
_OUTPUTS = f"The outputs that the calculation fills, 1 to {MAX_ENTRIES}."


@strawberry.input(description="The calculation to create.")
class CreateCalculationInput(CreateResourceInput):
    summary: str | None = strawberry.field(default=UNSET, description=_SUMMARY)
    formula: str = strawberry.field(description=_FORMULA)
    parameters: list[ParameterInput] | None = strawberry.field(
        default=UNSET, description=_PARAMETERS
    )
    outputs: list[OutputInput] = strawberry.field(description=_OUTPUTS)
    idempotency_key: strawberry.ID | None = idempotency_key_field("calculation")


@strawberry.input(
    description=(
        "The changes to make to a calculation. A field that is left out keeps its "
        "value, and null clears the value."
    )
)
class UpdateCalculationInput(UpdateResourceInput):
    id: strawberry.ID = id_field("calculation")
    summary: str | None = strawberry.field(default=UNSET, description=_SUMMARY)
    formula: str | None = strawberry.field(default=UNSET, description=_FORMULA)
    parameters: list[ParameterInput] | None = strawberry.field(
        default=UNSET, description=_PARAMETERS
    )
    outputs: list[OutputInput] | None = strawberry.field(default=UNSET, description=_OUTPUTS)


_CONTENT_READER = ContentReader(
    {
        "summary": return_unchanged,
        "formula": return_unchanged,
        "parameters": input_records,
        "outputs": input_records,
    },
    ("formula", "outputs"),
)


@strawberry.input(description="The calculation to delete.")
class DeleteCalculationInput(DeleteResourceInput):
    id: strawberry.ID = id_field("calculation")


@strawberry.input(description="The calculation to share and the group to share it with.")
class GrantCalculationInput(GrantResourceInput):
    id: strawberry.ID = id_field("calculation")


@strawberry.input(description="The calculation and the group that loses its grant.")
class RevokeCalculationInput(RevokeResourceInput):
    id: strawberry.ID = id_field("calculation")


@strawberry.type(description="The calculation was created, or found by its idempotency key.")
class CreateCalculationPayload:
    calculation: records.Calculation = strawberry.field(
        graphql_type=Calculation, description="The calculation that was created or found."
    )


@strawberry.type(description="A new version of the calculation was created.")
class UpdateCalculationPayload:
    calculation: records.Calculation = strawberry.field(
        graphql_type=Calculation, description="The calculation with its new version."
    )


@strawberry.type(description="The calculation and all its versions were deleted.")
class DeleteCalculationPayload:
    calculation: records.Calculation = strawberry.field(
        graphql_type=Calculation, description="The calculation as it was before it was deleted."
    )


@strawberry.type(description="The group and all groups below it have access to the calculation.")
class GrantCalculationPayload:
    calculation: records.Calculation = strawberry.field(
        graphql_type=Calculation, description="The calculation with the grant."
    )
    changed: bool = strawberry.field(description=CHANGED_DESCRIPTION)


@strawberry.type(description="The group no longer has a grant of its own for the calculation.")
class RevokeCalculationPayload:
    calculation: records.Calculation = strawberry.field(
        graphql_type=Calculation, description="The calculation without the grant."
    )


CreateCalculationResult = Annotated[
    CreateCalculationPayload | CreateFailure,
    strawberry.union(
        "CreateCalculationResult",
        description="The new calculation, or the reason why none was created.",
    ),
]
UpdateCalculationResult = Annotated[
    UpdateCalculationPayload | UpdateFailure,
    strawberry.union(
        "UpdateCalculationResult",
        description="The calculation with its new version, or the reason why nothing changed.",
    ),
]
DeleteCalculationResult = Annotated[
    DeleteCalculationPayload | DeleteFailure,
    strawberry.union(
        "DeleteCalculationResult",
        description="The deleted calculation, or the reason why it was not deleted.",
    ),
]
GrantCalculationResult = Annotated[
    GrantCalculationPayload | GrantFailure,
    strawberry.union(
        "GrantCalculationResult",
        description="The calculation with the grant, or the reason why nothing changed.",
    ),
]
RevokeCalculationResult = Annotated[
    RevokeCalculationPayload | RevokeFailure,
    strawberry.union(
        "RevokeCalculationResult",
        description="The calculation without the grant, or the reason why nothing changed.",
    ),
]


@strawberry.type
class CalculationMutation:
    create_calculation = create_mutation(
        CALCULATION,
        CreateCalculationInput,
        CreateCalculationResult,
        _CONTENT_READER,
        lambda created: CreateCalculationPayload(calculation=created),
    )
    update_calculation = update_mutation(
        CALCULATION,
        UpdateCalculationInput,
        UpdateCalculationResult,
        _CONTENT_READER,
        lambda updated: UpdateCalculationPayload(calculation=updated),
    )
    delete_calculation = delete_mutation(
        CALCULATION,
        DeleteCalculationInput,
        DeleteCalculationResult,
        lambda deleted: DeleteCalculationPayload(calculation=deleted),
    )
    grant_calculation = grant_mutation(
        CALCULATION,
        GrantCalculationInput,
        GrantCalculationResult,
        lambda granted, changed: GrantCalculationPayload(calculation=granted, changed=changed),
    )
    revoke_calculation = revoke_mutation(
        CALCULATION,
        RevokeCalculationInput,
        RevokeCalculationResult,
        lambda revoked: RevokeCalculationPayload(calculation=revoked),
    )
