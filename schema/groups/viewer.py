"""The type of the viewer, and the fields that query the viewer and objects by global id."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import strawberry

from penstock.datastore.access import quota_report
from penstock.datastore.errors import BadArgument
from penstock.datastore.roles import GroupPath
from penstock.graphql_jit import projected_attributes
from penstock.resolvers.nodes import Record, load_node, load_nodes
from penstock.schema.audio.listening import ListeningViewer
from penstock.schema.core.context import GroupRole, Info
from penstock.schema.core.quotas import Quota
from penstock.schema.core.relay import Node, parse_global_id
from penstock.schema.engine.cost import price_metadata
from penstock.schema.groups.api_keys import ApiKeyViewer
from penstock.schema.groups.player_passwords import PlayerPasswordViewer

MAX_NODES = 100


@strawberry.type(description="The caller: the user on whose behalf the request is made.")
class Viewer(ApiKeyViewer, PlayerPasswordViewer, ListeningViewer):
    user_id: str = strawberry.field(
        description="The id of the user, by which other objects refer to the user."
    )
    default_group: GroupPath | None = strawberry.field(
        description="The group that is used wherever a group is left out; null if the caller has "
        "none."
    )
    roles: list[GroupRole] = strawberry.field(
        description="The roles of the caller, each with the group in which it applies."
    )

    @strawberry.field(
        graphql_type=list[Quota],
        description="The quotas of the caller in all groups together, and their use.",
        metadata=price_metadata(2),
    )
    @staticmethod
    async def quotas(info: Info) -> Sequence[quota_report.Quota]:
        return await info.context.session.quotas.of_caller()


@strawberry.type
class ViewerQuery:
    @strawberry.field(description="The user on whose behalf the request is made.")
    @staticmethod
    def viewer(info: Info) -> Viewer:
        caller = info.context.caller
        roles = [GroupRole(group=group, role=role) for group, role in sorted(caller.roles.items())]
        return Viewer(user_id=caller.user_id, default_group=caller.default_group, roles=roles)

    @strawberry.field(
        graphql_type=Node | None,
        description="The object with the given global id; null if the caller cannot see it.",
    )
    @staticmethod
    async def node(
        info: Info,
        id: Annotated[
            strawberry.ID, strawberry.argument(description="The global id of the object.")
        ],
    ) -> Record | None:
        return await load_node(
            info.context, parse_global_id(id), partial(projected_attributes, info)
        )

    @strawberry.field(
        graphql_type=list[Node | None],
        description="The objects with the given global ids, in the same order, with null for each "
        "object that the caller cannot see.",
        metadata=price_metadata(1, sized_by="ids"),
    )
    @staticmethod
    async def nodes(
        info: Info,
        ids: Annotated[
            list[strawberry.ID],
            strawberry.argument(description="The global ids of at most 100 objects."),
        ],
    ) -> list[Record | None]:
        if len(ids) > MAX_NODES:
            raise BadArgument(f"At most {MAX_NODES} ids are read at once.", ("ids",))
        return await load_nodes(
            info.context, [parse_global_id(id) for id in ids], partial(projected_attributes, info)
        )
