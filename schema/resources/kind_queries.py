"""The query fields by which resources of any kind are found and listed."""

from typing import Annotated, Any, Final, TypeVar

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.table.layout import KindDefinition
from penstock.graphql_jit import projected_attributes
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
from penstock.schema.core.relay import Connection, page_from_arguments, parse_key, read_connection
from penstock.schema.core.scalars import DateTime
from penstock.schema.resources.queries import (
    ChildGroupsArgument,
    OwnerArgument,
    ResourceStatesArgument,
    TagsArgument,
    resource_selection,
)

R = TypeVar("R", bound=records.Resource)

IdArgument = Annotated[
    strawberry.ID, strawberry.argument(description="The global id of the resource.")
]
TimeArgument = Annotated[
    DateTime | None,
    strawberry.argument(
        description=(
            "Return the version that is active at this time: the one with the latest `activeFrom` "
            "that is not after it, and of several the newest. The grants of the latest version "
            "decide who may see it. The default is the latest version, active or not."
        )
    ),
]
NameArgument = Annotated[
    str,
    strawberry.argument(description="The name of the resource. Upper and lower case are the same."),
]
OrderArgument = Annotated[
    Order | None,
    strawberry.argument(description="The order by time of creation. The default is newest first."),
]

LIST_RULES: Final = (
    "The group sees them by its own grants and by the grants of the groups above "
    "it; `includeChildGroups` adds those of the groups below it. A search that "
    "reads very much ends its page early, and the cursor continues it."
)


def resource_field(kind: KindDefinition[R], graphql_type: object) -> Any:
    """Declare the resource that has a global id, as it is now or as it was at a given time."""

    async def resource(info: Info, id: IdArgument, as_at: TimeArgument = UNSET) -> R:
        loaders, key = info.context.loaders.of(kind), parse_key(kind.title, id)
        time = unset_to_none(as_at)
        if time is None:
            return await loaders.latest(key, projected_attributes(info, kind.title))
        return await loaders.as_at(key, time)

    return strawberry.field(
        resolver=resource,
        graphql_type=graphql_type,
        description=(
            f"Find a {kind.noun} by its global id, as it is now or as it was at a given time. The "
            f"result is null if the {kind.noun} does not exist or the caller cannot see it."
        ),
    )


def resource_by_name_field(kind: KindDefinition[R], graphql_type: object) -> Any:
    """Declare the resource that has a name in a group or in the nearest group above it."""

    async def resource_by_name(
        info: Info, name: NameArgument, group: GroupArgument = UNSET
    ) -> R | None:
        return await info.context.session.repository(kind).reading.by_name(
            name, unset_to_none(group)
        )

    return strawberry.field(
        resolver=resource_by_name,
        graphql_type=graphql_type,
        description=(
            f"Find the {kind.noun} that has a name in the group or, if there is none, in the "
            "nearest group above it. The result is null if there is none."
        ),
    )


def resource_list_field(kind: KindDefinition[R], graphql_type: object) -> Any:
    """Declare the list of the resources of a group."""

    async def resources(
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
    ) -> Connection[R]:
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
        projection = projected_attributes(info, kind.title)
        return await read_connection(
            info,
            (f"{kind.noun}s", selected),
            page_from_arguments(first, after, last, before),
            lambda window: info.context.loaders.of(kind).page(selected, window, projection),
        )

    return strawberry.field(
        resolver=resources,
        graphql_type=graphql_type,
        description=f"List the {kind.noun}s of a group. {LIST_RULES}",
    )
