"""Objects of any type by their global ids, batched by the loaders of their types."""

from asyncio import gather
from collections.abc import Sequence
from typing import TypeAlias

from datastore.errors import BadInput, NotFound
from datastore.jobs import Job
from datastore.layout import KINDS
from datastore.paths import parse_group_path
from datastore.records import Group, Resource
from resolvers import resources
from resolvers.context import Context

Record: TypeAlias = Resource | Group | Job
Named: TypeAlias = tuple[str, str]


async def by_ids(context: Context, ids: Sequence[Named | None]) -> list[Record | None]:
    """One answer for each id, aligned: None for what is not there, not visible, or no id."""
    return list(await gather(*(_one(context, id) for id in ids)))


async def _one(context: Context, id: Named | None) -> Record | None:
    try:
        return None if id is None else await _read(context, *id)
    except (NotFound, BadInput):
        return None


async def _read(context: Context, type: str, key: str) -> Record | None:
    if type == "Group":
        path = parse_group_path(key)
        return await context.loaders.groups.load(path) if path == key else None
    if type == "Job":
        return await context.loaders.jobs.load(key)
    for kind in KINDS:
        if type == kind.title:
            latest: Resource = await resources.by_id(context.desk(kind), key)
            return latest
        if type == kind.version_title:
            id, _, version = key.partition(":")
            found: Resource = await context.desk(kind).versions_by_id.load((id, _number(version)))
            return found
    return None


def _number(text: str) -> int:
    """Read a number in the one way we write it; 0, which no version has, for any other text."""
    number = int(text) if text.isascii() and text.isdecimal() else 0
    return number if str(number) == text else 0
