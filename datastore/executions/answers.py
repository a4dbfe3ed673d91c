"""What came out of an execution whose rows came with a request, as values."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, NamedTuple

from penstock.datastore.executions.keys import errors_key, output_key
from penstock.datastore.executions.reading import find_plan
from penstock.datastore.executions.records import Execution, ExecutionMode, ExecutionState
from penstock.datastore.files import Files
from penstock.datastore.records import Struct
from penstock.datastore.table import Table
from penstock.formula.core.values import ValueType
from penstock.transform.plan import Plan


class RowProblem(Struct, frozen=True, kw_only=True):
    """Why a row was left out; `row` counts from 1, 0 stands for all of them."""

    row: int
    column: str | None
    code: str
    message: str


class Answers(NamedTuple):
    """The output rows, by heading, and what is wrong with the others."""

    rows: tuple[dict[str, Any], ...]
    problems: tuple[RowProblem, ...]


_READ: Final[dict[ValueType, Callable[[str], object]]] = {
    ValueType.NUMBER: Decimal,
    ValueType.TIMESTAMP: Decimal,
    ValueType.BOOLEAN: "true".__eq__,
    ValueType.STRING: str,
}


@dataclass(frozen=True, slots=True)
class ReadAnswers:
    """Reads what executions in hand have made of few rows."""

    table: Table
    files: Files

    async def one(self, execution: Execution) -> Answers | None:
        """The values; None for an execution of a file, and for one that made nothing."""
        ended = execution.state in (ExecutionState.SUCCESS, ExecutionState.FAILED)
        if execution.mode is not ExecutionMode.INLINE or not ended:
            return None
        plan = await find_plan(self.table, execution.id)
        if plan is None or await self.files.stat(errors_key(execution)) is None:
            return None
        wrong = await self._lines(errors_key(execution))
        problems = [
            RowProblem(row=int(row), column=column or None, code=code, message=message)
            for row, column, code, message in wrong
        ]
        made = execution.state is ExecutionState.SUCCESS
        lines = await self._lines(output_key(execution)) if made else []
        return Answers(tuple(_row(plan, line) for line in lines), tuple(problems))

    async def _lines(self, key: str) -> list[list[str]]:
        """The lines of a small file of CSV below its headings."""
        data = b"".join([chunk async for chunk in self.files.read(key)])
        return list(csv.reader(io.StringIO(data.decode(), newline="")))[1:]


def _row(plan: Plan, line: list[str]) -> dict[str, Any]:
    return {
        step.name: _READ[step.type](cell) if cell else None
        for step, cell in zip(plan.steps, line, strict=True)
    }
