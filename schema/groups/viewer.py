"""Who asks, and objects by their global ids."""

from functools import partial
from typing import Annotated

import strawberry

from penstock.datastore.errors import BadInput
from penstock.datastore.roles import GroupPath
from penstock.graphql_jit import attributes_asked
from penstock.resolvers.nodes import Record, by_ids
from penstock.schema.audio.listening import ListeningViewer
from penstock.schema.core.context import GroupRole, Info
from penstock.schema.core.relay import Node, parsed
from penstock.schema.engine.cost import costs
from penstock.schema.groups.api_keys import ApiKeyViewer

MAX_NODES = 100


@strawberry.type(description="The caller.")
class Viewer(ApiKeyViewer, ListeningViewer):
    user_id: str = strawberry.field(description="The id by which other things name the user.")
    default_group: GroupPath | None = strawberry.field(
        description="Stands in wherever a group is left out."
    )
    roles: list[GroupRole] = strawberry.field(description="What the caller may do, and where.")


@strawberry.type
class ViewerQuery:
    @strawberry.field(description="Who the server takes the caller for.")
    @staticmethod
    def viewer(info: Info) -> Viewer:
        caller = info.context.caller
        roles = [GroupRole(group=group, role=role) for group, role in sorted(caller.roles.items())]
        return Viewer(user_id=caller.user_id, default_group=caller.default_group, roles=roles)

    @strawberry.field(
        graphql_type=Node | None, description="An object by its global id, if the caller sees it."
    )
    @staticmethod
    async def node(
        info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
    ) -> Record | None:
        (found,) = await by_ids(info.context, [parsed(id)], partial(attributes_asked, info))
        return found

    @strawberry.field(
        graphql_type=list[Node | None],
        description="Objects by their global ids, at most 100; null where the caller sees none.",
        metadata=costs(1, sized_by="ids"),
    )
    @staticmethod
    async def nodes(
        info: Info,
        ids: Annotated[list[strawberry.ID], strawberry.argument(description="The global ids.")],
    ) -> list[Record | None]:
        if len(ids) > MAX_NODES:
            raise BadInput(f"At most {MAX_NODES} ids are read at once.", ("ids",))
        return await by_ids(
            info.context, [parsed(id) for id in ids], partial(attributes_asked, info)
        )
