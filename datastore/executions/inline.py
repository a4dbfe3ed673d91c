"""Executions whose few rows come with the request and which run while the request waits."""

import csv
import io
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final, NamedTuple

import msgspec

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import WorkAccount, step_units
from penstock.datastore.datasets.table_cache import DatasetTableCache
from penstock.datastore.errors import FieldProblem, LimitExceeded
from penstock.datastore.executions.claims import Claims
from penstock.datastore.executions.create import CreateExecutions, ExecutionRequest
from penstock.datastore.executions.files import errors_key, input_key, output_key
from penstock.datastore.executions.reading import ReadExecutions, find_plan
from penstock.datastore.executions.records import (
    Execution,
    ExecutionMode,
    ExecutionRules,
    ExecutionState,
)
from penstock.datastore.executions.row_engine import LOCAL_ENGINE, EngineStep, RowTask
from penstock.datastore.executions.worker import ExecutionWorker
from penstock.datastore.objects.port import Files
from penstock.datastore.records import StoredRecord
from penstock.datastore.table.port import Table
from penstock.formula.core.limits import MAX_BATCH_STEPS
from penstock.formula.core.values import FormulaType
from penstock.transform.plan import TransformPlan


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


_CELL_READERS: Final[dict[FormulaType, Callable[[str], object]]] = {
    FormulaType.NUMBER: Decimal,
    FormulaType.TIMESTAMP: Decimal,
    FormulaType.BOOLEAN: "true".__eq__,
    FormulaType.STRING: str,
}


@dataclass(frozen=True, slots=True)
class ReadInlineOutput:
    """Reads the results of inline executions."""

    table: Table
    files: Files

    async def one(self, execution: Execution) -> InlineOutput | None:
        """The result; None for an execution of a file, and for one without a result."""
        ended = execution.state in (ExecutionState.SUCCESS, ExecutionState.FAILED)
        if execution.mode is not ExecutionMode.INLINE or not ended:
            return None
        plan = await find_plan(self.table, execution.id)
        if plan is None or await self.files.stat(errors_key(execution)) is None:
            return None
        wrong = await self._read_lines(errors_key(execution))
        problems = [
            RowProblem(row=int(row), column=column or None, code=code, message=message)
            for row, column, code, message in wrong
        ]
        made = execution.state is ExecutionState.SUCCESS
        lines = await self._read_lines(output_key(execution)) if made else []
        return InlineOutput(tuple(_output_row(plan, line) for line in lines), tuple(problems))

    async def _read_lines(self, key: str) -> list[list[str]]:
        """The lines of a small CSV file, without its header."""
        data = b"".join([chunk async for chunk in self.files.read(key)])
        return list(csv.reader(io.StringIO(data.decode(), newline="")))[1:]


def _output_row(plan: TransformPlan, line: list[str]) -> dict[str, Any]:
    return {
        step.name: _CELL_READERS[step.type](cell) if cell else None
        for step, cell in zip(plan.steps, line, strict=True)
    }


JSON: Final = "application/json"
MAX_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class InlineExecutions:
    """Executions of rows from the request for the caller."""

    access: Access
    rules: ExecutionRules
    files: Files
    tables: DatasetTableCache

    async def run(
        self,
        wanted: ExecutionRequest,
        rows: Sequence[Mapping[str, Any]],
        idempotency_key: str | None = None,
        noted: Sequence[FieldProblem] = (),
    ) -> Execution:
        """Create an execution, store the rows as its input, run it, and return it as it ended.

        If this process stops, another one finishes the execution. The same idempotency key with the
        same rows returns the execution of the first call in its current state.
        """
        if not rows:
            noted = [*noted, FieldProblem(["rows"], "must not be empty")]
        if len(rows) > self.rules.inline_rows:
            raise LimitExceeded("rows of a request", self.rules.inline_rows, len(rows), ("rows",))
        data = msgspec.json.encode(rows)
        if len(data) > MAX_BYTES:
            raise LimitExceeded("bytes of the rows of a request", MAX_BYTES, len(data), ("rows",))
        wanted = replace(wanted, mode=ExecutionMode.INLINE, rows=sha256(data).hexdigest())
        creating = CreateExecutions(self.access, self.rules, self.files)
        execution = await creating.create(wanted, idempotency_key, noted)
        if execution.ready_at is None and not execution.state.is_over:
            await self._run_rows(execution, data, len(rows))
        return (await ReadExecutions(self.access).one(execution.id)).execution

    async def _run_rows(self, execution: Execution, data: bytes, count: int) -> None:
        async def chunks() -> AsyncIterator[bytes]:
            yield data

        await self.files.write(input_key(execution), chunks(), content_type=JSON)
        table, clock, worker = self.access.table, self.access.clock, self.access.clock.new_id()
        claimed = await Claims(table, clock, self.rules).claim_inline(execution, worker, len(data))
        if claimed is not None:
            engine = _ChargedEngine(self.access.work, count)
            await ExecutionWorker(
                table, self.files, clock, self.rules, worker, self.tables, engine
            ).run(claimed)


@dataclass(frozen=True, slots=True)
class _ChargedEngine:
    """The row engine of this process, for rows whose work an account pays."""

    work: WorkAccount
    rows: int

    def steps(self, files: Files, task: RowTask) -> AsyncGenerator[EngineStep]:
        steps = min(task.program.cost * self.rows, MAX_BATCH_STEPS)
        self.work.owe(step_units(steps))
        return LOCAL_ENGINE.steps(files, task)
