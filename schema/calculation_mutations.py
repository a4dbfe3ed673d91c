"""The mutations of calculations, and the inputs that are theirs alone."""

import strawberry
from strawberry import UNSET

from datastore.calculations import MAX_SUMMARY
from datastore.layout import CALCULATION
from datastore.transformers import MAX_ENTRIES
from formula.limits import MAX_TEXT
from schema.calculations import Calculation
from schema.resource_inputs import Change, Content, Creation, as_given, id_of, key_for, records_of
from schema.resource_mutations import creates, deletes, grants, revokes, updates
from schema.transformers import OutputInput, ParameterInput

_SUMMARY = f"What it gives, in short, for people; at most {MAX_SUMMARY} characters."
_FORMULA = f"How the first output is computed; 1 to {MAX_TEXT} characters."
_PARAMETERS = f"What it is given, each used by the formula; at most {MAX_ENTRIES}."
_OUTPUTS = f"What it gives; 1 to {MAX_ENTRIES}."


@strawberry.input(description="The calculation to create.")
class CreateCalculationInput(Creation):
    summary: str | None = strawberry.field(default=UNSET, description=_SUMMARY)
    formula: str = strawberry.field(description=_FORMULA)
    parameters: list[ParameterInput] | None = strawberry.field(
        default=UNSET, description=_PARAMETERS
    )
    outputs: list[OutputInput] = strawberry.field(description=_OUTPUTS)
    idempotency_key: strawberry.ID | None = key_for("calculation")


@strawberry.input(description="What to change; fields left out stay, null clears.")
class UpdateCalculationInput(Change):
    id: strawberry.ID = id_of("calculation")
    summary: str | None = strawberry.field(default=UNSET, description=_SUMMARY)
    formula: str | None = strawberry.field(default=UNSET, description=_FORMULA)
    parameters: list[ParameterInput] | None = strawberry.field(
        default=UNSET, description=_PARAMETERS
    )
    outputs: list[OutputInput] | None = strawberry.field(default=UNSET, description=_OUTPUTS)


_CONTENT = Content(
    {
        "summary": as_given,
        "formula": as_given,
        "parameters": records_of,
        "outputs": records_of,
    },
    ("formula", "outputs"),
)


@strawberry.type
class CalculationMutation:
    create_calculation = creates(CALCULATION, Calculation, CreateCalculationInput, _CONTENT)
    update_calculation = updates(CALCULATION, Calculation, UpdateCalculationInput, _CONTENT)
    delete_calculation = deletes(CALCULATION, Calculation)
    grant_calculation = grants(CALCULATION, Calculation)
    revoke_calculation = revokes(CALCULATION, Calculation)
