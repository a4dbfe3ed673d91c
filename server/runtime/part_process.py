"""The process that transforms parts of an input for a worker, one after another.

It reads frames from standard input, first the recipe of the program, then parts; it writes the
results as frames to standard output. It ends with its input, also after the worker was killed.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

import msgspec

from penstock.datastore.datasets.csv import read_table
from penstock.datastore.datasets.indexed_rows import IndexedRows
from penstock.datastore.executions.plans.programs import compile_program
from penstock.datastore.executions.workers.row_engine import STEP_BYTES
from penstock.datastore.logged_errors import format_traceback
from penstock.datastore.records import DatasetContent
from penstock.formula.core.datasets import KeyedRows
from penstock.transform.csv_parts import RecordPart, transform_blocks
from penstock.transform.csv_transform import CsvTransform, PartContext
from penstock.transform.outcome import OutputChunk, TransformEnding
from penstock.transform.plan import TransformPlan

SIZE_BYTES: Final = 8
"""Bytes of the size that precedes a frame."""

T = TypeVar("T")


class DatasetFile(msgspec.Struct, frozen=True):
    """A dataset of a plan: its identity there, and the bytes of its file.

    One with an index has the `path` of that in their place.
    """

    identity: str
    content: DatasetContent
    data: bytes = b""
    path: str | None = None

    def open(self) -> KeyedRows:
        """The rows of the dataset."""
        if self.path is not None:
            return IndexedRows(Path(self.path), self.content)
        return read_table(self.data, self.content).rows


class ProgramRecipe(msgspec.Struct, frozen=True):
    """The ingredients of a program, and the most rows that may fail."""

    plan: TransformPlan
    tables: tuple[DatasetFile, ...]
    max_failed: int | None


class PartOrder(msgspec.Struct, frozen=True):
    """A part to transform, and what is known of the file above it."""

    part: RecordPart
    above: PartContext


class PartStep(msgspec.Struct, frozen=True):
    """More of the results of a part, with its counts up to here."""

    written: OutputChunk
    ending: TransformEnding
    is_last: bool


def pack_frame(value: object) -> bytes:
    """Return a value as bytes that follow their size."""
    data = msgspec.msgpack.encode(value)
    return len(data).to_bytes(SIZE_BYTES) + data


def unpack_size(size: bytes) -> int:
    """Return the size of a frame."""
    return int.from_bytes(size)


def _read_frame(stream: BinaryIO, kind: type[T]) -> T | None:
    """Read a frame; None at the end of the stream."""
    size = stream.read(SIZE_BYTES)
    if len(size) < SIZE_BYTES:
        return None
    data = stream.read(unpack_size(size))
    return msgspec.msgpack.decode(data, type=kind)


def _take_output() -> BinaryIO:
    """Return standard output for frames; what a library prints goes to standard error."""
    frames = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return frames


def transform_parts(orders: BinaryIO, results: BinaryIO) -> None:
    """Transform the parts of a stream of frames, until it ends."""
    recipe = _read_frame(orders, ProgramRecipe)
    if recipe is None:
        return
    data = {one.identity: one.open() for one in recipe.tables}
    program = compile_program(recipe.plan, data)
    while (order := _read_frame(orders, PartOrder)) is not None:
        transform = CsvTransform(program, recipe.max_failed, order.above)
        for written in transform_blocks(transform, order.part.blocks(STEP_BYTES)):
            _send(results, PartStep(written, transform.ending, is_last=False))
        _send(results, PartStep(OutputChunk(), transform.ending, is_last=True))


def _send(results: BinaryIO, step: PartStep) -> None:
    results.write(pack_frame(step))
    results.flush()


def main() -> None:
    try:
        with suppress(BrokenPipeError):
            transform_parts(sys.stdin.buffer, _take_output())
    except Exception as error:
        # Python would print the words of the error, which may quote a cell.
        sys.stderr.write(format_traceback(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
