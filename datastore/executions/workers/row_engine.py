"""Row engines: they process the rows of an execution, in this process or elsewhere."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, Protocol, TypeVar, runtime_checkable

from penstock.datastore.executions.files import read_key
from penstock.datastore.executions.records import Execution, ExecutionMode
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.output_pieces import OutputCuts
from penstock.datastore.kept_rows.write_part import PartOfOutput, RowsOrigin
from penstock.datastore.objects.chunks import regroup_blocks, require_size
from penstock.datastore.objects.port import Chunks, Files
from penstock.datastore.records import ReferenceDataset
from penstock.formula.core.datasets import KeyedRows
from penstock.transform.csv_transform import CsvTransform, RowTransform
from penstock.transform.json_transform import JsonTransform
from penstock.transform.outcome import OutputChunk, TransformEnding
from penstock.transform.plan import TransformPlan
from penstock.transform.program import Program
from penstock.transform.row_identity import RowIdentity

T = TypeVar("T")

STEP_BYTES: Final = 256 * 1024
"""Bytes of the input per step; all engines stop reading at a multiple of this."""


@dataclass(frozen=True, slots=True)
class RowTask:
    """An execution to process; `program` is its plan, compiled with the rows of the `datasets`.

    `data` has these rows by their identities. `size` is the size of the input in bytes, as CSV.
    """

    execution: Execution
    plan: TransformPlan
    datasets: tuple[ReferenceDataset, ...]
    program: Program
    size: int
    data: Mapping[str, KeyedRows]

    def read_input(self, files: Files) -> Chunks:
        """Read the whole input as CSV; raises Unavailable for one of another size."""
        return require_size(files.read(read_key(self.execution)), self.size)

    def transform(self) -> RowTransform:
        """The transform of the whole input, for one machine."""
        if self.execution.mode is ExecutionMode.INLINE:
            return JsonTransform(self.program, self.execution.max_failed_rows)
        return CsvTransform(self.program, self.execution.max_failed_rows)


class EngineStep(NamedTuple):
    """The next part of the output and of the rejected rows, with the counts up to here."""

    written: OutputChunk
    ending: TransformEnding


class RowEngine(Protocol):
    """A row engine; all engines give the same bytes and counts for the same task."""

    def steps(self, files: Files, task: RowTask) -> AsyncGenerator[EngineStep]:
        """Yield both files part by part, until the input ends or a problem ends the work.

        Raises Unavailable if the input cannot be read now, or if no worker is there to process it.
        """


def rows_origin(execution: Execution, piece: int | None = None) -> RowsOrigin:
    """The origin of the rows of an output, or of a piece of it, in a file of this claim."""
    name = f"{execution.id}-{execution.fence}" + ("" if piece is None else f"-{piece}")
    return RowsOrigin(execution.pipeline_id, execution.id, execution.pipeline_version, name)


class WrittenOutput(NamedTuple):
    """A stored output of an execution, whose rows are to be kept, and where it can be cut."""

    execution: Execution
    plan: TransformPlan
    identity: RowIdentity
    cuts: OutputCuts


@runtime_checkable
class RowsSpreader(Protocol):
    """A row engine whose machines also write the files of rows that are kept."""

    async def write_parts(
        self, files: Files, engine: RowsEngine, written: WrittenOutput
    ) -> Sequence[PartOfOutput]:
        """Store files of the rows, which no list names yet; none if this machine had better do it.

        Raises InputRefused for two rows with the same key.
        """


class LocalRowEngine:
    """The row engine of this process; it works in a thread."""

    def steps(self, files: Files, task: RowTask) -> AsyncGenerator[EngineStep]:
        return run_transform(task.transform(), task.read_input(files))


LOCAL_ENGINE: Final = LocalRowEngine()


class ThreadRunner(Protocol):
    """Runs work in a thread."""

    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


def run_transform(
    transform: RowTransform, data: AsyncIterable[bytes], run: ThreadRunner = asyncio.to_thread
) -> AsyncGenerator[EngineStep]:
    """Feed the data to a transform, and yield its output until it ends or is refused."""
    return feed_blocks(transform, regroup_blocks(data, STEP_BYTES), run)


async def feed_blocks(
    transform: RowTransform, blocks: AsyncIterable[bytes], run: ThreadRunner = asyncio.to_thread
) -> AsyncGenerator[EngineStep]:
    """Feed blocks to a transform as they are, and yield its output as `run_transform`."""
    async for block in blocks:
        yield EngineStep(await run(partial(transform.feed, block)), transform.ending)
        while transform.has_more:
            yield EngineStep(await run(transform.take_more), transform.ending)
        if transform.ending.refusal is not None:
            return
    yield EngineStep(await run(transform.finish), transform.ending)
    while transform.has_more:
        yield EngineStep(await run(transform.take_more), transform.ending)
