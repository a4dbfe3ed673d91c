"""Calculations and their versions: types and query fields."""

from typing import Any, Final

import strawberry

from penstock.datastore import records
from penstock.datastore.table.layout import CALCULATION
from penstock.graphql_jit import reads_attributes
from penstock.resolvers import formula_names
from penstock.schema.core.context import Info
from penstock.schema.core.relay import Connection, record_type_check
from penstock.schema.resources.kind_queries import (
    resource_by_name_field,
    resource_field,
    resource_list_field,
)
from penstock.schema.resources.resource import Resource, ResourceVersion
from penstock.schema.resources.transformers import Output, Parameter
from penstock.schema.resources.uses import HasUsers, HasUses
from penstock.schema.resources.version_fields import (
    diff_field,
    latest_version_field,
    version_labelled_field,
    version_numbered_field,
    versions_field,
)

_FORMULA_ATTRIBUTES: Final = ("formula", "references")


@reads_attributes({"Calculation": _FORMULA_ATTRIBUTES, "CalculationVersion": _FORMULA_ATTRIBUTES})
def current_formula(
    calculation: strawberry.Parent[records.Calculation], info: Info
) -> Any:  # a text, or an awaitable of one
    """Return the formula with the names that calculations and datasets have now."""
    return formula_names.current_formula(info.context, calculation)


@strawberry.type(description="A formula with its parameters and outputs, in its latest version.")
class Calculation(Resource, HasUses, HasUsers):
    summary: str | None = strawberry.field(
        description="A short text for people that says which value the calculation gives."
    )
    formula: str = strawberry.field(
        graphql_type=str,
        resolver=current_formula,
        description="The formula that computes the value of the first output.",
    )
    parameters: list[Parameter] = strawberry.field(
        description="The parameters that the formula reads, in the order of their positions."
    )
    outputs: list[Output] = strawberry.field(
        description="The outputs that the calculation fills, in the order of their positions."
    )

    is_type_of = record_type_check(records.Calculation)

    versions = versions_field(CALCULATION, Connection["CalculationVersion"])
    version_numbered = version_numbered_field(CALCULATION, "CalculationVersion | None")
    version_labelled = version_labelled_field(CALCULATION, "CalculationVersion | None")
    diff = diff_field(CALCULATION)


@strawberry.type(description="One version of a calculation. A version never changes.")
class CalculationVersion(ResourceVersion):
    summary: str | None = strawberry.field(
        description="A short text for people that says which value this version gives."
    )
    formula: str = strawberry.field(
        graphql_type=str,
        resolver=current_formula,
        description="The formula with which this version computes the value of the first output.",
    )
    parameters: list[Parameter] = strawberry.field(
        description=(
            "The parameters that the formula of this version reads, in the order of their "
            "positions."
        )
    )
    outputs: list[Output] = strawberry.field(
        description="The outputs that this version fills, in the order of their positions."
    )

    is_type_of = record_type_check(records.CalculationVersion)

    calculation = latest_version_field(CALCULATION, Calculation)


@strawberry.type
class CalculationQuery:
    calculation = resource_field(CALCULATION, Calculation | None)
    calculation_by_name = resource_by_name_field(CALCULATION, Calculation | None)
    calculations = resource_list_field(CALCULATION, Connection[Calculation])
