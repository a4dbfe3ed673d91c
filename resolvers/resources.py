"""Reads and writes of resources of every kind, of the tags on them, and of drafts to evaluate."""

from asyncio import gather
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, Generic, NamedTuple, TypeVar

from penstock.datastore.access.access import known_grants
from penstock.datastore.datasets.staged_files import Attachment
from penstock.datastore.errors import FieldProblem, Invalid, NotFound, blame_field
from penstock.datastore.evaluation.evaluator import PreparedFormula
from penstock.datastore.records import (
    Calculation,
    Group,
    Output,
    Parameter,
    Resource,
    TagKey,
    TagValue,
)
from penstock.datastore.request_threads import run_in_request_thread
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.resources.version_diff import ValueChange, diff_versions
from penstock.datastore.resources.version_labels.labels import (
    EITHER,
    VersionName,
    labels_of_version,
)
from penstock.datastore.roles import GroupPath, covers
from penstock.datastore.table.items import Projection, record_type
from penstock.datastore.table.layout import KIND_OF_LETTER, KINDS, KindDefinition
from penstock.datastore.table.pages import Slice, Window
from penstock.resolvers.context import Context
from penstock.resolvers.formula_names import with_current_names
from penstock.resolvers.loaders import KindLoaders


class ResourceKind(StrEnum):
    """A kind of resource, by the letter of its rows in the table."""

    PIPELINE = "P"
    CALCULATION = "C"
    REFERENCE_DATASET = "D"
    METRIC = "M"


P = TypeVar("P")


class TagPage(NamedTuple, Generic[P]):
    """A page of tags in use, and whether all resources that have them were counted.

    `resource_count` is how many these are, where a search counted them.
    """

    found: Slice[P]
    is_complete: bool = True
    resource_count: int | None = None


async def list_tag_keys(
    context: Context,
    kind: ResourceKind,
    listed: ListRequest,
    window: Window,
    *,
    with_resource_count: bool,
) -> TagPage[TagKey]:
    """List the tag keys of a group from its counters, or of the matches of a filter.

    The counters do not know how many resources there are; to say that, a search counts them.
    """
    repository = context.session.repository(KIND_OF_LETTER[kind])
    if not (with_resource_count or _is_counted(listed)):
        return TagPage(await repository.tags.keys(listed.group, window))
    counted = await repository.tag_counter.count_keys(listed)
    return TagPage(await counted.keys(window), counted.is_complete, counted.match_count)


async def list_tag_values(
    context: Context,
    kind: ResourceKind,
    listed: ListRequest,
    place: tuple[str, str | None],
    window: Window,
    *,
    with_resource_count: bool,
) -> TagPage[TagValue]:
    """List the values of a tag key, below a value if `place` has one beside the key."""
    repository = context.session.repository(KIND_OF_LETTER[kind])
    key, parent = place
    if not (with_resource_count or _is_counted(listed)):
        return TagPage(await repository.tags.values(key, parent, listed.group, window))
    counted = await repository.tag_counter.count_values(listed, key, parent)
    found = await counted.values(key, window)
    return TagPage(found, counted.is_complete, counted.match_count)


def _is_counted(listed: ListRequest) -> bool:
    """Whether the tags are counted in a search: the counters of a group know no filter."""
    filtered = listed.tags.restricts or listed.name is not None or listed.filters_records
    return listed.include_child_groups or filtered


class CalculationDraft(NamedTuple):
    """A calculation that is not saved."""

    formula: str
    parameters: Sequence[Parameter]
    outputs: Sequence[Output]


class EvaluationSubject(NamedTuple):
    """The calculation to evaluate: exactly one of `id`, `name` and `draft` is given.

    `group` is the group in which `name` or `draft` is looked up.
    """

    id: str | None
    name: str | None
    draft: CalculationDraft | None
    group: GroupPath | None
    version: VersionName


async def prepare_evaluation(
    context: Context, subject: EvaluationSubject
) -> tuple[Calculation | None, PreparedFormula]:
    """Prepare the formula to evaluate; also return its calculation, if it is a saved one.

    The calculation is that of the version that the subject names.
    """
    if sum(one is not None for one in (subject.id, subject.name, subject.draft)) != 1:
        raise Invalid([FieldProblem(["id"], "give either `id` or `name` or `draft`")])
    if subject.draft is not None and not subject.version.is_latest:
        raise Invalid([FieldProblem(["version"], "a draft has no versions")])
    evaluations = context.session.evaluations
    if subject.draft is not None:
        return None, await evaluations.prepare_draft(subject.group, *subject.draft)
    if subject.id is not None:
        return await evaluations.prepare_by_id(subject.id, subject.version)
    return await evaluations.prepare_by_name(subject.name or "", subject.group, subject.version)


R = TypeVar("R", bound=Resource)

_LABEL_FIELDS: Final[Projection] = frozenset(("id", "labels"))


async def compare_versions(
    context: Context, kind: KindDefinition[R], resource: R, earlier: int, later: int
) -> list[ValueChange]:
    """Compare two versions; NotFound, about `from` or `to`, if one of them does not exist.

    Raises RateLimited for a caller who is in debt for what this operation did before.

    Formulas are compared as they are shown, so that a name that stands for another resource now is
    a change.
    """
    context.session.work.spend_more(1)
    versions = context.loaders.of(kind).versions

    async def load_version(number: int, field: str) -> R:
        with blame_field(field):
            return await with_current_names(context, await versions.load((resource, number)))

    before, after = await gather(load_version(earlier, "from"), load_version(later, "to"))
    payer = context.session.payer
    return await run_in_request_thread(lambda _: diff_versions(before, after), payer)


async def find_granting_group(
    context: Context, resource: Resource, group: GroupPath
) -> GroupPath | None:
    """Return the group whose grant lets `group` see the resource: itself or one above it."""
    with blame_field("group"):
        await context.loaders.groups.load(group)
    return next((granted for granted in resource.groups if covers(granted, group)), None)


def known_groups(context: Context, resource: Resource) -> list[GroupPath]:
    """Return the groups with a grant that the caller may know of."""
    return known_grants(context.caller, resource.owner, resource.groups)


async def find_visible(context: Context, kind: KindDefinition[R], id: str) -> R | None:
    """Find a resource by its id; None if it is gone or out of sight."""
    try:
        return await context.loaders.of(kind).latest(id)
    except NotFound:
        return None


async def find_visible_version(
    context: Context, kind: KindDefinition[R], id: str, number: int
) -> R | None:
    """Find a version by the id of its resource; None if it is gone or out of sight."""
    try:
        return await context.loaders.of(kind).versions_by_id.load((id, number))
    except NotFound:
        return None


async def load_labels(context: Context, version: Resource) -> list[str]:
    """Load the labels of a version, which the latest row of its resource has."""
    kind = next(one for one in KINDS if one.version_record is record_type(version))
    latest = await context.loaders.of(kind).latest(version.id, _LABEL_FIELDS)
    return labels_of_version(latest, version.version)


async def load_owner_group(context: Context, resource: Resource) -> Group | None:
    """Load the group that owns a resource; None if the caller may not know it."""
    try:
        return await context.loaders.groups.load(resource.owner)
    except NotFound:
        return None


class ResourceInput(NamedTuple):
    """The input of a user: fields, problems that the fields cannot show, and an optional file."""

    content: Mapping[str, Any]
    noted: Sequence[FieldProblem]
    attachment: Attachment[Any] | None = None


async def create(
    loaders: KindLoaders[R],
    group: GroupPath | None,
    given: ResourceInput,
    idempotency_key: str | None,
) -> R:
    writing = loaders.repository.writing.with_attachment(given.attachment)
    return _renew_resource(
        loaders, await writing.create(group, given.content, idempotency_key, given.noted)
    )


async def update(
    loaders: KindLoaders[R], id: str, expected_version: int, given: ResourceInput
) -> R:
    writing = loaders.repository.writing.with_attachment(given.attachment)
    return _renew_resource(
        loaders, await writing.update(id, expected_version, given.content, given.noted)
    )


async def delete(
    loaders: KindLoaders[R], id: str, expected_version: int | None, *, force: bool
) -> R:
    deleting = loaders.repository.deleting
    return _renew_resource(loaders, await deleting.delete(id, expected_version, force=force))


async def restore(
    loaders: KindLoaders[R],
    id: str,
    named: VersionName,
    expected_version: int,
    active_from: str | None,
) -> R:
    version = await _find_number(loaders, id, named)
    restored = await loaders.repository.writing.restore(id, version, expected_version, active_from)
    return _renew_resource(loaders, restored)


async def _find_number(loaders: KindLoaders[R], id: str, named: VersionName) -> int:
    """Find the number of a version that must be named; a number by itself costs no read."""
    if named.is_latest:
        raise Invalid([FieldProblem(["version"], EITHER)])
    if named.number is not None and named.label is None:
        return named.number
    return named.find(await loaders.latest(id))


async def label(loaders: KindLoaders[R], id: str, version: int, text: str, *, moves: bool) -> R:
    writing = loaders.repository.writing
    return _renew_resource(loaders, await writing.label(id, version, text, moves=moves))


async def remove_label(loaders: KindLoaders[R], id: str, text: str) -> R:
    return _renew_resource(loaders, await loaders.repository.writing.remove_label(id, text))


async def grant(loaders: KindLoaders[R], id: str, group: GroupPath) -> tuple[R, bool]:
    granted, changed = await loaders.repository.writing.grant(id, group)
    return _renew_resource(loaders, granted), changed


async def revoke(loaders: KindLoaders[R], id: str, group: GroupPath) -> R:
    return _renew_resource(loaders, await loaders.repository.writing.revoke(id, group))


def _renew_resource(loaders: KindLoaders[R], written: R) -> R:
    """Let later fields of the request see the resource as written, or before it was deleted."""
    loaders.renew(written)
    return written
