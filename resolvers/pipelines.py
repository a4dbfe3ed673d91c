"""What each field and mutation of pipelines does."""

from collections.abc import Mapping, Sequence
from typing import Any

from datastore.errors import FieldProblem, NotFound
from datastore.paths import GroupPath
from datastore.records import Group, Pipeline
from datastore.resources.listing import Listed
from datastore.slices import Slice, Window
from resolvers.context import Context


async def by_id(context: Context, id: str) -> Pipeline:
    return await context.loaders.pipelines.load(id)


async def by_name(context: Context, name: str, group: GroupPath | None) -> Pipeline:
    return await context.view.pipelines.reading.by_name(name, group)


async def page(context: Context, listed: Listed, window: Window) -> Slice[Pipeline]:
    """A page of pipelines, which the loader then knows as well."""
    found = await context.view.pipelines.listing.page(listed, window)
    for _, pipeline in found.entries:
        context.loaders.pipelines.prime(pipeline.id, pipeline)
    return found


async def version(context: Context, pipeline: Pipeline, number: int) -> Pipeline:
    return await context.loaders.pipeline_versions.load((pipeline, number))


async def versions(context: Context, pipeline: Pipeline, window: Window) -> Slice[Pipeline]:
    return await context.loaders.pipeline_version_pages.load((pipeline, window))


async def owner_group(context: Context, pipeline: Pipeline) -> Group | None:
    """None where the caller, to whom a grant shows the pipeline, may not know its owner."""
    try:
        return await context.loaders.groups.load(pipeline.owner)
    except NotFound:
        return None


async def create(
    context: Context,
    group: GroupPath | None,
    content: Mapping[str, Any],
    idempotency_key: str | None,
    noted: Sequence[FieldProblem],
) -> Pipeline:
    writing = context.view.pipelines.writing
    created = await writing.create(group, content, idempotency_key, noted)
    return _renewed(context, created)


async def update(
    context: Context,
    id: str,
    expected_version: int,
    changes: Mapping[str, Any],
    noted: Sequence[FieldProblem],
) -> Pipeline:
    updated = await context.view.pipelines.writing.update(id, expected_version, changes, noted)
    return _renewed(context, updated)


async def delete(context: Context, id: str, expected_version: int | None) -> Pipeline:
    deleted = await context.view.pipelines.deleting.delete(id, expected_version)
    return _renewed(context, deleted)


async def grant(context: Context, id: str, group: GroupPath) -> tuple[Pipeline, bool]:
    granted, changed = await context.view.pipelines.writing.grant(id, group)
    return _renewed(context, granted), changed


async def revoke(context: Context, id: str, group: GroupPath) -> Pipeline:
    return _renewed(context, await context.view.pipelines.writing.revoke(id, group))


def _renewed(context: Context, written: Pipeline) -> Pipeline:
    """Let later fields of the document see what this one wrote, or last was."""
    context.loaders.pipelines.clear(written.id).prime(written.id, written)
    return written
