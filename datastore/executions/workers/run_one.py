"""The work on one claimed execution: its input is processed and its files are published.

If an earlier execution did exactly the same work, its files are copied instead.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from penstock.datastore.access.work import FREE_WORK, KEEPING_UNITS, WorkAccount, WorkPayer
from penstock.datastore.access.work_debts import WorkDebts
from penstock.datastore.clock import Clock
from penstock.datastore.datasets.table_cache import DatasetTables
from penstock.datastore.errors import IllegalState, LimitExceeded, NotFound, Unavailable
from penstock.datastore.executions.claims.claims import Claims, with_counts, with_end_state
from penstock.datastore.executions.failure_codes import FailureCode
from penstock.datastore.executions.files import (
    GrowingFile,
    delete_lost_rows,
    errors_key,
    input_key,
    output_key,
    parquet_key,
    table_key,
)
from penstock.datastore.executions.plans.pinned_inputs import find_datasets, find_input, load_rows
from penstock.datastore.executions.plans.programs import compile_program
from penstock.datastore.executions.reading import find_execution, find_plan
from penstock.datastore.executions.records import (
    Execution,
    ExecutionMode,
    ExecutionRules,
    ExecutionState,
    OutputFormat,
    keep_commonest,
)
from penstock.datastore.executions.workers.row_engine import (
    RowEngine,
    RowsSpreader,
    RowTask,
    WrittenOutput,
    rows_origin,
)
from penstock.datastore.executions.workers.write_dataset import DatasetOutput
from penstock.datastore.input_files.convert import InputConversion
from penstock.datastore.input_files.write_table import ConvertedInput
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.output_pieces import OutputCuts
from penstock.datastore.kept_rows.parquet_output import ParquetOutput
from penstock.datastore.kept_rows.part_files import DamagedRows, PartFiles
from penstock.datastore.kept_rows.part_list import RowsMoved
from penstock.datastore.kept_rows.records import RowsPart
from penstock.datastore.kept_rows.replaced_rows import ReplacedRows
from penstock.datastore.kept_rows.write_part import PartOfOutput, PartWriter, unnumbered_part
from penstock.datastore.objects.port import Files, Stat, StoredFile
from penstock.datastore.records import ReferenceDataset
from penstock.datastore.table.commit import Attempts, Write
from penstock.datastore.table.layout import EXECUTION_RESULT
from penstock.datastore.table.port import Table
from penstock.datastore.text import encode_global_id
from penstock.transform.csv_text import csv_lines
from penstock.transform.outcome import RejectionCount, RowCounts, TransformEnding
from penstock.transform.plan import DatasetSink, TransformPlan
from penstock.transform.problems import InputRefused, TransformCode, TransformProblem
from penstock.transform.row_identity import RowIdentity


def work_digest(execution: Execution, plan: TransformPlan, content: Stat) -> str:
    """A hash of all that the output depends on: plan, pins, limits and input."""
    facts = [
        plan,
        execution.pipeline_version,
        execution.mode,
        execution.pins,
        execution.max_failed_rows,
        content.digest,
        content.size,
    ]
    return sha256(msgspec.json.encode(facts)).hexdigest()


async def find_earlier_result(table: Table, execution: Execution) -> Execution | None:
    """A successful execution with the same digest, if there is one; its files may be gone."""
    key = EXECUTION_RESULT.key(id=execution.pipeline_id, digest=execution.digest or "")
    row = (await table.get([key], consistent=True)).items.get(key)
    if row is None or row["execution"] == execution.id:
        return None
    found = await find_execution(table, str(row["execution"]))
    return None if found is None or found.state is not ExecutionState.SUCCESS else found


class _EndFacts(NamedTuple):
    """The facts about an end: the digest of the work, the reason, and the parts of kept rows.

    `checked_commits` are the commits of rows among which the parts may replace what they replace.
    """

    digest: str | None = None
    code: str | None = None
    message: str | None = None
    copied_from: str | None = None
    parts: Sequence[RowsPart] = ()
    checked_commits: int | None = None


@dataclass(slots=True)
class ExecutionRunner:
    """One execution that this process has claimed; `counts` is its progress.

    `result_bytes` is the size of what it stored as the result; None while it stored nothing.
    `read_as` says how the file was read, which was `converted` first if it was no CSV. `rejections`
    are the commonest reasons of rows that failed. With `writes_parts`, files of rows may be there.
    `work` pays for the files of rows and of Parquet, by the time that they take.
    """

    table: Table
    files: Files
    clock: Clock
    rules: ExecutionRules
    dataset_cache: DatasetTables
    engine: RowEngine
    execution: Execution
    dataset_output: DatasetOutput
    part_files: PartFiles = field(default_factory=lambda: PartFiles(RowsEngine()))
    work: WorkAccount = FREE_WORK
    counts: RowCounts = field(default_factory=RowCounts)
    result_bytes: int | None = None
    read_as: str | None = None
    rejections: tuple[RejectionCount, ...] | None = ()
    converted: ConvertedInput | None = None
    cuts: OutputCuts = field(default_factory=lambda: OutputCuts(0))
    writes_parts: bool = False

    async def run(self) -> None:
        """Run the execution to its end.

        Raises ClaimLost if the claim is lost, and Unavailable if a store does not answer; the next
        worker then starts from the beginning.
        """
        try:
            await self._run_to_end()
        except DamagedRows as damaged:
            raise Unavailable(damaged.message) from None
        except NotFound:
            # A cancellation removes the files before it is written.
            await self._claims.send_heartbeat(self.execution, self.counts)
            raise Unavailable("A file of the execution is gone.") from None
        except (LimitExceeded, IllegalState) as error:
            # What the rows or a file take, or hold, is more than they may.
            await self._fail(str(error.code), str(error))

    async def _run_to_end(self) -> None:
        plan = await find_plan(self.table, self.execution.id)
        content = await find_input(self.files, self.execution)
        if plan is None or content is None:
            await self._fail(FailureCode.INPUT_GONE, "The input of the execution is gone.")
            return
        if self.execution.bytes_total not in (None, content.size):
            raise Unavailable("The store of files gives another input than the one it took.")
        self.execution = replace(self.execution, bytes_total=content.size)
        digest = work_digest(self.execution, plan, content)
        done = await self._find_same_work(plan, digest)
        if done is not None and await self._copy_files(done):
            await self._end_as_copy(done, plan, digest)
            return
        try:
            await self._convert_input(content)
            task = await self._prepare_task(plan)
        except InputRefused as refused:
            await self._fail(refused.problem.code, refused.problem.message)
            return
        await self._process_rows(task, digest)

    async def _find_same_work(self, plan: TransformPlan, digest: str) -> Execution | None:
        """An earlier execution whose files can be copied; what is more is made anew."""
        if not plan.only_writes_files:
            return None
        execution = replace(self.execution, digest=digest)
        return await find_earlier_result(self.table, execution)

    async def _copy_files(self, done: Execution) -> bool:
        """Copy the files of an earlier execution; False if they were removed."""
        try:
            await self.files.copy(errors_key(done), errors_key(self.execution))
            await self.files.copy(output_key(done), output_key(self.execution))
            if done.table_bytes is not None:
                await self.files.copy(table_key(done), table_key(self.execution))
        except NotFound:
            return False
        self.execution = replace(self.execution, table_bytes=done.table_bytes)
        return True

    async def _end_as_copy(self, done: Execution, plan: TransformPlan, digest: str) -> None:
        """End the execution with the result of an earlier one that did the same work."""
        self.counts, self.read_as = done.counts, done.read_as
        self.rejections = done.rejections
        found = done.result_bytes
        self.result_bytes = done.bytes_written if found is None else found
        # As callers know it: the API and the command line take no other form.
        known_as = encode_global_id("Execution", done.id)
        message = (
            f"The result was copied from the execution {known_as}, which read the same input with "
            "the same formulas."
        )
        await self._write_parquet(plan, await self._find_output())
        facts = _EndFacts(digest, message=message, copied_from=done.id)
        await self._end(ExecutionState.SUCCESS, facts)

    async def _find_output(self) -> StoredFile:
        key = output_key(self.execution)
        stat = await self.files.stat(key)
        if stat is None:
            raise Unavailable("The store of files lost the output that was copied.")
        return StoredFile(key, stat.size)

    async def _convert_input(self, content: Stat) -> None:
        """Make CSV of an input of another kind; raises InputRefused if it cannot be read."""
        one = self.execution
        if one.mode is ExecutionMode.INLINE or not content.size:
            return
        debts = WorkDebts(self.table, self.clock)
        conversion = InputConversion(self.files, self.rules.max_bytes, debts)
        self.converted = await conversion.convert(
            input_key(one), table_key(one), one.created_by, content.size
        )
        if self.converted is not None:
            self.execution = replace(one, table_bytes=self.converted.size)

    async def _prepare_task(self, plan: TransformPlan) -> RowTask:
        """Compile the plan; raises InputRefused if a formula or a dataset cannot be used."""
        datasets = await find_datasets(self.table, plan)
        data = await load_rows(plan, datasets, self.files, self.dataset_cache)
        program = await asyncio.to_thread(compile_program, plan, data)
        size = self.execution.bytes_to_read or 0
        return RowTask(self.execution, plan, tuple(datasets.values()), program, size, data)

    async def _process_rows(self, task: RowTask, digest: str) -> None:
        ending = TransformEnding(RowCounts())
        header = csv_lines([[step.name for step in task.plan.steps]])
        cuts = self.cuts = OutputCuts(len(header))
        async with self._open_files() as (output, errors):
            async with aclosing(self.engine.steps(self.files, task)) as steps:
                async for written, ending in steps:
                    self.counts, self.read_as = ending.counts, ending.read_as
                    self.rejections = keep_commonest(ending.rejections)
                    if self.counts.bytes_written > self.rules.max_bytes:
                        await self._fail_for_size()
                        return
                    await output.feed(written.output)
                    cuts.note(output.size, self.counts.succeeded)
                    await errors.feed(written.errors)
            await self._publish(task.plan, ending, output, errors, digest)

    async def _publish(
        self,
        plan: TransformPlan,
        ending: TransformEnding,
        output: GrowingFile,
        errors: GrowingFile,
        digest: str,
    ) -> None:
        """Store the files if the claim is still held, then end the execution."""
        await self._claims.send_heartbeat(self.execution, self.counts)
        await errors.publish()
        self.result_bytes = errors.size
        if ending.succeeded:
            await output.publish()
            self.result_bytes += output.size
            stored = StoredFile(output_key(self.execution), output.size)
            await self._write_parquet(plan, stored)
            await self._end_in_success(plan, stored, digest)
        else:
            problem = ending.refusal or TransformProblem(
                0, "", FailureCode.ALL_ROWS_FAILED, "No row could be used."
            )
            where = f"Row {problem.row}: " if problem.row else ""
            await self._fail(problem.code, where + problem.message)

    async def _write_parquet(self, plan: TransformPlan, output: StoredFile) -> None:
        """Write the output as Parquet too, if its creator asked for that."""
        one = self.execution
        if one.output_format is OutputFormat.PARQUET:
            writer = ParquetOutput(self.part_files.engine, self.files)
            size = await writer.write(plan, output, parquet_key(one), self._payer)
            self.result_bytes = (self.result_bytes or 0) + size

    async def _end_in_success(self, plan: TransformPlan, output: StoredFile, digest: str) -> None:
        """End in success, together with the rows or the dataset that the pipeline writes."""
        if plan.sink is not None:
            await self._end_with_dataset(plan, plan.sink, output, digest)
            return
        if plan.rows is None:
            await self._end(ExecutionState.SUCCESS, _EndFacts(digest))
            return
        try:
            made = await self._write_parts(plan, plan.rows, output)
            at = self.clock.timestamp()
            parts = [unnumbered_part(one, plan, plan.rows, at) for one in made]
            await self._add_parts(plan.rows, parts, digest)
        except InputRefused as refused:
            await self._fail(refused.problem.code, refused.problem.message)

    async def _write_parts(
        self, plan: TransformPlan, identity: RowIdentity, output: StoredFile
    ) -> Sequence[PartOfOutput]:
        """Write the files of the rows: on the machines of a cluster, or else here."""
        one = self.execution
        self.writes_parts = True
        self.work.owe(KEEPING_UNITS)
        if isinstance(self.engine, RowsSpreader):
            written = WrittenOutput(one, plan, identity, self.cuts)
            if made := await self.engine.write_parts(self.files, self.part_files.engine, written):
                return made
        writer = PartWriter(self.part_files.engine, self.files, self.clock)
        return [await writer.write_output(rows_origin(one), plan, identity, output, self._payer)]

    async def _end_with_dataset(
        self, plan: TransformPlan, sink: DatasetSink, output: StoredFile, digest: str
    ) -> None:
        """End in success with the next version of a dataset."""
        final = self._final(ExecutionState.SUCCESS, _EndFacts(digest))

        def end_writes(dataset: ReferenceDataset) -> list[Write]:
            made = replace(final, dataset_id=dataset.id, dataset_version=dataset.version)
            return self._claims.end_writes(self.execution, made)

        try:
            await self.dataset_output.write(self.execution, plan, sink, output, end_writes)
        except InputRefused as refused:
            await self._fail(refused.problem.code, refused.problem.message)
        else:
            self._claims.report_end(self.execution, final)

    async def _add_parts(
        self, identity: RowIdentity, parts: Sequence[RowsPart], digest: str
    ) -> None:
        """End in success with parts; raises InputRefused for rows that they may not replace."""
        one, before = self.execution, self.result_bytes
        replaced = ReplacedRows(self.table, self.files, self.part_files)
        checked: int | None = None
        async for _ in Attempts():
            try:
                checked = await replaced.require_reach(
                    one.pipeline_id, parts, identity.reach, self._payer, checked or 0
                )
                self.result_bytes = (before or 0) + sum(part.size for part in parts)
                facts = _EndFacts(digest, parts=parts, checked_commits=checked)
                await self._end(ExecutionState.SUCCESS, facts)
            except RowsMoved:
                self.result_bytes = before
            except LimitExceeded:
                self.result_bytes = before
                raise
            else:
                return
        raise Unavailable("The rows of the pipeline are being written by many at once.")

    @asynccontextmanager
    async def _open_files(self) -> AsyncIterator[tuple[GrowingFile, GrowingFile]]:
        output = GrowingFile(self.files, output_key(self.execution))
        errors = GrowingFile(self.files, errors_key(self.execution))
        try:
            yield output, errors
        finally:
            await output.abandon()
            await errors.abandon()

    async def _fail_for_size(self) -> None:
        message = f"The results have more than {self.rules.max_bytes} bytes."
        await self._fail(TransformCode.OUTPUT_TOO_LARGE, message)

    async def _fail(self, code: str, message: str) -> None:
        if self.writes_parts:
            await delete_lost_rows(self.files, self.execution)
        await self._end(ExecutionState.FAILED, _EndFacts(code=code, message=message))

    async def _end(self, state: ExecutionState, facts: _EndFacts) -> None:
        final = self._final(state, facts)
        await self._claims.end(self.execution, final, facts.parts, facts.checked_commits)

    def _final(self, state: ExecutionState, facts: _EndFacts) -> Execution:
        """The execution in its final state."""
        ended = with_end_state(self.execution, state, self.clock.now(), self.rules)
        read_as = self.read_as
        if self.converted is not None:
            read_as = self.converted.describe(read_as)
        final = replace(
            with_counts(ended, self.counts),
            digest=facts.digest,
            code=facts.code,
            message=facts.message,
            copied_from=facts.copied_from,
            read_as=read_as,
            rejections=self.rejections,
        )
        if self.result_bytes is not None:
            final = replace(final, result_bytes=self.result_bytes)
        return final

    @property
    def _payer(self) -> WorkPayer:
        return WorkPayer(self.execution.created_by, self.work)

    @property
    def _claims(self) -> Claims:
        return Claims(self.table, self.clock, self.rules)
