"""The mutation fields of a kind of resource: create, update, delete, grant and revoke."""

from collections.abc import Callable
from typing import Any, TypeVar

import strawberry
from strawberry import UNSET

from datastore.layout import Kind
from datastore.paths import GroupPath
from datastore.records import Resource
from resolvers import resources
from schema.common import Info, given
from schema.nodes import key_of
from schema.resource_inputs import Content, id_of
from schema.resource_results import (
    CREATE,
    DELETE,
    GRANT,
    REVOKE,
    UPDATE,
    Verb,
    make_class,
    payload_of,
    result_of,
)

R = TypeVar("R", bound=Resource)


def creates(kind: Kind[R], type: Any, input: Any, content: Content) -> Any:
    """Make the field that creates one from the kind's input."""
    payload = payload_of(CREATE, kind, type)

    async def create(info: Info, input: Any) -> Any:
        created = await content.of(info.context, input)
        key = given(input.idempotency_key)
        made = await resources.create(info.context.desk(kind), given(input.group), created, key)
        return payload(**{kind.field: made})

    description = f"Create a {kind.noun}; the caller is contributor at the group."
    return _mutation(CREATE, kind, payload, create, input, description)


def updates(kind: Kind[R], type: Any, input: Any, content: Content) -> Any:
    """Make the field that makes a new version from the kind's input."""
    payload = payload_of(UPDATE, kind, type)

    async def update(info: Info, input: Any) -> Any:
        id = key_of(kind.title, input.id)
        changes = await content.changed_by(info.context, input)
        desk = info.context.desk(kind)
        updated = await resources.update(desk, id, input.expected_version, changes)
        return payload(**{kind.field: updated})

    description = "Make a new version; the caller is contributor at the owner group."
    return _mutation(UPDATE, kind, payload, update, input, description)


def deletes(kind: Kind[R], type: Any) -> Any:
    """Make the field that deletes one with all its versions."""
    payload = payload_of(DELETE, kind, type)
    expected = strawberry.field(
        default=UNSET, description="If given, the version that must be the current one."
    )
    input = _input(
        DELETE, kind, f"The {kind.noun} to delete.", expected_version=(int | None, expected)
    )

    async def delete(info: Info, input: Any) -> Any:
        id = key_of(kind.title, input.id)
        expected = given(input.expected_version)
        deleted = await resources.delete(info.context.desk(kind), id, expected)
        return payload(**{kind.field: deleted})

    description = f"Delete a {kind.noun} and its versions; the caller is admin at the owner group."
    return _mutation(DELETE, kind, payload, delete, input, description)


def grants(kind: Kind[R], type: Any) -> Any:
    """Make the field that lets a group see one."""
    payload = payload_of(GRANT, kind, type)
    group = strawberry.field(description="The group that is to see it.")
    input = _input(GRANT, kind, "What to grant to whom.", group=(GroupPath, group))

    async def grant(info: Info, input: Any) -> Any:
        id = key_of(kind.title, input.id)
        granted, changed = await resources.grant(info.context.desk(kind), id, input.group)
        return payload(**{kind.field: granted, "changed": changed})

    description = (
        f"Let a group and those below see and run a {kind.noun}; the caller is admin at both "
        "groups. A grant to an ancestor takes the place of those below it."
    )
    return _mutation(GRANT, kind, payload, grant, input, description)


def revokes(kind: Kind[R], type: Any) -> Any:
    """Make the field that takes a group's own grant away."""
    payload = payload_of(REVOKE, kind, type)
    group = strawberry.field(description="The group that has the grant itself.")
    input = _input(REVOKE, kind, "What to revoke from whom.", group=(GroupPath, group))

    async def revoke(info: Info, input: Any) -> Any:
        id = key_of(kind.title, input.id)
        revoked = await resources.revoke(info.context.desk(kind), id, input.group)
        return payload(**{kind.field: revoked})

    description = (
        "Take a group's own grant away; the caller is admin at the owner group. The owner keeps "
        "sight: a grant above it narrows to the owner's own."
    )
    return _mutation(REVOKE, kind, payload, revoke, input, description)


def _input(verb: Verb, kind: Kind[Any], description: str, **more: tuple[Any, Any]) -> Any:
    """Make an input of the id of one and another field, given as its type and itself."""
    annotations = {"id": strawberry.ID, **{name: type for name, (type, _) in more.items()}}
    fields = {"id": id_of(kind.noun), **{name: field for name, (_, field) in more.items()}}
    made = make_class(f"{verb.name}{kind.title}Input", annotations, fields)
    return strawberry.input(made, description=description)


def _mutation(
    verb: Verb,
    kind: Kind[Any],
    payload: Any,
    resolver: Callable[..., Any],
    input: Any,
    description: str,
) -> Any:
    """Make the field; only here is the type of its input known, and strawberry asks for it."""
    resolver.__annotations__["input"] = input
    return strawberry.mutation(
        resolver=resolver, graphql_type=result_of(verb, kind, payload), description=description
    )
