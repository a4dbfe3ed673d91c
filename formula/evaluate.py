"""Compiles a formula once and runs it for any number of rows."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import DecimalException
from threading import Lock
from types import MappingProxyType
from typing import Final

import msgspec
from cachetools import LRUCache

from penstock.formula.checking.calculation_library import ResolvedCall
from penstock.formula.checking.check import Surroundings
from penstock.formula.checking.linker import LinkedFormula, link, reachable_calls
from penstock.formula.codegen import generator
from penstock.formula.codegen.emitter import FAULTS, Routine, fault_of
from penstock.formula.core.datasets import Datasets, NoDatasets
from penstock.formula.core.errors import Fault, FormulaCode, FormulaFailure, Position
from penstock.formula.core.limits import MAX_BATCH_STEPS, WorkMeter
from penstock.formula.core.values import FormulaParameter, FormulaType, Scalar, Value
from penstock.formula.syntax.parser import parse

Row = Mapping[str, object]
_NO_DATA: Final = NoDatasets()
_NO_EARLIER: Final[Mapping[str, Scalar]] = MappingProxyType({})
_COMPILED_STEPS: Final = 200_000
_Key = tuple[
    str,
    tuple[FormulaParameter, ...],
    FormulaType | None,
    str | None,
    frozenset[str] | None,
    tuple[ResolvedCall, ...],
]


class RowError(msgspec.Struct, frozen=True):
    """The reason why a row has no value.

    `row` counts from 0; `column` is the input at fault, if there is one.
    """

    row: int
    column: str | None
    code: FormulaCode
    message: str
    at: Position | None


class Results(msgspec.Struct, frozen=True):
    """A value for each row, None for rows with an error."""

    values: tuple[Value, ...]
    errors: tuple[RowError, ...]


class CompiledFormula:
    """A formula ready to run; it keeps no state between rows, and threads may share it."""

    def __init__(self, linked: LinkedFormula) -> None:
        self.linked = linked
        self.steps = linked.steps
        self._routine = generator.routine_for_rows(linked)
        self._run = self._routine.run

    @property
    def source(self) -> str:
        """The generated Python source, for debugging."""
        return self._routine.source

    def run(
        self, row: Row, datasets: Datasets = _NO_DATA, earlier: Mapping[str, Scalar] = _NO_EARLIER
    ) -> Value:
        """Return the value for a row or raise FormulaFailure; REF reads `earlier`."""
        work = WorkMeter() if self._routine.metered else None
        try:
            return self._run(row.get, datasets.lookup, datasets.impact, earlier.get, work)
        except FAULTS as error:
            raise failure_of(error, self._routine) from None

    def run_all(
        self,
        rows: Iterable[Row],
        datasets: Datasets = _NO_DATA,
        work: WorkMeter | None = None,
        first: int = 0,
    ) -> Results:
        """Return the values and errors of all rows; one row's error does not stop the others.

        A batch may be run in parts: each with the `work` that is left, and the number of its
        `first` row.
        """
        run, lookup, impact, earlier = self._run, datasets.lookup, datasets.impact, _NO_EARLIER.get
        work = work or WorkMeter()
        values: list[Value] = []
        errors: list[RowError] = []
        for number, row in enumerate(rows, start=first):
            work.begin_row()
            try:
                values.append(run(row.get, lookup, impact, earlier, work))
            except FAULTS as error:
                values.append(None)
                failed = failure_of(error, self._routine)
                errors.append(
                    RowError(number, failed.column, failed.code, failed.message, failed.at)
                )
        return Results(tuple(values), tuple(errors))


def failure_of(error: Fault | DecimalException, routine: Routine) -> FormulaFailure:
    """Return the failure of a row for an exception of its routine."""
    fault = fault_of(error)
    return FormulaFailure(fault.code, fault.message, routine.locate(error), fault.column)


_COMPILED: Final = LRUCache[_Key, CompiledFormula](
    _COMPILED_STEPS, lambda compiled: 20 + compiled.steps
)
_COMPILED_LOCK: Final = Lock()


def compile_formula(text: str, surroundings: Surroundings | None = None) -> CompiledFormula:
    """Return the formula ready to run; it is compiled again only if the cache has dropped it.

    The cache key is its text, its declarations and the calculations it reaches. Raises
    FormulaInvalid with all problems except unused parameters.
    """
    around = surroundings or Surroundings()
    formula = parse(text)
    found = reachable_calls(formula, around.library, around.within)
    key = (text, around.parameters, around.output, around.within, around.earlier, found)
    with _COMPILED_LOCK:
        kept = _COMPILED.get(key)
    if kept is not None:
        return kept
    compiled = CompiledFormula(link(formula, around))
    with _COMPILED_LOCK, suppress(ValueError):  # a formula larger than the cache is not stored
        _COMPILED[key] = compiled
    return compiled


def evaluate_rows(
    compiled: CompiledFormula, rows: Sequence[Row], datasets: Datasets = _NO_DATA
) -> Results:
    """Evaluate a batch; raises FormulaFailure at once when its rows together cost too much."""
    steps = steps_of(compiled, len(rows))
    if steps > MAX_BATCH_STEPS:
        message = f"{len(rows)} rows take {steps} steps, more than {MAX_BATCH_STEPS}"
        raise FormulaFailure(FormulaCode.WORK_LIMIT, message)
    return compiled.run_all(rows, datasets)


def steps_of(compiled: CompiledFormula, rows: int) -> int:
    """Count the operations of this many rows; one batch may have at most MAX_BATCH_STEPS."""
    return max(1, compiled.steps) * rows
