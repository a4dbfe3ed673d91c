"""Reads of kept rows for a request; histories of many rows of a pipeline are one query."""

from collections.abc import Sequence

from penstock.datastore.errors import NotFound
from penstock.datastore.kept_rows.conditions import RowFilter
from penstock.datastore.kept_rows.read_totals import Total, TotalsRequest
from penstock.datastore.kept_rows.records import KeptRow
from penstock.datastore.records import Pipeline
from penstock.datastore.table.layout import PIPELINE
from penstock.datastore.table.pages import Slice, Window
from penstock.resolvers.context import Context


async def list_rows(
    context: Context, pipeline: Pipeline, wanted: RowFilter, window: Window
) -> Slice[KeptRow]:
    """Read a page of the rows that stand."""
    return await context.session.kept_rows.page(pipeline, wanted, window)


async def list_totals(
    context: Context, pipeline: Pipeline, wanted: RowFilter, totals: TotalsRequest, window: Window
) -> Slice[Total]:
    """Read a page of totals."""
    return await context.session.kept_rows.totals(pipeline, wanted, totals, window)


async def list_versions(context: Context, row: KeptRow, window: Window) -> Slice[KeptRow]:
    """Read a page of the versions of a row, newest first, up to the version in hand."""
    found = await context.loaders.row_versions.load((row.pipeline_id, row.digest))
    versions = [one for one in found if one.commit <= row.commit]
    return slice_versions(versions, window)


def slice_versions(versions: Sequence[KeptRow], window: Window) -> Slice[KeptRow]:
    """The page of versions that a window asks for; the position of each is its commit."""
    after = window.after_number
    ordered = list(reversed(versions) if window.backward else versions)
    if after is not None:
        ordered = [one for one in ordered if (one.commit > after) is window.backward]
        ordered = [one for one in ordered if one.commit != after]
    placed = [(str(one.commit), one) for one in ordered[: window.size]]
    reached = placed[-1][0] if placed else window.after
    entries = tuple(reversed(placed) if window.backward else placed)
    return Slice(entries, more=len(ordered) > window.size, reached=reached)


async def load_row(context: Context, key: str) -> KeptRow:
    """Read the row that stands under the key of its global id; raises NotFound."""
    pipeline, separator, digest = key.partition(":")
    if not separator:
        raise NotFound("There is no row with this id.", ("id",))
    await context.loaders.of(PIPELINE).latest(pipeline)
    row = await context.loaders.standing_rows.load((pipeline, digest))
    if row is None:
        raise NotFound("There is no row with this id.", ("id",))
    return row
