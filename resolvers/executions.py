"""What each field and mutation of executions does."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from datastore.changes import Changes
from datastore.errors import NotPermitted, about
from datastore.executions.answers import Answers
from datastore.executions.creating import Wanted
from datastore.executions.downloads import FileDownload, FileKind
from datastore.executions.external import Claimed
from datastore.executions.following import followed_execution
from datastore.executions.listing import ListedExecutions
from datastore.executions.records import Execution, ExecutionEvent
from datastore.files import UploadForm
from datastore.layout import PIPELINE
from datastore.parts import Asked
from datastore.records import Pipeline, TagKey, TagValue
from datastore.slices import Slice, Window
from kernel.outcome import Counts
from resolvers.context import Context
from resolvers.loading import known


async def by_id(context: Context, id: str) -> Execution:
    return await context.loaders.executions.load(id)


async def pipeline_of(context: Context, execution: Execution, asked: Asked) -> Pipeline:
    return await context.desk(PIPELINE).latest(execution.pipeline_id, asked)


async def page(
    context: Context,
    pipeline: Pipeline,
    listed: ListedExecutions,
    window: Window,
    asked: Asked,
) -> Slice[Execution]:
    """A page of executions, which the loader then knows as well, where they are whole."""
    found = await context.view.executions.listing.page(pipeline, listed, window, asked)
    loader = context.loaders.executions
    return known(found, asked, lambda execution: loader.prime(execution.id, execution))


async def tag_keys(context: Context, pipeline: Pipeline, window: Window) -> Slice[TagKey]:
    return await context.view.executions.tags.keys_of([pipeline.id], window)


async def tag_values(
    context: Context, pipeline: Pipeline, key: str, parent: str | None, window: Window
) -> Slice[TagValue]:
    return await context.view.executions.tags.values_of([pipeline.id], key, parent, window)


async def events(context: Context, execution: Execution, window: Window) -> Slice[ExecutionEvent]:
    return await context.view.executions.reading.events(execution, window)


async def upload(context: Context, execution: Execution) -> UploadForm | None:
    """The form, for those who may use it."""
    try:
        return await context.view.executions.uploads.form(execution.id)
    except NotPermitted:
        return None


async def download(
    context: Context, execution: Execution, kind: FileKind, expires_in: int | None
) -> FileDownload:
    return await context.view.executions.downloads.one(execution, kind, expires_in)


async def answers(context: Context, execution: Execution) -> Answers | None:
    return await context.view.executions.answers.one(execution)


async def create(context: Context, wanted: Wanted, idempotency_key: str | None) -> Execution:
    with about("pipelineId"):
        creating = context.view.executions.creating
        return _renewed(context, await creating.create(wanted, idempotency_key))


async def run_inline(
    context: Context,
    wanted: Wanted,
    rows: Sequence[Mapping[str, Any]],
    idempotency_key: str | None,
) -> Execution:
    with about("pipelineId"):
        inline = context.view.executions.inline
        return _renewed(context, await inline.run(wanted, rows, idempotency_key))


async def start(context: Context, id: str) -> Execution:
    return _renewed(context, await context.view.executions.uploads.confirm(id))


async def cancel(context: Context, id: str) -> Execution:
    return _renewed(context, await context.view.executions.changing.cancel(id))


async def retry(context: Context, id: str) -> Execution:
    return _renewed(context, await context.view.executions.changing.retry(id))


async def claim(context: Context, id: str, worker: str) -> Claimed:
    claimed = await context.view.executions.external.claim(id, worker)
    _renewed(context, claimed.execution)
    return claimed


async def heartbeat(context: Context, id: str, fence: int, counts: Counts) -> Execution:
    external = context.view.executions.external
    return _renewed(context, await external.heartbeat(id, fence, counts))


async def complete(context: Context, id: str, fence: int, counts: Counts) -> Execution:
    external = context.view.executions.external
    return _renewed(context, await external.complete(id, fence, counts))


async def fail(context: Context, id: str, fence: int, code: str, message: str) -> Execution:
    external = context.view.executions.external
    return _renewed(context, await external.fail(id, fence, code, message))


def followed(context: Context, changes: Changes, id: str) -> AsyncIterator[Execution]:
    """Yield the execution now and after each write, until it is over or out of sight."""
    return followed_execution(context.view.executions.reading, changes, id)


def _renewed(context: Context, written: Execution) -> Execution:
    """Let later fields of the document see what this one wrote."""
    context.loaders.executions.clear(written.id).prime(written.id, written)
    return written
