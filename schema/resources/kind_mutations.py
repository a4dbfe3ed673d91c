"""The mutations that all kinds of resources have, and the failures that each of them can give."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import strawberry

from penstock.datastore.errors import BadArgument
from penstock.datastore.records import Resource
from penstock.datastore.table.layout import KindDefinition
from penstock.resolvers import resources
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.descriptions import input_argument
from penstock.schema.core.failures import (
    IllegalState,
    InUse,
    LimitExceeded,
    NameTaken,
    NotFound,
    NotPermitted,
    QuotaExceeded,
    ValidationProblem,
    VersionConflict,
)
from penstock.schema.core.relay import parse_key
from penstock.schema.resources.inputs import (
    ContentReader,
    DeleteResourceInput,
    GrantResourceInput,
    KeyedCreateInput,
    RevokeResourceInput,
    UpdateResourceInput,
)

R = TypeVar("R", bound=Resource)
U = TypeVar("U", bound=UpdateResourceInput)

MAX_INPUTS: Final = 100
CREATES_AT_ONCE: Final = 16
"""The creates of one call that run at once, so that the store can write them together."""

CHANGED_DESCRIPTION: Final = "True if the grant is new; false if the group already had access."

CreateFailure: TypeAlias = (
    NotFound
    | NotPermitted
    | ValidationProblem
    | NameTaken
    | LimitExceeded
    | QuotaExceeded
    | IllegalState
)
UpdateFailure: TypeAlias = (
    NotFound
    | NotPermitted
    | ValidationProblem
    | NameTaken
    | VersionConflict
    | LimitExceeded
    | QuotaExceeded
    | IllegalState
)
DeleteFailure: TypeAlias = NotFound | NotPermitted | InUse | VersionConflict
GrantFailure: TypeAlias = NotFound | NotPermitted | NameTaken | LimitExceeded
RevokeFailure: TypeAlias = NotFound | NotPermitted | LimitExceeded | IllegalState


def create_mutation(
    kind: KindDefinition[R],
    input_type: type[KeyedCreateInput],
    result: object,
    content: ContentReader,
    make_payload: Callable[[R], object],
) -> Any:
    """Declare the mutation that creates a resource from the fields of an input."""

    async def create(
        info: Info, input: Annotated[KeyedCreateInput, input_argument(input_type)]
    ) -> object:
        return make_payload(await _create_resource(info, kind, content, input))

    return strawberry.mutation(
        resolver=create,
        graphql_type=result,
        description=f"Create a {kind.noun}. The caller must be a contributor at its group.",
    )


async def create_resources(
    info: Info, kind: KindDefinition[R], content: ContentReader, inputs: Sequence[KeyedCreateInput]
) -> list[R | Exception]:
    """Create a resource from each input, some at once.

    The answers are aligned; an error stands in the place of a resource that was not created.

    Raises BadArgument for too many inputs.
    """
    if len(inputs) > MAX_INPUTS:
        raise BadArgument(f"At most {MAX_INPUTS} are created at once.", ("inputs",))
    room = asyncio.Semaphore(CREATES_AT_ONCE)

    async def create_one(input: KeyedCreateInput) -> R | Exception:
        async with room:
            try:
                return await _create_resource(info, kind, content, input)
            except Exception as error:  # reported in the place of this resource
                return error

    return await asyncio.gather(*map(create_one, inputs))


async def _create_resource(
    info: Info, kind: KindDefinition[R], content: ContentReader, input: KeyedCreateInput
) -> R:
    fields = await content.read_new(info.context, input)
    loaders, key = info.context.loaders.of(kind), unset_to_none(input.idempotency_key)
    return await resources.create(loaders, unset_to_none(input.group), fields, key)


def update_mutation(
    kind: KindDefinition[R],
    input_type: type[U],
    result: object,
    content: ContentReader,
    make_payload: Callable[[R], object],
    complete_input: Callable[[Info, U], Awaitable[None]] | None = None,
) -> Any:
    """Declare the mutation that creates a new version from the fields that an input contains.

    `complete_input` runs first, and may fill in what the input leaves out.
    """

    async def update(info: Info, input: Annotated[U, input_argument(input_type)]) -> object:
        key = parse_key(kind.title, input.id)
        if complete_input is not None:
            await complete_input(info, input)
        changes = await content.read_changes(info.context, input)
        loaders = info.context.loaders.of(kind)
        return make_payload(await resources.update(loaders, key, input.expected_version, changes))

    return strawberry.mutation(
        resolver=update,
        graphql_type=result,
        description=f"Create a new version of a {kind.noun}. The caller must be a contributor at "
        f"the group that owns the {kind.noun}.",
    )


def delete_mutation(
    kind: KindDefinition[R],
    input_type: type[DeleteResourceInput],
    result: object,
    make_payload: Callable[[R], object],
) -> Any:
    """Declare the mutation that deletes a resource; its payload has the resource as it was."""

    async def delete(
        info: Info, input: Annotated[DeleteResourceInput, input_argument(input_type)]
    ) -> object:
        key, expected = parse_key(kind.title, input.id), unset_to_none(input.expected_version)
        loaders = info.context.loaders.of(kind)
        return make_payload(await resources.delete(loaders, key, expected, force=bool(input.force)))

    return strawberry.mutation(
        resolver=delete,
        graphql_type=result,
        description=f"Delete a {kind.noun} with all its versions, unless others use it. The caller "
        f"must be an admin at the group that owns the {kind.noun}.",
    )


def grant_mutation(
    kind: KindDefinition[R],
    input_type: type[GrantResourceInput],
    result: object,
    make_payload: Callable[[R, bool], object],
) -> Any:
    """Declare the mutation that grants a group access; its payload says if the grant is new."""

    async def grant(
        info: Info, input: Annotated[GrantResourceInput, input_argument(input_type)]
    ) -> object:
        loaders, key = info.context.loaders.of(kind), parse_key(kind.title, input.id)
        return make_payload(*await resources.grant(loaders, key, input.group))

    return strawberry.mutation(
        resolver=grant,
        graphql_type=result,
        description=f"Let a group and all groups below it see and use a {kind.noun}. The caller "
        "must be an admin at the group that owns it and at the group that gains access. A grant to "
        "a group replaces the grants of the groups below it.",
    )


def revoke_mutation(
    kind: KindDefinition[R],
    input_type: type[RevokeResourceInput],
    result: object,
    make_payload: Callable[[R], object],
) -> Any:
    """Declare the mutation that revokes the grant that a group itself has."""

    async def revoke(
        info: Info, input: Annotated[RevokeResourceInput, input_argument(input_type)]
    ) -> object:
        loaders, key = info.context.loaders.of(kind), parse_key(kind.title, input.id)
        return make_payload(await resources.revoke(loaders, key, input.group))

    return strawberry.mutation(
        resolver=revoke,
        graphql_type=result,
        description=f"Remove the grant that a group itself has for a {kind.noun}. The caller must "
        "be an admin at the group that owns it. The owner always keeps access: if the grant "
        "belongs to a group above the owner, the owner gets a grant in its place.",
    )
