"""Reads and writes of a kind of resource, at the desk of that kind."""

from asyncio import gather, to_thread
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from penstock.datastore.errors import FieldProblem, NotFound, about
from penstock.datastore.parts import Asked
from penstock.datastore.paths import GroupPath, covers
from penstock.datastore.records import Group, Resource
from penstock.datastore.resources.attachments import Attachment
from penstock.datastore.resources.differences import Change, changes
from penstock.datastore.resources.listing import Listed
from penstock.datastore.slices import Slice, Window
from penstock.resolvers.context import Context
from penstock.resolvers.loaders import Desk
from penstock.resolvers.loading import known

R = TypeVar("R", bound=Resource)


async def as_at(desk: Desk[R], id: str, time: str) -> R:
    """The resource as its version of that time has it."""
    return await desk.repository.versions.as_at(await desk.latest(id), time)


async def page(desk: Desk[R], listed: Listed, window: Window, asked: Asked) -> Slice[R]:
    """A page of resources, which the loader then knows as well, where they are whole."""
    found = await desk.repository.listing.page(listed, window, asked)
    return known(found, asked, desk.prime)


async def diff(desk: Desk[R], resource: R, earlier: int, later: int) -> list[Change]:
    """What differs between two versions; NotFound, about `from` or `to`, where there is none."""

    async def numbered(number: int, field: str) -> R:
        with about(field):
            return await desk.versions.load((resource, number))

    before, after = await gather(numbered(earlier, "from"), numbered(later, "to"))
    return await to_thread(changes, before, after)


async def granted_through(
    context: Context, resource: Resource, group: GroupPath
) -> GroupPath | None:
    """The group whose grant lets this one see the resource: itself, or one above."""
    with about("group"):
        await context.loaders.groups.load(group)
    return next((granted for granted in resource.groups if covers(granted, group)), None)


async def owner_group(context: Context, resource: Resource) -> Group | None:
    """None where the caller, to whom a grant shows the resource, may not know its owner."""
    try:
        return await context.loaders.groups.load(resource.owner)
    except NotFound:
        return None


class Given(NamedTuple):
    """What a user gives: fields, what is wrong that they cannot show, and a file if one comes."""

    content: Mapping[str, Any]
    noted: Sequence[FieldProblem]
    attachment: Attachment[Any] | None = None


async def create(
    desk: Desk[R], group: GroupPath | None, given: Given, idempotency_key: str | None
) -> R:
    writing = desk.repository.writing.bringing(given.attachment)
    return _renewed(desk, await writing.create(group, given.content, idempotency_key, given.noted))


async def update(desk: Desk[R], id: str, expected_version: int, given: Given) -> R:
    writing = desk.repository.writing.bringing(given.attachment)
    return _renewed(desk, await writing.update(id, expected_version, given.content, given.noted))


async def delete(desk: Desk[R], id: str, expected_version: int | None) -> R:
    return _renewed(desk, await desk.repository.deleting.delete(id, expected_version))


async def grant(desk: Desk[R], id: str, group: GroupPath) -> tuple[R, bool]:
    granted, changed = await desk.repository.writing.grant(id, group)
    return _renewed(desk, granted), changed


async def revoke(desk: Desk[R], id: str, group: GroupPath) -> R:
    return _renewed(desk, await desk.repository.writing.revoke(id, group))


def _renewed(desk: Desk[R], written: R) -> R:
    """Let later fields of the document see what this one wrote, or last was."""
    desk.renew(written)
    return written
