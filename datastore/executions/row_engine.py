"""Where the rows of an execution are worked on: in this process, or where an engine takes them."""

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
"""Bytes of the input that are worked on at once; all engines stop reading at a multiple of them."""


@dataclass(frozen=True, slots=True)
class Task:
    """An execution in hand: `program` is its plan made ready, with the rows of the `datasets`.

    `size` is that of the input in bytes.
    """

    execution: Execution
    plan: Plan
    datasets: tuple[ReferenceDataset, ...]
    program: Program
    size: int

    def transform(self) -> Transform:
        """The whole of the work, for one machine."""
        if self.execution.mode is ExecutionMode.INLINE:
            return JsonTransform(self.program, self.execution.max_failed_rows)
        return CsvTransform(self.program, self.execution.max_failed_rows)


class Step(NamedTuple):
    """More of both files, and how it stands with them: the counts of all so far."""

    written: Written
    ending: Ending


class Engine(Protocol):
    """Works on inputs. All give the same bytes and the same counts for the same task."""

    def steps(self, files: Files, task: Task) -> AsyncGenerator[Step]:
        """Yield both files in order, until all is read or a refusal ends it.

        Raises Unavailable where the input cannot be read now, or there is nobody to work on it.
        """


class Here:
    """The engine of one process, which works in a thread of it."""

    def steps(self, files: Files, task: Task) -> AsyncGenerator[Step]:
        return taken_through(task.transform(), files.read(input_key(task.execution)))


HERE: Final = Here()


async def taken_through(transform: Transform, data: AsyncIterable[bytes]) -> AsyncGenerator[Step]:
    """Yield what a transform makes of data, until that ends or is refused."""
    async for chunk in blocks(data, CHUNK):
        written = await asyncio.to_thread(transform.feed, chunk)
        yield Step(written, transform.ending)
        if transform.ending.refusal is not None:
            return
    written = await asyncio.to_thread(transform.finish)
    yield Step(written, transform.ending)
