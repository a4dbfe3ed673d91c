"""The tasks of a cluster's machine: it fetches a part of an input, and surveys or transforms it."""

from hashlib import sha256
from importlib.metadata import version
from threading import Lock
from typing import Final

import msgspec
from cachetools import LRUCache

from penstock.datastore.datasets.csv import read_table
from penstock.datastore.datasets.indexed_rows import IndexedRows
from penstock.datastore.executions.plans.programs import compile_program
from penstock.datastore.executions.workers.row_engine import EngineStep
from penstock.datastore.records import DatasetContent
from penstock.datastore.scratch_folders import scratch_folder
from penstock.formula.core.datasets import KeyedRows
from penstock.server.runtime.dask.transport import PartFailed, SourceUrl, fetch_range
from penstock.transform.csv_parts import transform_blocks
from penstock.transform.csv_records import PartSurvey, RecordSpan
from penstock.transform.csv_transform import CsvTransform, PartContext
from penstock.transform.outcome import OutputChunk
from penstock.transform.plan import TransformPlan
from penstock.transform.program import Program

MOST_PROGRAMS: Final = 2
"""The most programs in a process; their datasets take most of its memory."""

_programs: Final = LRUCache[str, Program](MOST_PROGRAMS)
_lock: Final = Lock()


class TableFile(msgspec.Struct, frozen=True):
    """A dataset of a plan: its identity there, and its file, or the index of that."""

    identity: str
    content: DatasetContent
    source: SourceUrl


class ProgramRecipe(msgspec.Struct, frozen=True):
    """The ingredients of a program, for Penstock of this `version`; `id` is unique."""

    id: str
    version: str
    plan: TransformPlan
    tables: tuple[TableFile, ...]
    max_failed: int | None


def installed_version() -> str:
    """Return the version of Penstock in this process."""
    return version("penstock")


def survey(source: SourceUrl, start: int, end: int) -> PartSurvey:
    """Find the ends of records in a part that may begin anywhere; raises PartFailed."""
    found = PartSurvey()
    for block in fetch_range(source, start, end):
        found.feed(block)
    return found


def transform(
    recipe: ProgramRecipe, source: SourceUrl, span: RecordSpan, above: PartContext, most: int
) -> EngineStep | None:
    """Run the program on the records of a span; None for results of more than `most` bytes.

    Raises PartFailed.
    """
    part = CsvTransform(program_of(recipe), recipe.max_failed, above)
    pieces, size = list[OutputChunk](), 0
    for piece in transform_blocks(part, fetch_range(source, span.start, span.end)):
        size += len(piece.output) + len(piece.errors)
        if size > most:
            return None
        pieces.append(piece)
    output = b"".join([piece.output for piece in pieces])
    errors = b"".join([piece.errors for piece in pieces])
    return EngineStep(OutputChunk(output, errors), part.ending)


def require_version(wanted: str) -> None:
    """Raise PartFailed if the worker has another version of Penstock than this process."""
    if wanted != installed_version():
        raise PartFailed(f"The cluster has Penstock {installed_version()}, the worker {wanted}.")


def program_of(recipe: ProgramRecipe) -> Program:
    """Return the program, built once for all threads of this process; raises PartFailed."""
    require_version(recipe.version)
    with _lock:
        program = _programs.get(recipe.id)
        if program is None:
            data = {table.identity: read_rows(table) for table in recipe.tables}
            program = _programs[recipe.id] = compile_program(recipe.plan, data)
        return program


def read_rows(table: TableFile) -> KeyedRows:
    """Fetch the rows of a dataset; raises PartFailed."""
    if table.content.is_indexed:
        return _open_index(table)
    data = b"".join(fetch_range(table.source, 0, table.content.size_bytes))
    if sha256(data).hexdigest() != table.content.checksum:
        raise PartFailed(f"The file of the dataset {table.identity} is damaged.")
    return read_table(data, table.content).rows


def _open_index(table: TableFile) -> KeyedRows:
    """Copy the index to the disk, where it lies until nobody has its rows any more."""
    digest = sha256()
    with scratch_folder("datasets") as folder:
        path = folder / "content.rows"
        with path.open("wb") as local:
            for block in fetch_range(table.source, 0, table.content.index_bytes):
                digest.update(block)
                local.write(block)
        if digest.hexdigest() != table.content.index_checksum:
            raise PartFailed(f"The index of the dataset {table.identity} is damaged.")
        # The open file outlasts its name.
        return IndexedRows(path, table.content)
