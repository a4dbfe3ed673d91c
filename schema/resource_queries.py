"""The work of the query fields that every kind of resource has, and their arguments."""

from typing import Annotated, Final, TypeAlias, TypeVar

import strawberry

from penstock.datastore import records
from penstock.datastore.layout import Kind
from penstock.datastore.paths import GroupPath
from penstock.datastore.resources.listing import Listed
from penstock.execution import attributes_asked
from penstock.resolvers import resources
from penstock.schema.common import Info, Order, given
from penstock.schema.connections import Connection, connect
from penstock.schema.cursors import PageArguments
from penstock.schema.nodes import key_of
from penstock.schema.scalars import DateTime
from penstock.schema.tags import TagFilter

R = TypeVar("R", bound=records.Resource)

OfId: TypeAlias = Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
AsAt: TypeAlias = Annotated[
    DateTime | None,
    strawberry.argument(
        description="Give the version that was the latest at this time; there is none before the "
        "first. The grants of the latest version decide who may see it."
    ),
]
OfName: TypeAlias = Annotated[
    str, strawberry.argument(description="The name; upper and lower case are the same.")
]
WithTags: TypeAlias = Annotated[
    TagFilter | None,
    strawberry.argument(description="The tags to have; all are listed if this is left out."),
]
AlsoBelow: TypeAlias = Annotated[
    bool | None, strawberry.argument(description="Whether to look below the group as well.")
]
InOrder: TypeAlias = Annotated[
    Order | None, strawberry.argument(description="The order by the time of creation.")
]

LIST: Final = (
    "They are those that the group sees by its own grants and the grants above it; "
    "`includeChildGroups` adds those that are granted below it. A search that reads very much ends "
    "its page early, and its cursor goes on from there."
)


async def find_resource(info: Info, kind: Kind[R], id: str, as_at: str | None) -> R:
    """Read a resource by its global id, now or as it was at a time."""
    desk, key, time = info.context.desk(kind), key_of(kind.title, id), given(as_at)
    if time is None:
        return await desk.latest(key, attributes_asked(info, kind.title))
    return await resources.as_at(desk, key, time)


def selection(
    info: Info,
    group: GroupPath | None,
    tags: TagFilter | None,
    include_child_groups: bool | None,
    order: Order | None,
) -> Listed:
    """The resources that the arguments of a list select, and their order."""
    return Listed(
        group=given(group) or info.context.caller.default_group,
        tags=(given(tags) or TagFilter()).filter(),
        include_child_groups=bool(include_child_groups),
        newest_first=order is not Order.OLDEST_FIRST,
    )


async def list_resources(
    info: Info, kind: Kind[R], selected: Listed, page: PageArguments
) -> Connection[R]:
    """Read a page of the resources that are selected."""
    asked = attributes_asked(info, kind.title)
    return await connect(
        info,
        (f"{kind.noun}s", selected),
        page,
        lambda window: resources.page(info.context.desk(kind), selected, window, asked),
    )
