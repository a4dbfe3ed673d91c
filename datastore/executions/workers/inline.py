"""Executions whose few rows come with the request and which run while the request waits."""

import asyncio
import csv
import re
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from hashlib import sha256
from itertools import count, islice
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import (
    TEXT_WORK,
    TRANSITION_UNITS,
    WorkAccount,
    file_units,
    step_units,
)
from penstock.datastore.datasets.table_cache import DatasetTableCache, PaidTables
from penstock.datastore.errors import FieldProblem, IllegalState, LimitExceeded, Unreadable
from penstock.datastore.executions.cancel_and_retry import ChangeExecutions
from penstock.datastore.executions.claims.claims import Claims
from penstock.datastore.executions.create import CreateExecutions, ExecutionRequest
from penstock.datastore.executions.failure_codes import FailureCode
from penstock.datastore.executions.file_access import require_whole_files
from penstock.datastore.executions.files import errors_key, input_key, output_key
from penstock.datastore.executions.reading import ReadExecutions, find_plan
from penstock.datastore.executions.records import (
    Execution,
    ExecutionMode,
    ExecutionRules,
    ExecutionState,
)
from penstock.datastore.executions.removal import delete_orphaned_files
from penstock.datastore.executions.workers.row_engine import EngineStep, RowTask, run_transform
from penstock.datastore.executions.workers.worker import ExecutionWorker
from penstock.datastore.formulas.threads import run_in_formula_thread
from penstock.datastore.kept_rows.part_files import PartFiles
from penstock.datastore.objects.chunks import read_exactly
from penstock.datastore.objects.port import Files
from penstock.datastore.records import StoredRecord
from penstock.formula.core.errors import FormulaCode
from penstock.formula.core.limits import MAX_BATCH_STEPS, MAX_STRING
from penstock.formula.core.values import FormulaType
from penstock.transform.csv_text import read_csv_lines
from penstock.transform.json_transform import JsonTransform
from penstock.transform.plan import TransformPlan
from penstock.transform.timestamps import milliseconds_of


class RowProblem(StoredRecord, frozen=True, kw_only=True):
    """The reason why a row was rejected; `row` counts from 1, and 0 means all rows."""

    row: int
    column: str | None
    code: str
    message: str


class InlineOutput(NamedTuple):
    """The output rows by heading, and the problems of the rejected rows."""

    rows: tuple[dict[str, Any], ...]
    problems: tuple[RowProblem, ...]


def _read_number(cell: str) -> Decimal:
    # An exponent could stand for a number of any length.
    if cell in _INFINITE:
        raise InfiniteNumber(cell)
    if len(cell) > MAX_STRING or _NUMBER.fullmatch(cell) is None:
        raise ValueError(cell)
    return Decimal(cell)


def _read_time(cell: str) -> str:
    if milliseconds_of(cell) is None:
        raise ValueError(cell)
    return cell


class InfiniteNumber(ValueError):
    """A cell that says `Infinity`, as earlier releases wrote the results of some formulas."""


_INFINITE: Final = ("Infinity", "-Infinity")
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_CELL_READERS: Final[dict[FormulaType, Callable[[str], object]]] = {
    FormulaType.NUMBER: _read_number,
    FormulaType.TIMESTAMP: _read_number,
    FormulaType.BOOLEAN: "true".__eq__,
    FormulaType.STRING: str,
}
_ISO_READERS: Final = {**_CELL_READERS, FormulaType.TIMESTAMP: _read_time}


INFINITE_RESULT: Final = "the result is no finite number"

MAX_RESULT_BYTES: Final = 16 * 1024 * 1024
"""Bytes of the results of one execution that an answer may hold; a file of them may be larger."""


@dataclass(frozen=True, slots=True)
class ReadInlineOutput:
    """Reads the results of inline executions for the caller, one after another.

    The caller pays for them by their size before they are read, and only owes for those of
    executions that `ran` in the same operation.
    """

    access: Access
    files: Files
    ran: set[str] = field(default_factory=set)
    _turns: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def one(self, execution: Execution) -> InlineOutput | None:
        """The result; None for an execution of a file, and for one without a result.

        Raises LimitExceeded for more than MAX_RESULT_BYTES, RateLimited, NotPermitted for rows of
        groups that the caller does not read, and Unreadable for what a worker elsewhere wrote in
        another form.
        """
        ended = execution.state in (ExecutionState.SUCCESS, ExecutionState.FAILED)
        if execution.mode is not ExecutionMode.INLINE or not ended:
            return None
        require_whole_files(self.access.caller, execution)
        plan = await find_plan(self.access.table, execution.id)
        made = execution.state is ExecutionState.SUCCESS
        keys = [errors_key(execution), *([output_key(execution)] if made else [])]
        found = [await self.files.stat(key) for key in keys]
        if plan is None or found[0] is None:
            return None
        size = sum(sizes := [0 if stat is None else stat.size for stat in found])
        if size > MAX_RESULT_BYTES:
            raise LimitExceeded("bytes of results in an answer", MAX_RESULT_BYTES, size)
        async with self._turns:
            pay = self.access.work.owe if execution.id in self.ran else self.access.work.spend_more
            pay(file_units(size))
            wrong, *output = [
                await read_exactly(self.files.read(key), one)
                for key, one in zip(keys, sizes, strict=True)
            ]
            parse = partial(parse_results, plan, wrong, b"".join(output))
            return await run_in_formula_thread(parse)


def parse_results(plan: TransformPlan, wrong: bytes, output: bytes) -> InlineOutput:
    """Read the two files of an execution of this plan; Unreadable for files of another form."""
    try:
        problems = [_row_problem(*line[:4]) for line in _csv_rows(wrong)]
        read = [
            _read_output_row(plan, number, line)
            for number, line in zip(_other_numbers(problems), _csv_rows(output), strict=False)
        ]
    except (ValueError, TypeError, csv.Error):
        raise Unreadable from None
    if infinite := [each for each in read if isinstance(each, RowProblem)]:
        problems = sorted([*problems, *infinite], key=attrgetter("row"))
    rows = tuple(each for each in read if not isinstance(each, RowProblem))
    return InlineOutput(rows, tuple(problems))


def _other_numbers(problems: Iterable[RowProblem]) -> Iterator[int]:
    """The numbers of the rows that have no problem, without end."""
    rejected = {problem.row for problem in problems}
    return (number for number in count(1) if number not in rejected)


def _read_output_row(
    plan: TransformPlan, number: int, line: list[str]
) -> dict[str, Any] | RowProblem:
    """The values of a row of the output; a problem for a result that is no finite number."""
    row = dict[str, Any]()
    readers = _ISO_READERS if plan.iso_timestamps else _CELL_READERS
    for step, cell in zip(plan.steps, line, strict=True):
        try:
            row[step.name] = readers[step.type](cell) if cell else None
        except InfiniteNumber:
            code, message = FormulaCode.NUMBER_OUT_OF_RANGE.value, INFINITE_RESULT
            return RowProblem(row=number, column=step.name, code=code, message=message)
    return row


def _row_problem(row: str, column: str, code: str, message: str) -> RowProblem:
    number = int(row)
    if not 0 <= number <= MAX_ROW:
        raise ValueError(row)
    return RowProblem(row=number, column=column or None, code=code, message=message)


def _csv_rows(data: bytes) -> Iterator[list[str]]:
    """The lines of a CSV file without its header, if it has one."""
    return islice(read_csv_lines(data.decode()), 1, None)


MAX_ROW: Final = 2**31 - 1
JSON: Final = "application/json"
MAX_BYTES: Final = 4 * 1024 * 1024


def encode_rows(rows: Sequence[Mapping[str, Any]], rules: ExecutionRules) -> bytes:
    """The rows of a request as an input file; raises LimitExceeded for too many or too large."""
    if len(rows) > rules.inline_rows:
        raise LimitExceeded("rows of a request", rules.inline_rows, len(rows), ("rows",))
    data = msgspec.json.encode(rows)
    if len(data) > MAX_BYTES:
        raise LimitExceeded("bytes of the rows of a request", MAX_BYTES, len(data), ("rows",))
    return data


@dataclass(frozen=True, slots=True)
class InlineExecutions:
    """Executions of rows from the request for the caller."""

    access: Access
    rules: ExecutionRules
    files: Files
    tables: DatasetTableCache
    output: ReadInlineOutput
    part_files: PartFiles

    async def run(
        self,
        wanted: ExecutionRequest,
        rows: Sequence[Mapping[str, Any]],
        idempotency_key: str | None = None,
        noted: Sequence[FieldProblem] = (),
    ) -> Execution:
        """Create an execution, store the rows as its input, run it, and return it as it ended.

        If this process stops, another one finishes the execution, or fails it if the rows were not
        stored. The same idempotency key with the same rows returns the execution of the first call
        in its current state, and runs it if its rows were not stored.
        """
        if not rows:
            noted = [*noted, FieldProblem(["rows"], "must not be empty")]
        data = encode_rows(rows, self.rules)
        wanted = replace(wanted, mode=ExecutionMode.INLINE, rows=sha256(data).hexdigest())
        creating = CreateExecutions(self.access, self.rules, self.files)
        execution = await creating.create(wanted, idempotency_key, noted)
        if execution.code == FailureCode.ROWS_NOT_STORED:
            execution = await self._begin_again(execution)
        if execution.ready_at is None and not execution.state.is_over:
            self.output.ran.add(execution.id)
            await self._run_rows(execution, data, len(rows))
        return (await ReadExecutions(self.access).one(execution.id)).execution

    async def _begin_again(self, lost: Execution) -> Execution:
        """Let an execution wait again whose rows were lost, unless another call does so."""
        try:
            return await ChangeExecutions(self.access, self.rules, lambda: None).retry(lost.id)
        except IllegalState:
            now = (await ReadExecutions(self.access).one(lost.id)).execution
            if now.code == FailureCode.ROWS_NOT_STORED:
                raise
            return now

    async def _run_rows(self, execution: Execution, data: bytes, count: int) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            yield data

        await self.files.write(input_key(execution), chunks(), content_type=JSON)
        table, clock, worker = self.access.table, self.access.clock, self.access.clock.new_id()
        claimed = await Claims(table, clock, self.rules).claim_inline(execution, worker, len(data))
        if claimed is None:
            await delete_orphaned_files(table, self.files, execution)
        else:
            self.access.work.owe(2 * TRANSITION_UNITS)  # the claim, and the end that follows
            engine = _ChargedEngine(self.access.work, count)
            tables = PaidTables(self.tables, self.access.work)
            running = ExecutionWorker(
                table,
                self.files,
                clock,
                self.rules,
                worker,
                tables,
                engine,
                quotas=self.access.quotas,
                shards=self.access.shards,
                part_files=self.part_files,
                work=self.access.work,
            )
            await running.run(claimed)


@dataclass(frozen=True, slots=True)
class _ChargedEngine:
    """The row engine of this process, for rows whose work an account pays, by turns of callers."""

    work: WorkAccount
    rows: int

    def steps(self, files: Files, task: RowTask) -> AsyncGenerator[EngineStep]:
        transform = JsonTransform(task.program, task.execution.max_failed_rows)
        data = task.read_input(files)
        return run_charged(self.work, task.program.cost * self.rows, transform, data)


async def run_charged(
    work: WorkAccount, steps: int, transform: JsonTransform, data: AsyncIterable[bytes]
) -> AsyncGenerator[EngineStep]:
    """Run a transform of so many operations over rows of a request, whose caller pays for it."""
    work.owe(step_units(min(steps, MAX_BATCH_STEPS)))
    async with aclosing(run_transform(transform, data, run_in_formula_thread)) as made:
        async for step in made:
            work.owe(transform.take_spent(TEXT_WORK))
            work.owe(file_units(len(step.written.output) + len(step.written.errors)))
            yield step
