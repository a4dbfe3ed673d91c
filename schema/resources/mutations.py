"""The work of the mutations that every kind of resource has, and the words that they share."""

from typing import Final, TypeVar

from penstock.datastore.records import Resource
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import Kind
from penstock.resolvers import resources
from penstock.schema.core.context import Info, given
from penstock.schema.core.relay import key_of
from penstock.schema.resources.inputs import Change, Content, Creation

R = TypeVar("R", bound=Resource)

EXPECTED_VERSION: Final = "If this is given, it must be the number of the current version."
GRANT: Final = (
    "The caller is admin at the owner group and at the group that gains access. A grant to an "
    "ancestor replaces the grants below it."
)
REVOKE: Final = (
    "The caller is admin at the owner group. The owner keeps its access: a grant to a group above "
    "the owner is narrowed to the owner."
)
CHANGED: Final = "This is false if the group had access before."


async def create_resource(
    info: Info, kind: Kind[R], content: Content, input: Creation, idempotency_key: str | None
) -> R:
    """Create a resource from the fields of an input."""
    fields = await content.of(info.context, input)
    loaders, key = info.context.loaders.of(kind), given(idempotency_key)
    return await resources.create(loaders, given(input.group), fields, key)


async def update_resource(info: Info, kind: Kind[R], content: Content, input: Change, id: str) -> R:
    """Make a new version of a resource from the fields that an input gives."""
    key = key_of(kind.title, id)
    changes = await content.changed_by(info.context, input)
    return await resources.update(
        info.context.loaders.of(kind), key, input.expected_version, changes
    )


async def delete_resource(info: Info, kind: Kind[R], id: str, expected_version: int | None) -> R:
    """Delete a resource with all its versions, and return what it was."""
    key, expected = key_of(kind.title, id), given(expected_version)
    return await resources.delete(info.context.loaders.of(kind), key, expected)


async def grant_resource(info: Info, kind: Kind[R], id: str, group: GroupPath) -> tuple[R, bool]:
    """Grant a group access to a resource, and return whether that changed anything."""
    return await resources.grant(info.context.loaders.of(kind), key_of(kind.title, id), group)


async def revoke_resource(info: Info, kind: Kind[R], id: str, group: GroupPath) -> R:
    """Revoke the grant that a group has itself."""
    return await resources.revoke(info.context.loaders.of(kind), key_of(kind.title, id), group)
