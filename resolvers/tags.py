"""The tags in use on resources of a kind."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from datastore.layout import KINDS, Kind
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


_KINDS: Final[Mapping[str, Kind[Any]]] = {kind.letter: kind for kind in KINDS}


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
    return context.view.of(_KINDS[kind]).tags
