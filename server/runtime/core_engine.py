"""A row engine that spreads a large input over the processor cores of this machine.

The worker reads the input once and cuts it into parts; processes transform them in turn, one for
each core; the worker joins their results in order.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import cycle
from typing import Final, NamedTuple

from penstock.datastore.datasets.files import key_of_file
from penstock.datastore.datasets.indexed_rows import IndexedRows
from penstock.datastore.executions.plans.plans import dataset_identity
from penstock.datastore.executions.records import ExecutionMode
from penstock.datastore.executions.workers.row_engine import (
    LOCAL_ENGINE,
    STEP_BYTES,
    EngineStep,
    RowTask,
)
from penstock.datastore.objects.chunks import read_exactly, regroup_blocks
from penstock.datastore.objects.port import Files
from penstock.datastore.records import ReferenceDataset
from penstock.server.runtime.joined_parts import JoinedCounts
from penstock.server.runtime.part_process import DatasetFile, PartOrder, ProgramRecipe
from penstock.server.runtime.part_processes import PartProcess, start_part_processes
from penstock.transform.csv_parts import PartCutter, RecordPart, first_record_end, transform_blocks
from penstock.transform.csv_records import MAX_RECORD
from penstock.transform.csv_transform import CsvTransform, PartContext
from penstock.transform.outcome import OutputChunk

LEAST_BYTES: Final = 8 * 1024 * 1024
"""The size from which it pays to start processes."""

PART_BYTES: Final = 1024 * 1024

KEPT_BYTES: Final = 16 * 1024 * 1024
"""Bytes of the results of a part that wait until it is known how many rows failed above it."""

PARTS_AHEAD: Final = 2
"""Parts that each process has: one that it transforms, and the next one."""


class SentPart(NamedTuple):
    """A part, what is known of the file above it, and the process that transforms it."""

    part: RecordPart
    above: PartContext
    process: PartProcess


@dataclass(frozen=True, slots=True)
class CoreEngine:
    """The row engine for a number of processor cores; a small input is transformed here."""

    cores: int
    least_bytes: int = LEAST_BYTES
    part_bytes: int = PART_BYTES
    kept_bytes: int = KEPT_BYTES

    def steps(self, files: Files, task: RowTask) -> AsyncGenerator[EngineStep]:
        is_small = task.size < self.least_bytes or task.execution.mode is ExecutionMode.INLINE
        return LOCAL_ENGINE.steps(files, task) if is_small else self._steps_apart(files, task)

    async def _steps_apart(self, files: Files, task: RowTask) -> AsyncGenerator[EngineStep]:
        header = CsvTransform(task.program, task.execution.max_failed_rows)
        counts = JoinedCounts(task)
        async with aclosing(regroup_blocks(task.read_input(files), STEP_BYTES)) as data:
            first, end = await _read_first_record(data)
            for written in transform_blocks(header, [first[:end]]):
                yield EngineStep(written, counts.ending_with(header.ending))
            if header.ending.refusal is not None:
                return
            counts.add(header.ending)
            parts = _cut_parts(data, PartCutter(self.part_bytes, end), first[end:])
            async with start_part_processes(
                self.cores, await _make_recipe(files, task)
            ) as processes:
                joining = _PartJoining(task, processes, counts, self.kept_bytes)
                above = PartContext(header.form, 1)
                async with aclosing(parts), aclosing(joining.steps(parts, above)) as steps:
                    async for step in steps:
                        yield step


async def _read_first_record(data: AsyncIterator[bytes]) -> tuple[bytes, int]:
    """Return the bytes in which the first record ends, and where; it may be all that there is.

    Of a record that is too large it reads no more than shows that.
    """
    first = b""
    async for block in data:
        first += block
        if end := first_record_end(first):
            return first, end
        if len(first) > MAX_RECORD:
            break
    return first, len(first)


async def _cut_parts(
    data: AsyncIterator[bytes], cutter: PartCutter, first: bytes
) -> AsyncGenerator[RecordPart]:
    if part := cutter.feed(first):
        yield part
    async for block in data:
        if part := cutter.feed(block):
            yield part
    if part := cutter.finish():
        yield part


async def _make_recipe(files: Files, task: RowTask) -> ProgramRecipe:
    tables = [await _make_table(files, task, one) for one in task.datasets]
    return ProgramRecipe(task.plan, tuple(tables), task.execution.max_failed_rows)


async def _make_table(files: Files, task: RowTask, dataset: ReferenceDataset) -> DatasetFile:
    identity = dataset_identity(dataset)
    rows = task.data.get(identity)
    if isinstance(rows, IndexedRows):
        return DatasetFile(identity, dataset.content, path=str(rows.path))
    content = dataset.content
    data = await read_exactly(files.read(key_of_file(dataset)), content.size_bytes)
    return DatasetFile(identity, content, data)


class _PartJoining:
    """Sends the parts of an input to processes in turn, and joins their results in order."""

    def __init__(
        self, task: RowTask, processes: Sequence[PartProcess], counts: JoinedCounts, kept_bytes: int
    ) -> None:
        self._task = task
        self._processes = processes
        self._counts = counts
        self._kept_bytes = kept_bytes

    async def steps(
        self, parts: AsyncIterator[RecordPart], above: PartContext
    ) -> AsyncGenerator[EngineStep]:
        """Yield the results of the parts; `above` is what is known above the first one."""
        async with aclosing(self._send_ahead(parts, above)) as sent_parts:
            async for sent in sent_parts:
                async with aclosing(self._steps_of(sent)) as steps:
                    async for written, ending in steps:
                        yield EngineStep(written, self._counts.ending_with(ending))
                if ending.refusal is not None:
                    return
                self._counts.add(ending)

    async def _send_ahead(
        self, parts: AsyncIterator[RecordPart], above: PartContext
    ) -> AsyncGenerator[SentPart]:
        """Yield the parts in order, while the processes have some ahead of the reader."""
        most = PARTS_AHEAD * len(self._processes)
        processes = cycle(self._processes)
        waiting: deque[SentPart] = deque()
        async for part in parts:
            sent = SentPart(part, above._replace(row=part.row), next(processes))
            sent.process.send(PartOrder(part, sent.above))
            waiting.append(sent)
            above = above._replace(form=above.form.after(part.data))
            if len(waiting) == most:
                yield waiting.popleft()
        while waiting:
            yield waiting.popleft()

    async def _steps_of(self, sent: SentPart) -> AsyncGenerator[EngineStep]:
        """Yield the results of a part.

        If the execution may end within it, the part is transformed again, here, with the number of
        rows that failed above it.
        """
        if self._task.execution.max_failed_rows is None:
            async with aclosing(sent.process.read_steps()) as steps:
                async for step in steps:
                    yield step
            return
        kept = await _keep_steps(sent.process, self._kept_bytes)
        if kept and not self._counts.ends_execution(kept[-1].ending):
            for step in kept:
                yield step
        else:
            async with aclosing(self._transform_here(sent)) as again:
                async for step in again:
                    yield step

    async def _transform_here(self, sent: SentPart) -> AsyncGenerator[EngineStep]:
        above = sent.above._replace(failed=self._counts.counts.failed)
        transform = CsvTransform(self._task.program, self._task.execution.max_failed_rows, above)
        found = transform_blocks(transform, sent.part.blocks(STEP_BYTES))
        while (written := await asyncio.to_thread(_next_chunk, found)) is not None:
            yield EngineStep(written, transform.ending)


def _next_chunk(found: Iterator[OutputChunk]) -> OutputChunk | None:
    return next(found, None)


async def _keep_steps(process: PartProcess, most: int) -> list[EngineStep]:
    """Return the results of the next part of a process; nothing if they are too large."""
    kept: list[EngineStep] = []
    size = 0
    async with aclosing(process.read_steps()) as steps:
        async for step in steps:
            size += len(step.written.output) + len(step.written.errors)
            if size > most:
                kept.clear()
            else:
                kept.append(step)
    return kept if size <= most else []
