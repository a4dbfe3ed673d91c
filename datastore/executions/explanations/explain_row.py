"""Explanations of output rows: their formulas run again, with what the execution had pinned."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import formula_units, load_units
from penstock.datastore.datasets.table_cache import DatasetTableCache, PaidTables
from penstock.datastore.errors import IllegalState, NotFound
from penstock.datastore.evaluation.evaluator import MAX_PARTS, ExplainedFormula, show_explanation
from penstock.datastore.executions.access import require_full_view
from penstock.datastore.executions.explanations.input_row import (
    InputFiles,
    InputRow,
    find_input_row,
)
from penstock.datastore.executions.file_access import require_whole_files
from penstock.datastore.executions.files import errors_key, read_key
from penstock.datastore.executions.plans.pinned_inputs import find_datasets, load_rows
from penstock.datastore.executions.reading import ReadExecutions, find_plan
from penstock.datastore.executions.records import Execution, ExecutionState
from penstock.datastore.kept_rows.records import KeptRow
from penstock.datastore.objects.port import Files
from penstock.formula.checking.check import Surroundings
from penstock.formula.core.datasets import KeyedRows
from penstock.formula.core.values import FormulaParameter, Scalar
from penstock.formula.explain import explain
from penstock.transform.plan import FormulaStep, PinnedCalculations, PinnedDatasets, TransformPlan
from penstock.transform.problems import InputRefused


class ExplainedOutput(NamedTuple):
    """An output of a row: its key, its formula, and how the formula comes to its value."""

    key: str
    formula: str
    explained: ExplainedFormula


class ExplainedRow(NamedTuple):
    """The input of a row, and an explanation of each of its outputs."""

    input: InputRow
    outputs: tuple[ExplainedOutput, ...]


@dataclass(frozen=True, slots=True)
class ExplainRows:
    """Explains rows to the caller, who must see everything that the formulas use."""

    access: Access
    files: Files
    tables: DatasetTableCache

    async def one(self, row: KeptRow) -> ExplainedRow:
        """Explain a kept row in hand; raises what `of_output` does."""
        read = await ReadExecutions(self.access).one(row.execution_id)
        return await self._explain(read.execution, row.number)

    async def of_output(self, execution: Execution, number: int) -> ExplainedRow:
        """Explain the row with a number, counted from 1, in the output of an execution in hand.

        Raises IllegalState if there is no output or a dataset was deleted, NotFound if there is no
        such row or a file is gone, NotPermitted if the formulas use what the caller does not see or
        the rows belong to groups of which the caller does not read all, and RateLimited.
        """
        require_whole_files(self.access.caller, execution)
        return await self._explain(execution, number)

    async def _explain(self, execution: Execution, number: int) -> ExplainedRow:
        if execution.state is not ExecutionState.SUCCESS:
            message = f"It is {execution.state.value}: there is no output."
            raise IllegalState(message, execution.state.name)
        if not 1 <= number <= execution.succeeded:
            raise NotFound(f"The output has {execution.succeeded} rows, and no row {number}.")
        await require_full_view(self.access, execution.pins)
        plan = await find_plan(self.access.table, execution.id)
        content = await self.files.stat(read_key(execution))
        rejected = await self.files.stat(errors_key(execution))
        if plan is None or content is None or rejected is None:
            raise NotFound("The input of the row is gone.")
        try:
            datasets = await find_datasets(self.access.table, plan)
            tables = PaidTables(self.tables, self.access.work)
            data = await load_rows(plan, datasets, self.files, tables)
        except InputRefused as refused:
            raise IllegalState(refused.problem.message, refused.problem.code) from None
        # What is owed for the row may be more than the caller has, so nothing is begun after it.
        self.access.work.spend_more(load_units(rejected.size) + explaining_units(plan))
        known = execution.bytes_to_read
        source = InputFiles(execution, content.size if known is None else known, rejected.size)
        found = await find_input_row(self.files, source, plan, number, self.access.work)
        return await explain_input(self.access, plan, data, found)


def explaining_units(plan: TransformPlan) -> int:
    """Return the units of checking all formulas of a plan, which are paid before any is run."""
    return sum(formula_units(len(step.formula)) for step in plan.steps)


async def explain_input(
    access: Access, plan: TransformPlan, data: Mapping[str, KeyedRows], input: InputRow
) -> ExplainedRow:
    """Explain what a plan makes of an input row, up to the first formula that fails.

    `data` has the rows of the datasets. The caller has paid `explaining_units`.
    """
    datasets = PinnedDatasets(plan.datasets, data)
    parameters = tuple(FormulaParameter(c.key, c.type, c.required) for c in plan.columns)
    library, earlier = PinnedCalculations(plan.calls), dict[str, Scalar]()
    found: list[ExplainedOutput] = []
    for step in plan.steps:
        keys = frozenset(earlier)
        around = Surroundings(parameters, step.type, library, None, keys)
        explained = partial(
            explain,
            step.formula,
            around,
            input.entries,
            datasets,
            dict(earlier),
            most_parts=MAX_PARTS,
        )
        shown = await show_explanation(explained, access.work)
        found.append(ExplainedOutput(step.name, step.formula, shown))
        if shown.failure is not None:
            break
        _remember(earlier, step, shown)
    return ExplainedRow(input, tuple(found))


def _remember(earlier: dict[str, Scalar], step: FormulaStep, shown: ExplainedFormula) -> None:
    """Let later formulas read the output, as a run of the program does."""
    if step.key is not None:
        value = shown.value
        earlier[step.key] = (shown.text or "") if isinstance(value, tuple) else value
