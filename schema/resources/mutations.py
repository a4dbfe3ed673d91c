"""The steps of the mutations that all kinds of resources have, and their common descriptions."""

from typing import Final, TypeVar

from penstock.datastore.records import Resource
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import Kind
from penstock.resolvers import resources
from penstock.schema.core.context import Info, given
from penstock.schema.core.relay import key_of
from penstock.schema.resources.inputs import Change, Content, Creation

R = TypeVar("R", bound=Resource)

EXPECTED_VERSION: Final = (
    "The number of the current version. If another number is given, nothing "
    "changes. The default is not to check."
)
GRANT: Final = (
    "The caller must be an admin at the group that owns it and at the group that "
    "gains access. A grant to a group replaces the grants of the groups below it."
)
REVOKE: Final = (
    "The caller must be an admin at the group that owns it. The owner always keeps "
    "access: if the grant belongs to a group above the owner, the owner gets a "
    "grant in its place."
)
CHANGED: Final = "True if the grant is new; false if the group already had access."


async def create_resource(
    info: Info, kind: Kind[R], content: Content, input: Creation, idempotency_key: str | None
) -> R:
    """Create a resource from the fields of an input."""
    fields = await content.of(info.context, input)
    loaders, key = info.context.loaders.of(kind), given(idempotency_key)
    return await resources.create(loaders, given(input.group), fields, key)


async def update_resource(info: Info, kind: Kind[R], content: Content, input: Change, id: str) -> R:
    """Create a new version of a resource from the fields that an input contains."""
    key = key_of(kind.title, id)
    changes = await content.changed_by(info.context, input)
    return await resources.update(
        info.context.loaders.of(kind), key, input.expected_version, changes
    )


async def delete_resource(info: Info, kind: Kind[R], id: str, expected_version: int | None) -> R:
    """Delete a resource with all its versions, and return it as it was."""
    key, expected = key_of(kind.title, id), given(expected_version)
    return await resources.delete(info.context.loaders.of(kind), key, expected)


async def grant_resource(info: Info, kind: Kind[R], id: str, group: GroupPath) -> tuple[R, bool]:
    """Grant a group access to a resource, and return whether the grant is new."""
    return await resources.grant(info.context.loaders.of(kind), key_of(kind.title, id), group)


async def revoke_resource(info: Info, kind: Kind[R], id: str, group: GroupPath) -> R:
    """Revoke the grant that a group itself has."""
    return await resources.revoke(info.context.loaders.of(kind), key_of(kind.title, id), group)
