"""A plan compiled for running: a reader for each column and a function for each formula.

Most entries are plain numbers and short texts, which the readers convert without further checks.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, DecimalException
from typing import Final

from penstock.formula.checking.check import Surroundings
from penstock.formula.checking.linker import CalledFindings, link
from penstock.formula.codegen.emitter import FAULTS
from penstock.formula.codegen.generator import CalledRoutines, routine_for_calls
from penstock.formula.core.datasets import KeyedRows
from penstock.formula.core.errors import Fault, FormulaInvalid
from penstock.formula.core.limits import MAX_STRING, WorkMeter
from penstock.formula.core.row_inputs import binder
from penstock.formula.core.values import FormulaParameter, FormulaType, Scalar, Value
from penstock.formula.evaluate import failure_of
from penstock.formula.syntax.parser import parse
from penstock.transform.column_values import InputColumn
from penstock.transform.plan import FormulaStep, PinnedCalculations, PinnedDatasets, TransformPlan
from penstock.transform.problems import MAX_MESSAGE, InputRefused, TransformCode, TransformProblem
from penstock.transform.row_identity import IdentityCheck
from penstock.transform.row_routine import OutputColumn, RowCompiler, RowRoutine, csv_cell
from penstock.transform.timestamps import iso_cell

is_plain_number: Final = re.compile(r"-?\d{1,40}+(?:\.\d{1,40}+)?", re.ASCII).fullmatch
"""Matches a number that is within all limits, so that nothing else checks it."""


def entry_reader(parameter: FormulaParameter) -> Callable[[object], Value]:
    """Return the function that converts an entry to a value, as `row_inputs.binder` does."""
    bind = binder(parameter)

    def number(entry: object) -> Value:
        return Decimal(entry) if type(entry) is str and is_plain_number(entry) else bind(entry)

    def text(entry: object) -> Value:
        return entry if type(entry) is str and len(entry) <= MAX_STRING else bind(entry)

    match parameter.type:
        case FormulaType.NUMBER:
            return number
        case FormulaType.STRING:
            return text
        case _:
            return bind


NO_DATA: Final[Mapping[str, KeyedRows]] = {}


class Program:
    """A plan ready to run for any number of rows; it keeps no state between them.

    `data` has the rows of the plan's datasets, by identity. Raises InputRefused where a formula
    cannot be used. `cost` bounds the operations of one row. `parse_group` reads the paths of groups
    in rows that are kept.
    """

    def __init__(
        self,
        plan: TransformPlan,
        data: Mapping[str, KeyedRows] = NO_DATA,
        parse_group: Callable[[str], str] = str,
    ) -> None:
        self.columns = plan.columns
        self.ignores_extra = plan.ignores_extra
        self.headings = tuple(step.name for step in plan.steps)
        self._identity: IdentityCheck | None = None
        if plan.rows is not None:
            self._identity = IdentityCheck(
                plan.rows, self.headings, parse_group, iso_timestamps=plan.iso_timestamps
            )
        self._datasets = PinnedDatasets(plan.datasets, data)
        self._parameters = tuple(FormulaParameter(c.key, c.type, c.required) for c in plan.columns)
        self._readers = tuple(map(entry_reader, self._parameters))
        self._headings_of_keys = {
            one.key: f" (column {one.label!r})"
            for one in plan.columns
            if one.label and one.label.casefold() != one.key.casefold()
        }
        self._library = PinnedCalculations(plan.calls)
        self._findings = CalledFindings()
        self._called: CalledRoutines = {}
        self.cost = 0
        self._outputs = tuple(self._compile_step(plan, n) for n in range(len(plan.steps)))
        self._is_metered = any(output.routine.metered for output in self._outputs)

    def read_values(
        self, row: int, entries: Sequence[object], problems: list[TransformProblem]
    ) -> list[Value]:
        """Return the values of a row's entries, which are in the order of the columns.

        For a row that cannot be read, all its problems are added and the result is empty.
        """
        try:
            return [read(entry) for read, entry in zip(self._readers, entries, strict=True)]
        except Fault:
            problems += self._reading_problems(row, entries)
            return []

    def evaluate_row(
        self,
        row: int,
        values: Sequence[Value],
        problems: list[TransformProblem],
        batch: WorkMeter | None = None,
    ) -> list[str]:
        """Return the output cells for a row's values; the first formula that fails ends the row.

        Text functions spend from `batch`, which several rows share; without it, each row by itself.
        """
        work = (batch or WorkMeter()) if self._is_metered else None
        if work is not None:
            work.begin_row()
        lookup, impact = self._datasets.lookup, self._datasets.impact
        earlier: dict[str, Scalar] = {}
        cells: list[str] = []
        for output in self._outputs:
            try:
                value = output.routine.run(*values, lookup, impact, earlier.get, work)
                cells.append(output.write(value))
            except FAULTS as error:
                problems.append(_evaluation_problem(row, output, error))
                return cells
            if output.key is not None:
                earlier[output.key] = cells[-1] if isinstance(value, tuple) else value
        if self._identity is not None and (problem := self._identity.problem_of(row, cells)):
            problems.append(problem)
        return cells

    def compile_rows(self, places: Sequence[int | None], width: int) -> RowRoutine:
        """Compile all columns and formulas to few functions, for files with these places.

        Its rows must have `width` fields, unless the program reads none of them.
        """
        columns = [
            InputColumn(parameter.type, read, place)
            for parameter, read, place in zip(self._parameters, self._readers, places, strict=True)
        ]
        compiler = RowCompiler(self._datasets.lookup, self._datasets.impact, self._identity)
        return compiler.compile(columns, self._outputs, width if columns else None)

    def _reading_problems(self, row: int, entries: Sequence[object]) -> Iterator[TransformProblem]:
        for read, entry in zip(self._readers, entries, strict=True):
            try:
                read(entry)
            except Fault as fault:
                key = fault.column or ""
                message = fault.message + self._headings_of_keys.get(key, "")
                yield TransformProblem(row, key, fault.code, message[:MAX_MESSAGE])

    def _compile_step(self, plan: TransformPlan, n: int) -> OutputColumn:
        step = plan.steps[n]
        keys = frozenset(one.key for one in plan.steps[:n] if one.key is not None)
        around = Surroundings(self._parameters, step.type, self._library, None, keys)
        try:
            linked = link(parse(step.formula), around, self._findings)
        except FormulaInvalid as invalid:
            raise _unusable_formula(step, invalid) from None
        self.cost += linked.steps
        routine = routine_for_calls(linked, called=self._called)
        is_iso = plan.iso_timestamps and step.type is FormulaType.TIMESTAMP
        return OutputColumn(step.name, step.key, routine, iso_cell if is_iso else csv_cell)


def _unusable_formula(step: FormulaStep, invalid: FormulaInvalid) -> InputRefused:
    problem = invalid.problems[0]
    message = f"the formula cannot be used, {problem.at}: {problem.message}"
    return InputRefused(TransformCode.INVALID_FORMULA, message, step.name)


def _evaluation_problem(
    row: int, output: OutputColumn, error: Fault | DecimalException
) -> TransformProblem:
    failure = failure_of(error, output.routine)
    # Who reads rejected rows would take a place without these words for one of the file.
    message = f"in the formula, {failure}" if failure.at else failure.message
    return TransformProblem(row, output.name, failure.code, message[:MAX_MESSAGE])
