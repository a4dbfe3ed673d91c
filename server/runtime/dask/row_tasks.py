"""The task of a cluster's machine that writes a piece of an output as a file of kept rows."""

import asyncio
from functools import partial
from pathlib import Path

import msgspec

from penstock.datastore.access.work import WorkPayer
from penstock.datastore.errors import PenstockError
from penstock.datastore.kept_rows.database import Connection
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.output_pieces import OutputPiece
from penstock.datastore.kept_rows.write_part import (
    PartFacts,
    RowsOrigin,
    copy_keys,
    copy_rows,
    output_selection,
    read_facts,
    read_output_file,
)
from penstock.datastore.objects.port import UploadForm
from penstock.datastore.scratch_folders import scratch_folder
from penstock.server.runtime.dask.tasks import require_version
from penstock.server.runtime.dask.transport import PartFailed, SourceUrl, fetch_range
from penstock.server.runtime.dask.uploads import send_file
from penstock.transform.plan import TransformPlan
from penstock.transform.row_identity import RowIdentity


class RowsOrder(msgspec.Struct, frozen=True):
    """A piece of an output to write, for Penstock of this `version`.

    `rows` and `keys` are the forms by which its file and the keys in it are uploaded.
    """

    version: str
    plan: TransformPlan
    identity: RowIdentity
    origin: RowsOrigin
    source: SourceUrl
    piece: OutputPiece
    rows: UploadForm
    keys: UploadForm


def write_rows(order: RowsOrder) -> PartFacts:
    """Write a piece and upload it; return the facts about it. Raises PartFailed."""
    require_version(order.version)
    with scratch_folder("rows") as folder:
        text, rows, keys = (folder / name for name in ("rows.csv", "rows.parquet", "keys.parquet"))
        piece = order.piece
        with text.open("wb") as local:
            for block in fetch_range(order.source, piece.start, piece.end):
                local.write(block)
        read = read_output_file(text, order.plan, has_header=False)
        sql = output_selection(read, order.plan, order.identity, order.origin, piece.above)
        work = partial(_write_files, sql, rows, keys)
        try:
            facts = asyncio.run(RowsEngine(folder).write(work, WorkPayer(order.origin.name)))
        except PenstockError as error:
            message = "A machine of the cluster cannot write the rows."
            raise PartFailed(message, str(error)) from None
        send_file(order.rows, rows)
        send_file(order.keys, keys)
        return facts


def _write_files(sql: str, rows: Path, keys: Path, connection: Connection) -> PartFacts:
    copy_rows(sql, rows, connection)
    copy_keys(rows, keys, connection)
    return read_facts(connection, rows)
