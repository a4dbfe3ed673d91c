"""The query fields of a kind of resource: by id, by name, and the list."""

from typing import Annotated, Any, TypeAlias, TypeVar

import strawberry
from strawberry import UNSET

from datastore import records
from datastore.layout import Kind
from datastore.resources.listing import Listed
from execution import attributes_asked
from resolvers import resources
from schema.common import After, Before, First, Info, InGroup, Last, Order, given
from schema.connections import Connection, connect, page_of
from schema.nodes import key_of
from schema.scalars import DateTime
from schema.tags import TagFilter

R = TypeVar("R", bound=records.Resource)

OfId: TypeAlias = Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
AsAt: TypeAlias = Annotated[
    DateTime | None,
    strawberry.argument(
        description="Give the version that was the latest then; there is none before the first. "
        "Who may see it goes by the latest."
    ),
]
AlsoBelow: TypeAlias = Annotated[
    bool | None, strawberry.argument(description="Whether to look below the group as well.")
]
InOrder: TypeAlias = Annotated[
    Order | None, strawberry.argument(description="By the time of creation.")
]


def by_id(kind: Kind[R], type: Any) -> Any:
    """Make the field that gives one by its id, now or as it was at a time."""

    async def by_id(info: Info, id: OfId, as_at: AsAt = UNSET) -> R | None:
        desk, key, time = info.context.desk(kind), key_of(kind.title, id), given(as_at)
        if time is None:
            return await resources.by_id(desk, key, attributes_asked(info, kind.title))
        return await resources.as_at(desk, key, time)

    return strawberry.field(
        resolver=by_id,
        graphql_type=type | None,
        description=f"A {kind.noun} by its global id, now or as it was at a time.",
    )


def by_name(kind: Kind[R], type: Any) -> Any:
    """Make the field that gives one by its name."""

    async def by_name(
        info: Info,
        name: Annotated[str, strawberry.argument(description="The name, in any case.")],
        group: InGroup = UNSET,
    ) -> R | None:
        return await resources.by_name(info.context.desk(kind), name, given(group))

    return strawberry.field(
        resolver=by_name,
        graphql_type=type | None,
        description=f"The {kind.noun} that holds the name in the group or nearest above it.",
    )


def listed(kind: Kind[R], type: Any) -> Any:
    """Make the field that lists them."""

    async def listed(
        info: Info,
        group: InGroup = UNSET,
        tags: TagFilter | None = UNSET,
        include_child_groups: AlsoBelow = False,
        order: InOrder = Order.NEWEST_FIRST,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[R]:
        which = Listed(
            group=given(group) or info.context.caller.default_group,
            tags=(given(tags) or TagFilter()).filter(),
            include_child_groups=bool(include_child_groups),
            newest_first=order is not Order.OLDEST_FIRST,
        )
        asked = attributes_asked(info, kind.title)
        return await connect(
            info,
            (f"{kind.noun}s", which),
            page_of(first, after, last, before),
            lambda window: resources.page(info.context.desk(kind), which, window, asked),
        )

    listed.__annotations__["tags"] = Annotated[
        TagFilter | None, strawberry.argument(description=f"All {kind.noun}s if absent.")
    ]
    return strawberry.field(
        resolver=listed,
        graphql_type=Connection[type],
        description="What the group sees by its own grants and those above it; with "
        "`includeChildGroups` also what is granted below it. A search that reads very much ends "
        "its page early; its cursor goes on from there.",
    )
