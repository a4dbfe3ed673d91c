"""Calculations and their versions: types and query fields."""

from typing import Any, Final

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.resources import version_diff
from penstock.datastore.table.layout import CALCULATION
from penstock.graphql_jit import projected_attributes, reads_attributes
from penstock.resolvers import formula_names, resources
from penstock.schema.core.context import (
    After,
    Before,
    First,
    GroupArgument,
    Info,
    Last,
    Order,
    unset_to_none,
)
from penstock.schema.core.name_filter import NameFilterArgument
from penstock.schema.core.relay import Connection, page_from_arguments, record_type_check
from penstock.schema.engine.cost import price_metadata
from penstock.schema.resources.queries import (
    LIST_RULES,
    ChildGroupsArgument,
    IdArgument,
    NameArgument,
    OrderArgument,
    OwnerArgument,
    ResourceStatesArgument,
    TagsArgument,
    TimeArgument,
    find_resource,
    list_resources,
    resource_selection,
)
from penstock.schema.resources.resource import (
    DIFF_DESCRIPTION,
    LABELLED_DESCRIPTION,
    VERSION_DESCRIPTION,
    VERSIONS_DESCRIPTION,
    Change,
    FromVersionArgument,
    LabelArgument,
    Resource,
    ResourceVersion,
    ToVersionArgument,
    VersionNumberArgument,
    find_labelled,
    find_version,
    list_versions,
)
from penstock.schema.resources.transformers import Output, Parameter
from penstock.schema.resources.uses import HasUsers, HasUses

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

    @strawberry.field(
        graphql_type=Connection["CalculationVersion"], description=VERSIONS_DESCRIPTION
    )
    @staticmethod
    async def versions(
        calculation: strawberry.Parent[records.Calculation],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Calculation]:
        return await list_versions(
            info, CALCULATION, calculation, page_from_arguments(first, after, last, before)
        )

    @strawberry.field(graphql_type="CalculationVersion | None", description=VERSION_DESCRIPTION)
    @staticmethod
    async def version_numbered(
        calculation: strawberry.Parent[records.Calculation],
        info: Info,
        version: VersionNumberArgument,
    ) -> records.Calculation | None:
        return await find_version(info, CALCULATION, calculation, version)

    @strawberry.field(graphql_type="CalculationVersion | None", description=LABELLED_DESCRIPTION)
    @staticmethod
    async def version_labelled(
        calculation: strawberry.Parent[records.Calculation], info: Info, label: LabelArgument
    ) -> records.Calculation | None:
        return await find_labelled(info, CALCULATION, calculation, label)

    @strawberry.field(
        graphql_type=list[Change] | None, metadata=price_metadata(2), description=DIFF_DESCRIPTION
    )
    @staticmethod
    async def diff(
        calculation: strawberry.Parent[records.Calculation],
        info: Info,
        from_: FromVersionArgument,
        to: ToVersionArgument,
    ) -> list[version_diff.ValueChange]:
        return await resources.compare_versions(info.context, CALCULATION, calculation, from_, to)


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

    @strawberry.field(
        graphql_type=Calculation, description="The calculation in its latest version."
    )
    @reads_attributes({"CalculationVersion": ("id",)})
    @staticmethod
    async def calculation(
        version: strawberry.Parent[records.CalculationVersion], info: Info
    ) -> records.Calculation:
        projection = projected_attributes(info, "Calculation")
        return await info.context.loaders.of(CALCULATION).latest(version.id, projection)


@strawberry.type
class CalculationQuery:
    @strawberry.field(
        graphql_type=Calculation | None,
        description=(
            "Find a calculation by its global id, as it is now or as it was at a given "
            "time. The result is null if the calculation does not exist or the caller "
            "cannot see it."
        ),
    )
    @staticmethod
    async def calculation(
        info: Info, id: IdArgument, as_at: TimeArgument = UNSET
    ) -> records.Calculation | None:
        return await find_resource(info, CALCULATION, id, as_at)

    @strawberry.field(
        graphql_type=Calculation | None,
        description=(
            "Find the calculation that has a name in the group or, if there is none, in the "
            "nearest group above it. The result is null if there is none."
        ),
    )
    @staticmethod
    async def calculation_by_name(
        info: Info, name: NameArgument, group: GroupArgument = UNSET
    ) -> records.Calculation | None:
        return await info.context.session.repository(CALCULATION).reading.by_name(
            name, unset_to_none(group)
        )

    @strawberry.field(
        graphql_type=Connection[Calculation],
        description=f"List the calculations of a group. {LIST_RULES}",
    )
    @staticmethod
    async def calculations(
        info: Info,
        group: GroupArgument = UNSET,
        tags: TagsArgument = UNSET,
        include_child_groups: ChildGroupsArgument = False,
        order: OrderArgument = Order.NEWEST_FIRST,
        name: NameFilterArgument = UNSET,
        states: ResourceStatesArgument = UNSET,
        owner: OwnerArgument = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Calculation]:
        selected = resource_selection(
            info,
            group,
            tags,
            include_child_groups,
            order,
            unset_to_none(name),
            states=states,
            owner=owner,
        )
        return await list_resources(
            info, CALCULATION, selected, page_from_arguments(first, after, last, before)
        )
