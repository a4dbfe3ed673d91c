"""A row engine on a Dask cluster, which transforms the parts of a large input in parallel.

It is imported only if the settings name a scheduler, because `distributed` is an optional extra.
"""

from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from concurrent.futures import CancelledError
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from uuid import uuid4

from distributed import Client, Future, KilledWorker
from msgspec.structs import replace

from penstock.datastore.datasets.files import key_of_file
from penstock.datastore.errors import Unavailable
from penstock.datastore.executions.files import input_key
from penstock.datastore.executions.plans import identity_of
from penstock.datastore.executions.records import ExecutionMode
from penstock.datastore.executions.row_engine import CHUNK, HERE, Step, Task, taken_through
from penstock.datastore.objects.port import Files
from penstock.server.runtime.dask_tasks import Recipe, TableFile, installed, survey, transform
from penstock.server.runtime.dask_transport import PartFailed, Source, open_call, packed, unpacked
from penstock.transform.csv_records import Span, Survey, spans
from penstock.transform.csv_transform import Above, CsvTransform
from penstock.transform.outcome import Counts, Ending

PART_BYTES: Final = 16 * 1024 * 1024
CONNECT_SECONDS: Final = 10.0
URL_SECONDS: Final = 24 * 3600
FEWEST_AHEAD: Final = 4

FAILURES: Final = (
    OSError,  # the scheduler cannot be reached
    CancelledError,  # the scheduler was lost
    KilledWorker,  # several machines were lost, one after another, at the same part
    PartFailed,
    ImportError,  # the machines have no Penstock
    AttributeError,  # the machines have a Penstock without support for clusters
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster of the scheduler at an address; an input of one part is transformed locally."""

    address: str
    part_bytes: int = PART_BYTES
    connect_seconds: float = CONNECT_SECONDS

    async def steps(self, files: Files, task: Task) -> AsyncGenerator[Step]:
        small = task.size <= self.part_bytes or task.execution.mode is ExecutionMode.INLINE
        found = HERE.steps(files, task) if small else self._far(files, task)
        async with aclosing(found) as steps:
            async for step in steps:
                yield step

    async def _far(self, files: Files, task: Task) -> AsyncGenerator[Step]:
        try:
            # Closing the client cancels all its unfinished calls.
            async with Client(
                self.address, asynchronous=True, timeout=self.connect_seconds, set_as_default=False
            ) as client:
                mapping = _Mapping(client, files, task, self.part_bytes)
                async with aclosing(mapping.steps()) as steps:
                    async for step in steps:
                        yield step
        except FAILURES as error:
            message = f"The cluster did not do its part: {type(error).__name__} {error}"
            raise Unavailable(message) from error


@dataclass(frozen=True, slots=True)
class _Mapping:
    """One input on a cluster: first surveyed in parts, then transformed in spans of records."""

    client: Client
    files: Files
    task: Task
    part_bytes: int

    async def steps(self) -> AsyncGenerator[Step]:
        source = await self._source(input_key(self.task.execution))
        cut = range(0, self.task.size, self.part_bytes)
        parts = [(source, start, min(start + self.part_bytes, self.task.size)) for start in cut]
        async with aclosing(self._in_order(survey, parts)) as surveys:
            surveyed: list[Survey] = [one async for one in surveys]
        found = spans(surveyed)
        header = CsvTransform(self.task.program, self.task.execution.max_failed_rows)
        top = found[0].start if found else self.task.size
        data = self.files.read(input_key(self.task.execution), end=top)
        async with aclosing(taken_through(header, data)) as steps:
            async for written, ending in steps:
                yield Step(written, self._told(ending.counts, ending))
        if header.ending.refusal is None:
            async with aclosing(self._below(source, found, header)) as steps:
                async for step in steps:
                    yield step

    async def _below(
        self, source: Source, found: Iterable[Span], header: CsvTransform
    ) -> AsyncGenerator[Step]:
        """Yield the results of the spans, in order.

        The span that ends the execution is computed again with the number of failures above it.
        """
        recipe, total = await self._recipe(), header.ending.counts
        calls = [(recipe, source, span, Above(header.places, span.row)) for span in found]
        async with aclosing(self._in_order(transform, calls)) as steps:
            place = 0
            async for step in steps:
                if self._ends(step, total):
                    *same, above = calls[place]
                    last = (*same, above._replace(failed=total.failed))
                    written, ending = unpacked(await self._submit(transform, *last))
                    yield Step(written, self._told(total + ending.counts, ending))
                    return
                total += step.ending.counts
                place += 1
                yield Step(step.written, Ending(total))

    async def _in_order(
        self, function: Callable[..., T], calls: Iterable[tuple[Any, ...]]
    ) -> AsyncGenerator[T]:
        """Yield the results of calls on the cluster in order, with a few calls ahead of the reader.

        If a machine is lost, another one repeats its calls.
        """
        threads = await self.client.nthreads()
        ahead = max(FEWEST_AHEAD, 2 * sum(threads.values()))
        waiting: deque[Future[bytes]] = deque()
        try:
            for call in calls:
                waiting.append(self._submit(function, *call))
                if len(waiting) > ahead:
                    yield unpacked(await waiting.popleft())
            while waiting:
                yield unpacked(await waiting.popleft())
        finally:
            await self.client.cancel(list(waiting))

    def _submit(self, function: Callable[..., object], *arguments: object) -> Future[bytes]:
        key = f"{function.__name__}-{uuid4()}"
        return self.client.submit(open_call, packed(function, *arguments), key=key)

    def _ends(self, step: Step, total: Counts) -> bool:
        most = self.task.execution.max_failed_rows
        failed = total.failed + step.ending.counts.failed
        return step.ending.refusal is not None or (most is not None and failed > most)

    def _told(self, counts: Counts, ending: Ending) -> Ending:
        """Return the ending so far; after a refusal, the bytes read end at the end of a chunk."""
        if ending.refusal is not None:
            read = -(-counts.bytes_read // CHUNK) * CHUNK
            counts = replace(counts, bytes_read=min(read, self.task.size))
        return Ending(counts, ending.refusal)

    async def _recipe(self) -> Recipe:
        execution = self.task.execution
        tables = [
            TableFile(identity_of(one), one.content, await self._source(key_of_file(one)))
            for one in self.task.datasets
        ]
        id = f"{execution.id}:{execution.fence}"
        most = execution.max_failed_rows
        return Recipe(id, installed(), self.task.plan, tuple(tables), most)

    async def _source(self, key: str) -> Source:
        return Source((await self.files.presign_download(key, expires_in=URL_SECONDS)).url)
