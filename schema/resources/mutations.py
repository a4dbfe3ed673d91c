"""The steps of the mutations that all kinds of resources have, and their common descriptions."""

import asyncio
from collections.abc import Sequence
from typing import Final, TypeVar

from penstock.datastore.errors import BadArgument
from penstock.datastore.records import Resource
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import KindDefinition
from penstock.resolvers import resources
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.relay import parse_key
from penstock.schema.resources.inputs import (
    ContentReader,
    CreateResourceInput,
    DeleteResourceInput,
    UpdateResourceInput,
)

R = TypeVar("R", bound=Resource)

MAX_INPUTS: Final = 100
CREATES_AT_ONCE: Final = 16
"""The creates of one call that run at once, so that the store can write them together."""

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


async def create_resources(
    info: Info,
    kind: KindDefinition[R],
    content: ContentReader,
    inputs: Sequence[tuple[CreateResourceInput, str | None]],
) -> list[R | Exception]:
    """Create a resource from each input and its idempotency key, some at once.

    The answers are aligned; an error stands in the place of a resource that was not created.

    Raises BadArgument for too many inputs.
    """
    if len(inputs) > MAX_INPUTS:
        raise BadArgument(f"At most {MAX_INPUTS} are created at once.", ("inputs",))
    room = asyncio.Semaphore(CREATES_AT_ONCE)

    async def create_one(input: CreateResourceInput, key: str | None) -> R | Exception:
        async with room:
            try:
                return await create_resource(info, kind, content, input, key)
            except Exception as error:  # reported in the place of this resource
                return error

    return await asyncio.gather(*(create_one(input, key) for input, key in inputs))


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
    info: Info, kind: KindDefinition[R], input: DeleteResourceInput, id: str
) -> R:
    """Delete a resource with all its versions, and return it as it was.

    What others use is deleted only with `force`.
    """
    key, expected = parse_key(kind.title, id), unset_to_none(input.expected_version)
    loaders = info.context.loaders.of(kind)
    return await resources.delete(loaders, key, expected, force=bool(input.force))


async def grant_resource(
    info: Info, kind: KindDefinition[R], id: str, group: GroupPath
) -> tuple[R, bool]:
    """Grant a group access to a resource, and return whether the grant is new."""
    return await resources.grant(info.context.loaders.of(kind), parse_key(kind.title, id), group)


async def revoke_resource(info: Info, kind: KindDefinition[R], id: str, group: GroupPath) -> R:
    """Revoke the grant that a group itself has."""
    return await resources.revoke(info.context.loaders.of(kind), parse_key(kind.title, id), group)
