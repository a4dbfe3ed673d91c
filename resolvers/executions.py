"""Reads and writes of executions that take more than one call of a repository."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.datastore.errors import NotPermitted, about
from penstock.datastore.executions.create import Wanted
from penstock.datastore.executions.external_workers import Claimed
from penstock.datastore.executions.listing import ListedExecutions
from penstock.datastore.executions.records import Execution
from penstock.datastore.objects.port import UploadForm
from penstock.datastore.records import Pipeline
from penstock.datastore.table.items import Asked
from penstock.datastore.table.pages import Slice, Window
from penstock.resolvers.context import Context
from penstock.resolvers.loaders import known
from penstock.transform.outcome import Counts


async def page(
    context: Context,
    pipeline: Pipeline,
    listed: ListedExecutions,
    window: Window,
    asked: Asked,
) -> Slice[Execution]:
    """Read a page of executions, and put those that are read whole into the loader."""
    found = await context.session.executions.listing.page(pipeline, listed, window, asked)
    loader = context.loaders.executions
    return known(found, asked, lambda execution: loader.prime(execution.id, execution))


async def upload(context: Context, execution: Execution) -> UploadForm | None:
    """Return the upload form; None if the caller may not upload."""
    try:
        return await context.session.executions.uploads.form(execution.id)
    except NotPermitted:
        return None


async def create(context: Context, wanted: Wanted, idempotency_key: str | None) -> Execution:
    with about("pipelineId"):
        creating = context.session.executions.creating
        return _renewed(context, await creating.create(wanted, idempotency_key))


async def run_inline(
    context: Context,
    wanted: Wanted,
    rows: Sequence[Mapping[str, Any]],
    idempotency_key: str | None,
) -> Execution:
    with about("pipelineId"):
        inline = context.session.executions.inline
        return _renewed(context, await inline.run(wanted, rows, idempotency_key))


async def start(context: Context, id: str) -> Execution:
    return _renewed(context, await context.session.executions.uploads.confirm(id))


async def cancel(context: Context, id: str) -> Execution:
    return _renewed(context, await context.session.executions.changing.cancel(id))


async def retry(context: Context, id: str) -> Execution:
    return _renewed(context, await context.session.executions.changing.retry(id))


async def claim(context: Context, id: str, worker: str) -> Claimed:
    claimed = await context.session.executions.external.claim(id, worker)
    _renewed(context, claimed.execution)
    return claimed


async def heartbeat(context: Context, id: str, fence: int, counts: Counts) -> Execution:
    external = context.session.executions.external
    return _renewed(context, await external.heartbeat(id, fence, counts))


async def complete(context: Context, id: str, fence: int, counts: Counts) -> Execution:
    external = context.session.executions.external
    return _renewed(context, await external.complete(id, fence, counts))


async def fail(context: Context, id: str, fence: int, code: str, message: str) -> Execution:
    external = context.session.executions.external
    return _renewed(context, await external.fail(id, fence, code, message))


def _renewed(context: Context, written: Execution) -> Execution:
    """Let later fields of the request see the execution as it was written."""
    context.loaders.executions.clear(written.id).prime(written.id, written)
    return written
