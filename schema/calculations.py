"""Calculations and their versions: types and query fields."""

from typing import Annotated

import strawberry

from datastore import records
from datastore.layout import CALCULATION
from schema.nodes import shows
from schema.resource_changes import diff_of
from schema.resource_queries import by_id, by_name, listed
from schema.resources import (
    Resource,
    ResourceVersion,
    latest_of,
    version_numbered,
    versions_of,
)
from schema.transformers import Output, Parameter

_VERSION = Annotated["CalculationVersion", strawberry.lazy("schema.calculations")]


@strawberry.type(description="A calculation: a formula with parameters. Its latest version.")
class Calculation(Resource):
    summary: str | None = strawberry.field(description="What it gives, in short, for people.")
    formula: str = strawberry.field(description="How the first output is computed.")
    parameters: list[Parameter] = strawberry.field(description="What it is given, in order.")
    outputs: list[Output] = strawberry.field(description="What it gives, in order.")

    is_type_of = shows(records.Calculation)
    versions = versions_of(CALCULATION, _VERSION)
    version_numbered = version_numbered(CALCULATION, _VERSION)
    diff = diff_of(CALCULATION)


@strawberry.type(description="A calculation as it was at one of its versions.")
class CalculationVersion(ResourceVersion):
    summary: str | None = strawberry.field(description="What it gave, in short, for people.")
    formula: str = strawberry.field(description="How the first output was computed.")
    parameters: list[Parameter] = strawberry.field(description="What it was given, in order.")
    outputs: list[Output] = strawberry.field(description="What it gave, in order.")

    is_type_of = shows(records.CalculationVersion)
    calculation = latest_of(CALCULATION, Calculation)


@strawberry.type
class CalculationQuery:
    calculation = by_id(CALCULATION, Calculation)
    calculation_by_name = by_name(CALCULATION, Calculation)
    calculations = listed(CALCULATION, Calculation)
