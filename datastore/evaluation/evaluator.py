"""Evaluation of one prepared formula, in threads of its own.

The calculations that it calls and the datasets that it looks up are read beforehand.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import thread_time
from typing import NamedTuple, TypeVar

from penstock.datastore.access.work import (
    TEXT_WORK,
    WorkAccount,
    cpu_units,
    formula_units,
    step_units,
    text_units,
)
from penstock.datastore.errors import Invalid, LimitExceeded
from penstock.datastore.formulas.checks import field_problem
from penstock.datastore.formulas.threads import run_in_formula_thread
from penstock.datastore.resources.dataset_prefetch import PrefetchedDatasets
from penstock.formula.checking.check import Surroundings
from penstock.formula.core.errors import Fault, FormulaFailure, FormulaInvalid
from penstock.formula.core.limits import MAX_BATCH_STEPS, WorkMeter
from penstock.formula.core.values import Value, text_of
from penstock.formula.evaluate import CompiledFormula, Results, RowError, compile_formula, steps_of
from penstock.formula.explain import Explanation, Part, TooManyParts, explain

MAX_ROWS = 1_000
MAX_TEXT = 2_000_000
MAX_PARTS = 1_000
MAX_REPEATS = 3
ROWS_PER_SLICE = 50
STEPS_PER_SLICE = 20_000
"""The operations of a slice: some 10 ms, and some 100 ms where all numbers have many digits."""

T = TypeVar("T")
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class EvaluatedRows:
    """The value of each row, and the same as text; None for a row that has an error."""

    values: tuple[Value, ...]
    texts: tuple[str | None, ...]
    errors: tuple[RowError, ...]


class ShownPart(NamedTuple):
    """One part of an explained formula, with its values as text.

    `depth` is the level below the lines of the formula, `parent` the position of the enclosing
    part. `called` is true if the part belongs to the formula of a calculation that the parent
    calls.
    """

    part: Part
    depth: int
    parent: int | None
    called: bool
    text: str | None
    so_far: str | None


@dataclass(frozen=True, slots=True)
class ExplainedFormula:
    """All parts of a formula in order, parents first, and its value or the failure."""

    parts: tuple[ShownPart, ...]
    value: Value
    text: str | None
    failure: FormulaFailure | None


@dataclass(frozen=True, slots=True)
class PreparedFormula:
    """A formula with everything that it calls; `path` is its path in the input.

    `length` is the number of characters of the formula and of all that it calls; `work` is the
    account that pays. Both methods raise Invalid with every problem of an unusable formula, and
    LimitExceeded if a limit is exceeded.
    """

    text: str
    surroundings: Surroundings
    lookups: PrefetchedDatasets
    path: tuple[str, ...]
    length: int
    work: WorkAccount

    async def evaluate(self, rows: Sequence[Row]) -> EvaluatedRows:
        """Evaluate up to 1,000 rows; an error in one row does not stop the others."""
        _require_limit("rows", MAX_ROWS, len(rows))
        self.work.owe(formula_units(self.length))
        compiled = await self._with_input_problems(run_in_formula_thread(self._compile))
        steps = steps_of(compiled, len(rows))
        _require_limit("steps of all rows", MAX_BATCH_STEPS, steps)
        self.work.owe(step_units(steps))
        return await self._repeat_with_missing_data(lambda: self._evaluate_slices(compiled, rows))

    async def explain(self, row: Row) -> ExplainedFormula:
        """Evaluate one row and return every intermediate value; the result also holds a failure."""
        self.work.owe(formula_units(self.length))
        explained = partial(
            explain, self.text, self.surroundings, row, self.lookups, most_parts=MAX_PARTS
        )
        return await self._repeat_with_missing_data(
            lambda: self._with_input_problems(show_explanation(explained, self.work))
        )

    def _compile(self) -> CompiledFormula:
        return compile_formula(self.text, self.surroundings)

    async def _evaluate_slices(
        self, compiled: CompiledFormula, rows: Sequence[Row]
    ) -> EvaluatedRows:
        """Evaluate the rows slice by slice.

        Other requests run between two slices, and a cancelled request stops there.
        """
        work, parts, texts = WorkMeter(), [], _Texts()
        size = min(ROWS_PER_SLICE, max(1, STEPS_PER_SLICE // steps_of(compiled, 1)))
        for start in range(0, len(rows), size):
            part = rows[start : start + size]
            run = partial(compiled.run_all, part, self.lookups, work, start)
            parts.append(await run_in_formula_thread(run))
            self.work.owe(work.take_spent(TEXT_WORK))
        try:
            return await run_in_formula_thread(partial(_join_results, parts, texts))
        finally:
            self.work.owe(text_units(texts.length))

    async def _with_input_problems(self, work: Awaitable[T]) -> T:
        """Await the work; report problems of the formula as problems of the input field."""
        try:
            return await work
        except FormulaInvalid as invalid:
            problems = [field_problem(self.path, problem) for problem in invalid.problems]
            raise Invalid(problems) from None

    async def _repeat_with_missing_data(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work; repeat it as long as it needs datasets that were not read yet."""
        result = await work()
        for _ in range(MAX_REPEATS):
            if not await self.lookups.read_missing():
                break
            result = await work()
        return result


class _Texts:
    """The texts of values for one answer, counted while they are written.

    `length` is the number of their characters so far.
    """

    def __init__(self) -> None:
        self.length = 0

    def write(self, value: Value) -> str | None:
        """Return a value as text, None for null.

        Raises LimitExceeded if all texts together are too long, and Fault for a list that is.
        """
        if value is None:
            return None
        text = text_of(value)
        self.length += len(text)
        _require_limit("characters of all values", MAX_TEXT, self.length)
        return text

    def write_if_short(self, value: Value) -> str | None:
        """Return a value as text; None for null and for a list that is too long to be written."""
        try:
            return self.write(value)
        except Fault:
            return None


def _join_results(parts: Sequence[Results], written: _Texts) -> EvaluatedRows:
    """Join the results, and write each value as text.

    A list that is too long to be written is the error of its row.
    """
    texts: list[str | None] = []
    values = [value for part in parts for value in part.values]
    errors = [error for part in parts for error in part.errors]
    failed = {error.row for error in errors}
    for number, value in enumerate(values):
        text = None
        try:
            text = None if number in failed else written.write(value)
        except Fault as fault:
            values[number] = None
            errors.append(RowError(number, None, fault.code, fault.message, None))
        texts.append(text)
    errors.sort(key=lambda error: error.row)
    return EvaluatedRows(tuple(values), tuple(texts), tuple(errors))


async def show_explanation(
    explained: Callable[[], Explanation], work: WorkAccount
) -> ExplainedFormula:
    """Explain a formula in a thread, and return its parts with their values as text.

    `explained` makes the explanation with at most MAX_PARTS parts; the processor time of the thread
    is owed. Raises LimitExceeded for too many parts, and what `explained` raises.
    """
    seconds = 0.0

    def run() -> ExplainedFormula:
        nonlocal seconds
        began = thread_time()
        try:
            return _flatten_explanation(explained(), _Texts())
        except TooManyParts:
            raise LimitExceeded("parts of an explanation", MAX_PARTS, MAX_PARTS + 1) from None
        finally:
            seconds = thread_time() - began

    try:
        return await run_in_formula_thread(run)
    finally:
        work.owe(cpu_units(seconds))


def _flatten_explanation(explanation: Explanation, texts: _Texts) -> ExplainedFormula:
    shown = _ShownParts(texts, [])
    for line in explanation.lines:
        shown.append(line, 0, None, called=False)
    value = explanation.value
    text = texts.write_if_short(value)
    return ExplainedFormula(tuple(shown.parts), value, text, explanation.failure)


@dataclass(frozen=True, slots=True)
class _ShownParts:
    """The parts of one explanation, in order."""

    texts: _Texts
    parts: list[ShownPart]

    def append(self, part: Part, depth: int, parent: int | None, *, called: bool) -> None:
        """Append a part and all that it contains."""
        place = len(self.parts)
        text = self.texts.write_if_short(part.value)
        so_far = self.texts.write_if_short(part.so_far)
        self.parts.append(ShownPart(part, depth, parent, called, text, so_far))
        for below, is_called in ((part.parts, False), (part.body, True)):
            for each in below:
                self.append(each, depth + 1, place, called=is_called)


def _require_limit(limit: str, maximum: int, actual: int) -> None:
    if actual > maximum:
        raise LimitExceeded(limit, maximum, actual, ["rows"])
