"""The type of entries of audit trails."""

from collections.abc import Awaitable, Callable
from typing import Any

import strawberry

from penstock.datastore.history.rows import Action
from penstock.datastore.history.rows import HistoryEntry as EntryRecord
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.pages import Slice, Window
from penstock.schema.core.context import Info, PageArguments
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.relay import Connection, read_connection
from penstock.schema.core.scalars import DateTime

strawberry.enum(Action, name="HistoryAction", description="The kind of an entry of the history.")
describe_values(
    Action,
    {
        Action.GRANTED: "A group got access to the resource.",
        Action.REVOKED: "A group lost its own grant of the resource.",
        Action.STATE_CHANGED: "The state of the resource was set.",
        Action.LABEL_SET: "A version of the resource got a label.",
        Action.LABEL_REMOVED: "A label of a version of the resource was removed.",
        Action.DELETED: "The resource was deleted.",
        Action.GROUP_DELETED: (
            "The group was deleted, or its deletion with everything in it was requested."
        ),
        Action.API_KEY_CREATED: "A user created an API key with a role at the group.",
        Action.API_KEY_REVOKED: "A user revoked an API key with a role at the group.",
    },
)


@strawberry.type(description="An entry of the history of a resource or a group.")
class HistoryEntry:
    at: DateTime = strawberry.field(description="The time of the change, in UTC.")
    by: str = strawberry.field(description="The id of the user who made it.")
    api_key: str | None = strawberry.field(
        description="The id of the API key that acted for the user; null for a token."
    )
    address: str | None = strawberry.field(
        description="The address of the client, or of a proxy that the server was not told to "
        "trust; null if the change was not made through a server."
    )
    action: Action = strawberry.field(description="The kind of the entry.")
    subject: str = strawberry.field(
        description="The name of the resource or the API key, or the path of the group, at that "
        "time."
    )
    group: GroupPath | None = strawberry.field(
        description="The group that got or lost access; null for other entries."
    )
    state: str | None = strawberry.field(
        description="The new state of the resource in lower case; null for other entries."
    )
    label: str | None = strawberry.field(
        description="The label of a version that was set or removed; null for other entries."
    )
    version: int | None = strawberry.field(
        description="The number of the version that got the label; null for other entries."
    )
    roles: list[str] = strawberry.field(
        description="The roles of an API key as `group=ROLE`, at groups on one line with yours; "
        "empty for other entries."
    )


async def read_history(
    info: Info,
    identity: tuple[Any, ...],
    owner: GroupPath,
    page: PageArguments,
    read: Callable[[Window], Awaitable[Slice[EntryRecord]]],
) -> Connection[EntryRecord] | None:
    """Read a page of a history; None unless the caller administers the owner."""
    if not info.context.session.history.is_open(owner):
        return None
    return await read_connection(info, ("history", *identity), page, read)
