"""Objects of any type by their global ids, batched by the loaders of their types."""

from asyncio import gather
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias

from penstock.datastore.audio.records import Album, Artist, Audio, BucketConnection
from penstock.datastore.errors import BadArgument, NotFound, Unreadable
from penstock.datastore.executions.records import Execution
from penstock.datastore.jobs.jobs import Job
from penstock.datastore.kept_rows.records import KeptRow
from penstock.datastore.manifest.records import Manifest, ManifestName, Run, RunName
from penstock.datastore.playlists.records import Playlist
from penstock.datastore.records import Group, Resource
from penstock.datastore.roles import parse_group_path
from penstock.datastore.table.items import Projection
from penstock.datastore.table.layout import KINDS
from penstock.resolvers.context import Context
from penstock.resolvers.kept_rows import load_row
from penstock.resolvers.loaders import Loaders

Record: TypeAlias = (
    Resource
    | Group
    | Job
    | Execution
    | Audio
    | Artist
    | Album
    | BucketConnection
    | Playlist
    | Run
    | Manifest
    | KeptRow
)
TypedKey: TypeAlias = tuple[str, str]
ProjectionByType: TypeAlias = Callable[[str], Projection]
"""Returns the attributes that the request reads of the objects of a type."""


LOADERS_BY_TYPE: Mapping[str, Callable[[Loaders, str], Awaitable[Record]]] = {
    "Job": lambda loaders, key: loaders.jobs.load(key),
    "Execution": lambda loaders, key: loaders.executions.load(key),
    "Audio": lambda loaders, key: loaders.audio.tracks.load(key),
    "Artist": lambda loaders, key: loaders.audio.artists.load(key),
    "Album": lambda loaders, key: loaders.audio.albums.load(key),
    "Storage": lambda loaders, key: loaders.audio.storages.load(key),
    "Playlist": lambda loaders, key: loaders.listener.playlists.load(key),
}
"""The loader of each type whose objects are read by one key."""


async def load_nodes(
    context: Context, ids: Sequence[TypedKey | None], projections: ProjectionByType
) -> list[Record | None]:
    """Load one object for each id, in the same order; None if it is missing, hidden or no id.

    An object that cannot be read counts as missing, so that the others are found. Of a resource,
    at least the attributes that the request reads are loaded.
    """

    async def load_readable(id: TypedKey | None) -> Record | None:
        try:
            return await load_node(context, id, projections)
        except Unreadable:
            return None

    return list(await gather(*map(load_readable, ids)))


async def load_node(
    context: Context, id: TypedKey | None, projections: ProjectionByType
) -> Record | None:
    """Load the object with an id; None as in `load_nodes`, but raises Unreadable."""
    try:
        return None if id is None else await _load_by_key(context, *id, projections)
    except Unreadable:
        raise
    except (NotFound, BadArgument):
        return None


async def _load_by_key(
    context: Context, type: str, key: str, projections: ProjectionByType
) -> Record | None:
    if type == "Group":
        path = parse_group_path(key)
        return await context.loaders.groups.load(path) if path == key else None
    if type in LOADERS_BY_TYPE:
        return await LOADERS_BY_TYPE[type](context.loaders, key)
    if type == "KeptRow":
        return await load_row(context, key)
    if type == "Run":
        name = RunName.read(key)
        return None if name is None else await context.loaders.runs.load(name)
    if type == "Manifest":
        place = ManifestName.read(key)
        return None if place is None else await context.loaders.manifests.load(place)
    return await _load_resource(context, type, key, projections)


async def _load_resource(
    context: Context, type: str, key: str, projections: ProjectionByType
) -> Resource | None:
    for kind in KINDS:
        if type == kind.title:
            latest: Resource = await context.loaders.of(kind).latest(key, projections(type))
            return latest
        if type == kind.version_title:
            id, _, version = key.partition(":")
            found: Resource = await context.loaders.of(kind).versions_by_id.load(
                (id, _parse_number(version))
            )
            return found
    return None


def _parse_number(text: str) -> int:
    """Read a number in the form that the server writes; 0, which no version has, otherwise."""
    number = int(text) if text.isascii() and text.isdecimal() else 0
    return number if str(number) == text else 0
