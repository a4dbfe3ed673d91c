"""A row engine on a Dask cluster, which transforms the parts of a large input in parallel.

It is imported only if the settings name a scheduler, because `distributed` is an optional extra.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from concurrent.futures import CancelledError
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from distributed import Client, KilledWorker

from penstock.datastore.datasets.files import key_of_file, key_of_index
from penstock.datastore.errors import Unavailable
from penstock.datastore.executions.files import read_key
from penstock.datastore.executions.plans.plans import dataset_identity
from penstock.datastore.executions.records import ExecutionMode
from penstock.datastore.executions.workers.row_engine import (
    LOCAL_ENGINE,
    STEP_BYTES,
    EngineStep,
    RowTask,
    WrittenOutput,
    feed_blocks,
    run_transform,
)
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.write_part import PartOfOutput
from penstock.datastore.logged_errors import describe_error
from penstock.datastore.objects.chunks import regroup_blocks, require_size
from penstock.datastore.objects.port import Files
from penstock.datastore.records import ReferenceDataset
from penstock.server.runtime.dask.calls import ClusterCalls, sign_source
from penstock.server.runtime.dask.rows import SpreadRows
from penstock.server.runtime.dask.tasks import (
    ProgramRecipe,
    TableFile,
    installed_version,
    survey,
    transform,
)
from penstock.server.runtime.dask.transport import PartFailed, SourceUrl
from penstock.server.runtime.joined_parts import JoinedCounts
from penstock.transform.csv_records import PartSurvey, RecordSpan, record_spans, surveyed_encoding
from penstock.transform.csv_transform import CsvTransform, PartContext
from penstock.transform.header import FileForm

PART_BYTES: Final = 16 * 1024 * 1024
RESULT_BYTES: Final = 64 * 1024 * 1024
"""The most bytes of the results of a part that a machine holds."""

ROWS_BYTES: Final = 64 * 1024 * 1024
"""The least bytes of the output whose rows are a file of their own: readers open each file."""

CONNECT_SECONDS: Final = 10.0

FAILURES: Final = (
    OSError,  # the scheduler cannot be reached
    CancelledError,  # the scheduler was lost
    KilledWorker,  # several machines were lost, one after another, at the same part
    PartFailed,
    ImportError,  # the machines have no Penstock
    AttributeError,  # the machines have a Penstock without support for clusters
)

logger = logging.getLogger("penstock.executions")


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster of the scheduler at an address; an input of one part is transformed locally.

    Each file of rows that are kept has `rows_bytes` of the output or more.
    """

    address: str
    part_bytes: int = PART_BYTES
    connect_seconds: float = CONNECT_SECONDS
    result_bytes: int = RESULT_BYTES
    rows_bytes: int = ROWS_BYTES

    def steps(self, files: Files, task: RowTask) -> AsyncGenerator[EngineStep]:
        small = task.size <= self.part_bytes or task.execution.mode is ExecutionMode.INLINE
        return LOCAL_ENGINE.steps(files, task) if small else self._steps_on_cluster(files, task)

    async def _steps_on_cluster(self, files: Files, task: RowTask) -> AsyncGenerator[EngineStep]:
        async with self._connect() as client:
            mapping = _InputMapping(client, files, task, self.part_bytes, self.result_bytes)
            async with aclosing(mapping.steps()) as steps:
                async for step in steps:
                    yield step

    async def write_parts(
        self, files: Files, engine: RowsEngine, written: WrittenOutput
    ) -> Sequence[PartOfOutput]:
        """Let machines write the files of rows; none for a small output, or if they cannot."""
        pieces = written.cuts.pieces(self.rows_bytes)
        if len(pieces) <= 1:
            return ()
        try:
            async with self._connect() as client:
                return await SpreadRows(client, files, engine, written).write(pieces)
        except Unavailable as failed:
            logger.warning("the cluster wrote no files of rows: %s", failed.message)
            return ()

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator[Client]:
        """Connect to the scheduler; closing the client cancels all its unfinished calls."""
        try:
            client = await self._open_client()
        except Exception as error:
            # What is no scheduler makes the library fail in many ways, such as by MemoryError.
            raise _cluster_failure(error) from error
        try:
            async with client:
                yield client
        except FAILURES as error:
            raise _cluster_failure(error) from error

    async def _open_client(self) -> Client:
        """Open a client; raises TimeoutError also if the scheduler hangs behind its connection."""
        client = Client(
            self.address, asynchronous=True, timeout=self.connect_seconds, set_as_default=False
        )
        try:
            # The library bounds the time for a connection, but not for what is said over it.
            async with asyncio.timeout(2 * self.connect_seconds):
                await client
        except BaseException:
            await client.close()
            raise
        return client


def _cluster_failure(error: Exception) -> Unavailable:
    logger.warning("the cluster did not do its part: %s", describe_error(error))
    return Unavailable(f"The cluster did not do its part. {_describe(error)}")


def _describe(error: BaseException) -> str:
    """Say what failed to who sees the execution; addresses and causes are in the log."""
    match error:
        case PartFailed():
            return error.message
        case KilledWorker():
            return "Several machines were lost at the same part."
        case ImportError() | AttributeError():
            return "Its machines have no Penstock, or another version."
    return "Its scheduler cannot be reached."


@dataclass(frozen=True, slots=True)
class _InputMapping:
    """One input on a cluster: first surveyed in parts, then transformed in spans of records."""

    client: Client
    files: Files
    task: RowTask
    part_bytes: int
    result_bytes: int

    async def steps(self) -> AsyncGenerator[EngineStep]:
        source = await sign_source(self.files, read_key(self.task.execution))
        cut = range(0, self.task.size, self.part_bytes)
        parts = [(source, start, min(start + self.part_bytes, self.task.size)) for start in cut]
        async with aclosing(ClusterCalls(self.client).results_in_order(survey, parts)) as surveys:
            surveyed: list[PartSurvey] = [one async for one in surveys]
        found = record_spans(surveyed)
        header = CsvTransform(self.task.program, self.task.execution.max_failed_rows)
        top = found[0].start if found else self.task.size
        data = require_size(self.files.read(read_key(self.task.execution), end=top), top)
        counts = JoinedCounts(self.task)
        async with aclosing(run_transform(header, data)) as steps:
            async for written, ending in steps:
                yield EngineStep(written, counts.ending_with(ending))
        if header.ending.refusal is None:
            form = header.form._replace(encoding=surveyed_encoding(surveyed))
            counts.add(header.ending)
            async with aclosing(self._data_steps(source, found, form, counts)) as steps:
                async for step in steps:
                    yield step

    async def _data_steps(
        self, source: SourceUrl, found: Iterable[RecordSpan], form: FileForm, counts: JoinedCounts
    ) -> AsyncGenerator[EngineStep]:
        """Yield the results of the spans, in order; `counts` has what is above them.

        Here a span is transformed again that ends the execution, as the number of failures above it
        is known, and one whose results would fill the memory of a machine.
        """
        recipe, most = await self._recipe(), self.result_bytes
        calls = [(recipe, source, span, PartContext(form, span.row), most) for span in found]
        async with aclosing(
            ClusterCalls(self.client).results_in_order(transform, calls)
        ) as results:
            place = 0
            async for result in results:
                _, _, span, above, _ = calls[place]
                place += 1
                if result is not None and not counts.ends_execution(result.ending):
                    yield EngineStep(result.written, counts.ending_with(result.ending))
                    counts.add(result.ending)
                    continue
                above = above._replace(failed=counts.counts.failed)
                async with aclosing(self._steps_here(span, above)) as steps:
                    async for written, ending in steps:
                        yield EngineStep(written, counts.ending_with(ending))
                if ending.refusal is not None:
                    return
                counts.add(ending)

    async def _steps_here(self, span: RecordSpan, above: PartContext) -> AsyncGenerator[EngineStep]:
        """Yield the results of a span piece by piece, as far as they are read."""
        part = CsvTransform(self.task.program, self.task.execution.max_failed_rows, above)
        async with (
            aclosing(self._span_blocks(span)) as blocks,
            aclosing(feed_blocks(part, blocks)) as steps,
        ):
            async for step in steps:
                yield step

    async def _span_blocks(self, span: RecordSpan) -> AsyncGenerator[bytes]:
        """Yield the bytes of a span, cut where those of a whole file are cut."""
        edge = min(span.end, (span.start // STEP_BYTES + 1) * STEP_BYTES)
        for start, end in ((span.start, edge), (edge, span.end)):
            if start < end:
                data = self.files.read(read_key(self.task.execution), start=start, end=end)
                async for block in regroup_blocks(require_size(data, end - start), STEP_BYTES):
                    yield block

    async def _recipe(self) -> ProgramRecipe:
        execution = self.task.execution
        tables = [
            TableFile(
                dataset_identity(one), one.content, await sign_source(self.files, _read_key(one))
            )
            for one in self.task.datasets
        ]
        id = f"{execution.id}:{execution.fence}"
        most = execution.max_failed_rows
        return ProgramRecipe(id, installed_version(), self.task.plan, tuple(tables), most)


def _read_key(dataset: ReferenceDataset) -> str:
    """The key of the file in which the rows of a dataset are looked up."""
    return key_of_index(dataset) if dataset.content.is_indexed else key_of_file(dataset)
