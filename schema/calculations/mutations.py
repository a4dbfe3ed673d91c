"""The mutations of calculations with their inputs, payloads and results."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.formulas.calculations import MAX_SUMMARY
from penstock.datastore.formulas.transformers import MAX_ENTRIES
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import CALCULATION
from penstock.formula.core.limits import MAX_TEXT
from penstock.schema.calculations.calculations import Calculation
from penstock.schema.core.context import Info, input_records
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import (
    IllegalState,
    InUse,
    LimitExceeded,
    NameTaken,
    NotFound,
    NotPermitted,
    QuotaExceeded,
    ValidationProblem,
    VersionConflict,
)
from penstock.schema.resources.inputs import (
    ContentReader,
    CreateResourceInput,
    DeleteResourceInput,
    UpdateResourceInput,
    id_field,
    idempotency_key_field,
    return_unchanged,
)
from penstock.schema.resources.mutations import (
    CHANGED_DESCRIPTION,
    GRANT_RULES,
    REVOKE_RULES,
    create_resource,
    delete_resource,
    grant_resource,
    revoke_resource,
    update_resource,
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
class GrantCalculationInput:
    id: strawberry.ID = id_field("calculation")
    group: GroupPath = strawberry.field(
        description="The path of the group that gains access, together with all groups below it."
    )


@strawberry.input(description="The calculation and the group that loses its grant.")
class RevokeCalculationInput:
    id: strawberry.ID = id_field("calculation")
    group: GroupPath = strawberry.field(
        description=(
            "The path of the group whose own grant is removed. A grant that the group "
            "inherits stays."
        )
    )


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
    CreateCalculationPayload
    | NotFound
    | NotPermitted
    | ValidationProblem
    | NameTaken
    | LimitExceeded
    | QuotaExceeded
    | IllegalState,
    strawberry.union(
        "CreateCalculationResult",
        description="The new calculation, or the reason why none was created.",
    ),
]
UpdateCalculationResult = Annotated[
    UpdateCalculationPayload
    | NotFound
    | NotPermitted
    | ValidationProblem
    | NameTaken
    | VersionConflict
    | LimitExceeded
    | QuotaExceeded
    | IllegalState,
    strawberry.union(
        "UpdateCalculationResult",
        description=("The calculation with its new version, or the reason why nothing changed."),
    ),
]
DeleteCalculationResult = Annotated[
    DeleteCalculationPayload | NotFound | NotPermitted | InUse | VersionConflict,
    strawberry.union(
        "DeleteCalculationResult",
        description="The deleted calculation, or the reason why it was not deleted.",
    ),
]
GrantCalculationResult = Annotated[
    GrantCalculationPayload | NotFound | NotPermitted | NameTaken | LimitExceeded,
    strawberry.union(
        "GrantCalculationResult",
        description="The calculation with the grant, or the reason why nothing changed.",
    ),
]
RevokeCalculationResult = Annotated[
    RevokeCalculationPayload | NotFound | NotPermitted | LimitExceeded | IllegalState,
    strawberry.union(
        "RevokeCalculationResult",
        description="The calculation without the grant, or the reason why nothing changed.",
    ),
]


@strawberry.type
class CalculationMutation:
    @strawberry.mutation(
        graphql_type=CreateCalculationResult,
        description="Create a calculation. The caller must be a contributor at its group.",
    )
    @staticmethod
    async def create_calculation(
        info: Info, input: InputOf[CreateCalculationInput]
    ) -> CreateCalculationPayload:
        key = input.idempotency_key
        created = await create_resource(info, CALCULATION, _CONTENT_READER, input, key)
        return CreateCalculationPayload(calculation=created)

    @strawberry.mutation(
        graphql_type=UpdateCalculationResult,
        description=(
            "Create a new version of a calculation. The caller must be a contributor at the "
            "group that owns the calculation."
        ),
    )
    @staticmethod
    async def update_calculation(
        info: Info, input: InputOf[UpdateCalculationInput]
    ) -> UpdateCalculationPayload:
        updated = await update_resource(info, CALCULATION, _CONTENT_READER, input, input.id)
        return UpdateCalculationPayload(calculation=updated)

    @strawberry.mutation(
        graphql_type=DeleteCalculationResult,
        description=(
            "Delete a calculation with all its versions, unless others use it. The caller must be "
            "an admin at the group that owns the calculation."
        ),
    )
    @staticmethod
    async def delete_calculation(
        info: Info, input: InputOf[DeleteCalculationInput]
    ) -> DeleteCalculationPayload:
        deleted = await delete_resource(info, CALCULATION, input, input.id)
        return DeleteCalculationPayload(calculation=deleted)

    @strawberry.mutation(
        graphql_type=GrantCalculationResult,
        description=f"Let a group and all groups below it see and use a calculation. {GRANT_RULES}",
    )
    @staticmethod
    async def grant_calculation(
        info: Info, input: InputOf[GrantCalculationInput]
    ) -> GrantCalculationPayload:
        granted, changed = await grant_resource(info, CALCULATION, input.id, input.group)
        return GrantCalculationPayload(calculation=granted, changed=changed)

    @strawberry.mutation(
        graphql_type=RevokeCalculationResult,
        description=f"Remove the grant that a group itself has for a calculation. {REVOKE_RULES}",
    )
    @staticmethod
    async def revoke_calculation(
        info: Info, input: InputOf[RevokeCalculationInput]
    ) -> RevokeCalculationPayload:
        revoked = await revoke_resource(info, CALCULATION, input.id, input.group)
        return RevokeCalculationPayload(calculation=revoked)
