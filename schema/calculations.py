"""Calculations and their versions: types and query fields."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from datastore import records
from datastore.layout import CALCULATION
from resolvers import resources
from schema.common import Info, given
from schema.nodes import key_of
from schema.resource_queries import OfId, by_name, listed
from schema.resources import (
    Resource,
    ResourceVersion,
    latest_of,
    shows,
    version_numbered,
    versions_of,
)
from schema.scalars import DateTime
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
    @strawberry.field(
        graphql_type=Calculation | None,
        description="A calculation by its global id, now or as it was at a time.",
    )
    @staticmethod
    async def calculation(
        info: Info,
        id: OfId,
        as_at: Annotated[
            DateTime | None,
            strawberry.argument(
                description="Give the version that was the latest then; there is none before the "
                "first. Who may see it goes by the latest."
            ),
        ] = UNSET,
    ) -> records.Calculation | None:
        desk, key, time = info.context.desk(CALCULATION), key_of("Calculation", id), given(as_at)
        if time is None:
            return await resources.by_id(desk, key)
        return await resources.as_at(desk, key, time)

    calculation_by_name = by_name(CALCULATION, Calculation)
    calculations = listed(CALCULATION, Calculation)
