"""Reads and writes of resources of every kind, of the tags on them, and of drafts to evaluate."""

from asyncio import gather, to_thread
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeVar

from penstock.datastore.datasets.staged_files import Attachment
from penstock.datastore.errors import FieldProblem, Invalid, NotFound, about
from penstock.datastore.evaluation.evaluator import Prepared
from penstock.datastore.records import Calculation, Group, Output, Parameter, Resource
from penstock.datastore.resources.reading import Listed
from penstock.datastore.resources.tags_in_use import TagLists
from penstock.datastore.resources.version_diff import Change, changes
from penstock.datastore.roles import GroupPath, covers
from penstock.datastore.table.items import Asked
from penstock.datastore.table.layout import KINDS, Kind
from penstock.datastore.table.pages import Slice, Window
from penstock.resolvers.context import Context
from penstock.resolvers.loaders import Desk, known


class ResourceKind(StrEnum):
    """A kind of resource, by the letter of its rows in the table."""

    PIPELINE = "P"
    CALCULATION = "C"
    REFERENCE_DATASET = "D"


_KINDS: Final[Mapping[str, Kind[Any]]] = {kind.letter: kind for kind in KINDS}


def tag_lists(context: Context, kind: ResourceKind) -> TagLists:
    """Return the lists of the tags in use on resources of a kind."""
    return context.view.of(_KINDS[kind]).tags


class Draft(NamedTuple):
    """A calculation that is not saved."""

    formula: str
    parameters: Sequence[Parameter]
    outputs: Sequence[Output]


class Subject(NamedTuple):
    """The calculation to evaluate: exactly one of `id`, `name` and `draft` is given.

    `group` is the group in which `name` or `draft` is looked up.
    """

    id: str | None
    name: str | None
    draft: Draft | None
    group: GroupPath | None
    version: int | None


async def prepare(context: Context, subject: Subject) -> tuple[Calculation | None, Prepared]:
    """Prepare the formula to evaluate; also return its calculation, if it is a saved one.

    The calculation is that of the version that the subject names.
    """
    if sum(one is not None for one in (subject.id, subject.name, subject.draft)) != 1:
        raise Invalid([FieldProblem(["id"], "give either `id` or `name` or `draft`")])
    if subject.draft is not None and subject.version is not None:
        raise Invalid([FieldProblem(["version"], "a draft has no versions")])
    evaluations = context.view.evaluations
    if subject.draft is not None:
        return None, await evaluations.of_draft(subject.group, *subject.draft)
    if subject.id is not None:
        return await evaluations.of_id(subject.id, subject.version)
    return await evaluations.of_name(subject.name or "", subject.group, subject.version)


R = TypeVar("R", bound=Resource)


async def as_at(desk: Desk[R], id: str, time: str) -> R:
    """Read the version of a resource that was the latest at a time."""
    return await desk.repository.versions.as_at(await desk.latest(id), time)


async def page(desk: Desk[R], listed: Listed, window: Window, asked: Asked) -> Slice[R]:
    """Read a page of resources, and put those that are read whole into the loader."""
    found = await desk.repository.listing.page(listed, window, asked)
    return known(found, asked, desk.prime)


async def diff(desk: Desk[R], resource: R, earlier: int, later: int) -> list[Change]:
    """Compare two versions; NotFound, about `from` or `to`, if one of them does not exist."""

    async def numbered(number: int, field: str) -> R:
        with about(field):
            return await desk.versions.load((resource, number))

    before, after = await gather(numbered(earlier, "from"), numbered(later, "to"))
    return await to_thread(changes, before, after)


async def granted_through(
    context: Context, resource: Resource, group: GroupPath
) -> GroupPath | None:
    """Return the group whose grant lets `group` see the resource: itself or one above it."""
    with about("group"):
        await context.loaders.groups.load(group)
    return next((granted for granted in resource.groups if covers(granted, group)), None)


async def owner_group(context: Context, resource: Resource) -> Group | None:
    """Load the group that owns a resource; None if the caller may not know it."""
    try:
        return await context.loaders.groups.load(resource.owner)
    except NotFound:
        return None


class Given(NamedTuple):
    """The input of a user: fields, problems that the fields cannot show, and an optional file."""

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
    """Let later fields of the request see the resource as written, or before it was deleted."""
    desk.renew(written)
    return written
