"""Row engines: they process the rows of an execution, in this process or elsewhere."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from penstock.datastore.executions.files import input_key
from penstock.datastore.executions.records import Execution, ExecutionMode
from penstock.datastore.objects.port import Files, blocks
from penstock.datastore.records import ReferenceDataset
from penstock.transform.csv_transform import CsvTransform, Transform
from penstock.transform.json_transform import JsonTransform
from penstock.transform.outcome import Ending, Written
from penstock.transform.plan import Plan
from penstock.transform.program import Program

CHUNK: Final = 256 * 1024
"""Bytes of the input per step; all engines stop reading at a multiple of this."""


@dataclass(frozen=True, slots=True)
class Task:
    """An execution to process; `program` is its plan, compiled with the rows of the `datasets`.

    `size` is the size of the input in bytes.
    """

    execution: Execution
    plan: Plan
    datasets: tuple[ReferenceDataset, ...]
    program: Program
    size: int

    def transform(self) -> Transform:
        """The transform of the whole input, for one machine."""
        if self.execution.mode is ExecutionMode.INLINE:
            return JsonTransform(self.program, self.execution.max_failed_rows)
        return CsvTransform(self.program, self.execution.max_failed_rows)


class Step(NamedTuple):
    """The next part of the output and of the rejected rows, with the counts up to here."""

    written: Written
    ending: Ending


class Engine(Protocol):
    """A row engine; all engines give the same bytes and counts for the same task."""

    def steps(self, files: Files, task: Task) -> AsyncGenerator[Step]:
        """Yield both files part by part, until the input ends or a problem ends the work.

        Raises Unavailable if the input cannot be read now, or if no worker is there to process it.
        """


class Here:
    """The row engine of this process; it works in a thread."""

    def steps(self, files: Files, task: Task) -> AsyncGenerator[Step]:
        return taken_through(task.transform(), files.read(input_key(task.execution)))


HERE: Final = Here()


async def taken_through(transform: Transform, data: AsyncIterable[bytes]) -> AsyncGenerator[Step]:
    """Feed the data to a transform, and yield its output until it ends or is refused."""
    async for chunk in blocks(data, CHUNK):
        written = await asyncio.to_thread(transform.feed, chunk)
        yield Step(written, transform.ending)
        if transform.ending.refusal is not None:
            return
    written = await asyncio.to_thread(transform.finish)
    yield Step(written, transform.ending)
