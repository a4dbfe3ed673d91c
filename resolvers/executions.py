"""Reads and writes of executions that take more than one call of a repository."""

from asyncio import gather
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.datastore.errors import NotFound, NotPermitted, blame_field
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.file_access import sees_whole_files
from penstock.datastore.executions.lists.group_listing import GroupExecutions
from penstock.datastore.executions.lists.listing import ExecutionFilter
from penstock.datastore.executions.records import Execution, Pin
from penstock.datastore.executions.workers.external import ClaimedExecution
from penstock.datastore.objects.port import UploadForm
from penstock.datastore.records import Pipeline, TagKey, TagValue
from penstock.datastore.resources.reading import ACCESS_FIELDS
from penstock.datastore.table.items import Projection
from penstock.datastore.table.layout import KINDS
from penstock.datastore.table.pages import Slice, Window
from penstock.resolvers.context import Context
from penstock.resolvers.loaders import prime_page
from penstock.resolvers.resources import TagPage
from penstock.transform.outcome import RejectionCount, RowCounts

_KINDS = {kind.letter: kind for kind in KINDS}


async def list_executions(
    context: Context,
    pipeline: Pipeline,
    listed: ExecutionFilter,
    window: Window,
    projection: Projection,
) -> Slice[Execution]:
    """Read a page of executions, and put those that are read whole into the loader."""
    found = await context.session.executions.listing.page(pipeline, listed, window, projection)
    loader = context.loaders.executions
    return prime_page(found, projection, lambda execution: loader.prime(execution.id, execution))


async def list_of_groups(
    context: Context, listed: GroupExecutions, window: Window
) -> Slice[Execution]:
    """Read a page of the executions of groups, and put them into the loader."""
    found = await context.session.executions.of_groups.page(listed, window)
    loader = context.loaders.executions
    return prime_page(found, None, lambda execution: loader.prime(execution.id, execution))


async def list_tag_keys(context: Context, pipeline: Pipeline, window: Window) -> TagPage[TagKey]:
    """List the tag keys of a pipeline's executions."""
    return TagPage(await context.session.executions.tags.keys_of([pipeline.id], window))


async def list_tag_values(
    context: Context, pipeline: Pipeline, key: str, parent: str | None, window: Window
) -> TagPage[TagValue]:
    """List the values of a tag key of a pipeline's executions, below `parent` if it is given."""
    tags = context.session.executions.tags
    return TagPage(await tags.values_of([pipeline.id], key, parent, window))


async def upload_form(context: Context, execution: Execution) -> UploadForm | None:
    """Return the upload form; None if the caller may not upload."""
    try:
        return await context.session.executions.uploads.form(execution.id)
    except NotPermitted:
        return None


async def reused_execution(context: Context, execution: Execution) -> Execution | None:
    """Return the execution whose result was taken; None if there is none that the caller sees."""
    if execution.copied_from is None:
        return None
    try:
        return await context.loaders.executions.load(execution.copied_from)
    except NotFound:
        return None


def visible_rejections(context: Context, execution: Execution) -> tuple[RejectionCount, ...] | None:
    """The reasons of rejected rows, for whoever may read these rows."""
    return execution.rejections if sees_whole_files(context.caller, execution) else None


def visible_message(context: Context, execution: Execution) -> str | None:
    """The explanation of the state, which may quote the input, for whoever may read that."""
    return execution.message if sees_whole_files(context.caller, execution) else None


async def visible_pins(context: Context, execution: Execution) -> list[Pin]:
    """Return the pins whose resources the caller sees, in one batch for each kind."""
    found = await gather(*(_sees(context, pin) for pin in execution.pins))
    return [pin for pin, is_visible in zip(execution.pins, found, strict=True) if is_visible]


async def _sees(context: Context, pin: Pin) -> bool:
    try:
        await context.loaders.of(_KINDS[pin.kind]).latest(pin.id, ACCESS_FIELDS)
    except NotFound:
        return False
    return True


async def create(
    context: Context, wanted: ExecutionRequest, idempotency_key: str | None
) -> Execution:
    with blame_field("pipelineId"):
        creating = context.session.executions.creating
        return _renew_execution(context, await creating.create(wanted, idempotency_key))


async def run_inline(
    context: Context,
    wanted: ExecutionRequest,
    rows: Sequence[Mapping[str, Any]],
    idempotency_key: str | None,
) -> Execution:
    with blame_field("pipelineId"):
        inline = context.session.executions.inline
        return _renew_execution(context, await inline.run(wanted, rows, idempotency_key))


async def start(context: Context, id: str) -> Execution:
    return _renew_execution(context, await context.session.executions.uploads.confirm(id))


async def cancel(context: Context, id: str) -> Execution:
    return _renew_execution(context, await context.session.executions.changing.cancel(id))


async def retry(context: Context, id: str) -> Execution:
    return _renew_execution(context, await context.session.executions.changing.retry(id))


async def claim(context: Context, id: str, worker: str) -> ClaimedExecution:
    claimed = await context.session.executions.external.claim(id, worker)
    _renew_execution(context, claimed.execution)
    return claimed


async def heartbeat(context: Context, id: str, fence: int, counts: RowCounts) -> Execution:
    external = context.session.executions.external
    return _renew_execution(context, await external.heartbeat(id, fence, counts))


async def complete(context: Context, id: str, fence: int, counts: RowCounts) -> Execution:
    external = context.session.executions.external
    return _renew_execution(context, await external.complete(id, fence, counts))


async def fail(context: Context, id: str, fence: int, code: str, message: str) -> Execution:
    external = context.session.executions.external
    return _renew_execution(context, await external.fail(id, fence, code, message))


def _renew_execution(context: Context, written: Execution) -> Execution:
    """Let later fields of the request see the execution as it was written."""
    context.loaders.executions.clear(written.id).prime(written.id, written)
    return written
