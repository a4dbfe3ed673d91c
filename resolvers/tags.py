"""The tags in use on resources of a kind."""

from enum import StrEnum

from datastore.paths import GroupPath
from datastore.records import TagKey, TagValue
from datastore.resources.tag_lists import TagLists
from datastore.slices import Slice, Window
from resolvers.context import Context


class ResourceKind(StrEnum):
    """A kind of resource, by the letter of its rows."""

    PIPELINE = "P"
    CALCULATION = "C"
    REFERENCE_DATASET = "D"


async def keys(
    context: Context, kind: ResourceKind, group: GroupPath | None, window: Window
) -> Slice[TagKey]:
    return await _lists(context, kind).keys(group, window)


async def values(
    context: Context,
    kind: ResourceKind,
    key: str,
    parent: str | None,
    group: GroupPath | None,
    window: Window,
) -> Slice[TagValue]:
    return await _lists(context, kind).values(key, parent, group, window)


def _lists(context: Context, kind: ResourceKind) -> TagLists:
    return context.loaders.desks[kind].repository.tags
