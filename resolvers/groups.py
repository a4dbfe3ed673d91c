"""What each field and mutation of groups does."""

from datastore.paths import GroupPath, parent
from datastore.records import Group
from datastore.slices import Slice, Window
from resolvers.context import Context


async def by_path(context: Context, path: GroupPath) -> Group:
    return await context.loaders.groups.load(path)


async def parent_of(context: Context, group: Group) -> Group | None:
    above = parent(group.path)
    return None if above is None else await context.loaders.groups.load(above)


async def children(context: Context, group: Group, window: Window) -> Slice[Group]:
    return await context.view.groups.children(group, window)


async def create(context: Context, path: GroupPath, name: str | None) -> Group:
    return await context.view.groups.create(path, name)


async def delete(context: Context, path: GroupPath) -> Group:
    return await context.view.groups.delete(path)
