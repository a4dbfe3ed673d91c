"""Reads and writes of groups that take more than one call of a repository."""

from penstock.datastore.errors import blame_field
from penstock.datastore.groups.content import GroupContent
from penstock.datastore.jobs.jobs import Job
from penstock.datastore.records import Group, Tag
from penstock.datastore.roles import GroupPath, parent
from penstock.resolvers.context import Context


async def load_group(context: Context, path: GroupPath) -> Group:
    with blame_field("path"):
        return await context.loaders.groups.load(path)


async def load_parent(context: Context, group: Group) -> Group | None:
    above = parent(group.path)
    return None if above is None else await context.loaders.groups.load(above)


async def create(
    context: Context,
    path: GroupPath,
    name: str | None,
    description: str | None,
    tags: tuple[Tag, ...],
) -> Group:
    _clear_loaders(context, path)
    with blame_field("path"):
        return await context.session.groups.create(path, name, description, tags)


async def update(context: Context, path: GroupPath, content: GroupContent) -> Group:
    _clear_loaders(context, path)
    with blame_field("path"):
        return await context.session.groups.update(path, content)


async def delete(context: Context, path: GroupPath, cascade: bool) -> tuple[Group, Job | None]:
    _clear_loaders(context, path)
    with blame_field("path"):
        if cascade:
            return await context.session.group_deletions.delete(path)
        return await context.session.groups.delete(path), None


def _clear_loaders(context: Context, path: GroupPath) -> None:
    """Let later reads load the group and its parent again."""
    context.loaders.groups.clear(path)
    if (above := parent(path)) is not None:
        context.loaders.groups.clear(above)
