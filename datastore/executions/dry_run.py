"""Dry runs: rows of a request go through a pipeline, and nothing is stored."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import reading_units
from penstock.datastore.datasets.table_cache import DatasetTableCache, PaidTables
from penstock.datastore.errors import FieldProblem, IllegalState, Invalid, NotFound, Unavailable
from penstock.datastore.executions.access import RUN_ROLE, require_full_view, require_run
from penstock.datastore.executions.explanations.explain_row import (
    ExplainedRow,
    explain_input,
    explaining_units,
)
from penstock.datastore.executions.explanations.input_row import read_object
from penstock.datastore.executions.plans.pinned_inputs import find_datasets, load_rows
from penstock.datastore.executions.plans.plans import PinnedPlan, pin_draft, pin_plan
from penstock.datastore.executions.plans.programs import compile_program
from penstock.datastore.executions.records import ExecutionRules
from penstock.datastore.executions.workers.inline import (
    InlineOutput,
    encode_rows,
    parse_results,
    run_charged,
)
from penstock.datastore.formulas.threads import run_in_formula_thread
from penstock.datastore.objects.chunks import single_chunk
from penstock.datastore.objects.port import Files
from penstock.datastore.records import Pipeline, State, Transformer
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.resources.version_labels.labels import LATEST, VersionName
from penstock.datastore.resources.versions import Versions
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.commit import Attempts, StaleRead
from penstock.datastore.table.layout import PIPELINE
from penstock.formula.core.datasets import KeyedRows
from penstock.transform.json_transform import JsonTransform
from penstock.transform.plan import TransformPlan
from penstock.transform.problems import InputRefused

Rows = Sequence[Mapping[str, Any]]

_DRAFT: Final = "draft"


class DryRunWork(NamedTuple):
    """The plan of a dry run with the rows of its datasets, and what it made of its own rows."""

    pinned: PinnedPlan
    data: Mapping[str, KeyedRows]
    rows: Rows
    output: InlineOutput


class DryRunResult(NamedTuple):
    """The work of a dry run, and the version of the pipeline; None for a draft."""

    version: int | None
    work: DryRunWork

    @property
    def output(self) -> InlineOutput:
        return self.work.output


@dataclass(frozen=True, slots=True)
class DryRuns:
    """Runs rows for the caller as an execution would, by the same plan and engine."""

    access: Access
    rules: ExecutionRules
    files: Files
    tables: DatasetTableCache

    async def run_saved(self, id: str, rows: Rows, version: VersionName = LATEST) -> DryRunResult:
        """Run rows through a version of a pipeline: get latest, and get version if it is earlier.

        What its formulas use is as it is now. Those may do it who may run the pipeline. Raises
        IllegalState if it is not enabled, and otherwise what the creation of an execution raises.
        """
        pipeline = await ResourceReader(PIPELINE, self.access).one(id)
        require_run(self.access.caller, pipeline)
        if pipeline.state is not State.ENABLED:
            message = f"It is {pipeline.state.value}: it cannot be evaluated."
            raise IllegalState(message, pipeline.state.name)
        found = await Versions(PIPELINE, self.access).read_named(pipeline, version)
        work = await self._run(partial(pin_plan, self.access, found), rows)
        return DryRunResult(found.version, work)

    async def run_draft(
        self, group: GroupPath | None, transformer: Transformer, rows: Rows
    ) -> DryRunResult:
        """Run rows through a transformer as it would be saved in the group.

        Those may do it who may save it there. Raises Invalid if it could not be saved.
        """
        group = self.access.group_or_default(group)
        self.access.require_role(RUN_ROLE, group)
        await self.access.require_group(group)
        draft = _draft_pipeline(group, transformer)
        try:
            work = await self._run(partial(pin_draft, self.access, draft), rows)
        except Invalid as invalid:
            raise Invalid([_name_draft(problem) for problem in invalid.problems]) from None
        return DryRunResult(None, work)

    async def explain(self, ran: DryRunResult, number: int) -> ExplainedRow:
        """Explain what became of a row with a number, counted from 1, also of a rejected one.

        Raises NotFound if there is no such row, and NotPermitted if the formulas use what the
        caller does not see.
        """
        work = ran.work
        if not 1 <= number <= len(work.rows):
            message = f"There are {len(work.rows)} rows, and no row {number}."
            raise NotFound(message, ("row",))
        await require_full_view(self.access, work.pinned.pins)
        plan = work.pinned.plan
        row = read_object(plan, number, work.rows[number - 1])
        self.access.work.spend_more(explaining_units(plan))
        return await explain_input(self.access, plan, work.data, row)

    async def _run(self, pin: Callable[[], Awaitable[PinnedPlan]], rows: Rows) -> DryRunWork:
        if not rows:
            raise Invalid([FieldProblem(["rows"], "must not be empty")])
        data = encode_rows(rows, self.rules)
        pinned = await _pin_at_rest(pin)
        plan = pinned.plan
        self.access.work.spend_more(reading_units(len(rows) * len(plan.columns)))
        try:
            datasets = await self._load(plan)
            compiling = partial(compile_program, plan, datasets)
            program = await run_in_formula_thread(compiling)
        except InputRefused as refused:
            raise IllegalState(refused.problem.message, refused.problem.code) from None
        transform = JsonTransform(program)
        steps = program.cost * len(rows)
        running = run_charged(self.access.work, steps, transform, single_chunk(data))
        written = [step.written async for step in running]
        output = b"".join(one.output for one in written)
        errors = b"".join(one.errors for one in written)
        parse = partial(parse_results, plan, errors, output)
        made = await run_in_formula_thread(parse)
        return DryRunWork(pinned, datasets, rows, made)

    async def _load(self, plan: TransformPlan) -> Mapping[str, KeyedRows]:
        datasets = await find_datasets(self.access.table, plan)
        tables = PaidTables(self.tables, self.access.work)
        return await load_rows(plan, datasets, self.files, tables)


async def _pin_at_rest(pin: Callable[[], Awaitable[PinnedPlan]]) -> PinnedPlan:
    """Pin a plan; again where what it reaches is being written meanwhile."""
    async for _ in Attempts():
        with suppress(StaleRead):
            return await pin()
    raise Unavailable("What the formulas call is being written by many at once.")


def _draft_pipeline(group: GroupPath, transformer: Transformer) -> Pipeline:
    """The pipeline that a save would make; its id belongs to no other pipeline."""
    return Pipeline(
        id=_DRAFT,
        name=_DRAFT,
        transformer=transformer,
        state=State.ENABLED,
        tags=(),
        groups=(group,),
        owner=group,
        version=0,
        revision=0,
        created_at="",
        created_by="",
        updated_at="",
        updated_by="",
    )


def _name_draft(problem: FieldProblem) -> FieldProblem:
    """The problem in terms of the input, in which the draft is the transformer itself."""
    if problem.path[:1] != ["transformer"]:
        return problem
    return replace(problem, path=[_DRAFT, *problem.path[1:]])
