"""The steps of the mutations that all kinds of resources have, and their common descriptions."""

from typing import Final, TypeVar

from penstock.datastore.records import Resource
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import KindDefinition
from penstock.resolvers import resources
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.relay import parse_key
from penstock.schema.resources.inputs import ContentReader, CreateResourceInput, UpdateResourceInput

R = TypeVar("R", bound=Resource)

EXPECTED_VERSION_DESCRIPTION: Final = (
    "The number of the current version. If another number is given, nothing "
    "changes. The default is not to check."
)
GRANT_RULES: Final = (
    "The caller must be an admin at the group that owns it and at the group that "
    "gains access. A grant to a group replaces the grants of the groups below it."
)
REVOKE_RULES: Final = (
    "The caller must be an admin at the group that owns it. The owner always keeps "
    "access: if the grant belongs to a group above the owner, the owner gets a "
    "grant in its place."
)
CHANGED_DESCRIPTION: Final = "True if the grant is new; false if the group already had access."


async def create_resource(
    info: Info,
    kind: KindDefinition[R],
    content: ContentReader,
    input: CreateResourceInput,
    idempotency_key: str | None,
) -> R:
    """Create a resource from the fields of an input."""
    fields = await content.read_new(info.context, input)
    loaders, key = info.context.loaders.of(kind), unset_to_none(idempotency_key)
    return await resources.create(loaders, unset_to_none(input.group), fields, key)


async def update_resource(
    info: Info, kind: KindDefinition[R], content: ContentReader, input: UpdateResourceInput, id: str
) -> R:
    """Create a new version of a resource from the fields that an input contains."""
    key = parse_key(kind.title, id)
    changes = await content.read_changes(info.context, input)
    return await resources.update(
        info.context.loaders.of(kind), key, input.expected_version, changes
    )


async def delete_resource(
    info: Info, kind: KindDefinition[R], id: str, expected_version: int | None
) -> R:
    """Delete a resource with all its versions, and return it as it was."""
    key, expected = parse_key(kind.title, id), unset_to_none(expected_version)
    return await resources.delete(info.context.loaders.of(kind), key, expected)


async def grant_resource(
    info: Info, kind: KindDefinition[R], id: str, group: GroupPath
) -> tuple[R, bool]:
    """Grant a group access to a resource, and return whether the grant is new."""
    return await resources.grant(info.context.loaders.of(kind), parse_key(kind.title, id), group)


async def revoke_resource(info: Info, kind: KindDefinition[R], id: str, group: GroupPath) -> R:
    """Revoke the grant that a group itself has."""
    return await resources.revoke(info.context.loaders.of(kind), parse_key(kind.title, id), group)
