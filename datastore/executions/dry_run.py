"""Dry runs: rows of a request go through a pipeline, and nothing is stored."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.datasets.table_cache import DatasetTableCache, PaidTables
from penstock.datastore.errors import FieldProblem, IllegalState, Invalid, Unavailable
from penstock.datastore.executions.access import RUN_ROLE, require_run
from penstock.datastore.executions.inline import (
    InlineOutput,
    encode_rows,
    parse_results,
    run_charged,
)
from penstock.datastore.executions.pinned_inputs import find_datasets, load_rows
from penstock.datastore.executions.plans import PinnedPlan, pin_draft, pin_plan
from penstock.datastore.executions.programs import compile_program
from penstock.datastore.executions.records import ExecutionRules
from penstock.datastore.formulas.threads import run_in_formula_thread
from penstock.datastore.objects.port import Files, single_chunk
from penstock.datastore.records import Pipeline, State, Transformer
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.resources.version_labels.labels import LATEST, VersionName
from penstock.datastore.resources.versions import Versions
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.commit import Attempts, StaleRead
from penstock.datastore.table.layout import PIPELINE
from penstock.transform.json_transform import JsonTransform
from penstock.transform.plan import TransformPlan
from penstock.transform.problems import InputRefused
from penstock.transform.program import Program

Rows = Sequence[Mapping[str, Any]]

_DRAFT: Final = "draft"


class DryRunResult(NamedTuple):
    """The results of a dry run, and the version of the pipeline; None for a draft."""

    version: int | None
    output: InlineOutput


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
        output = await self._run(partial(pin_plan, self.access, found), rows)
        return DryRunResult(found.version, output)

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
            output = await self._run(partial(pin_draft, self.access, draft), rows)
        except Invalid as invalid:
            raise Invalid([_name_draft(problem) for problem in invalid.problems]) from None
        return DryRunResult(None, output)

    async def _run(self, pin: Callable[[], Awaitable[PinnedPlan]], rows: Rows) -> InlineOutput:
        if not rows:
            raise Invalid([FieldProblem(["rows"], "must not be empty")])
        data = encode_rows(rows, self.rules)
        plan = (await _pin_at_rest(pin)).plan
        try:
            program = await self._compile(plan)
        except InputRefused as refused:
            raise IllegalState(refused.problem.message, refused.problem.code) from None
        transform = JsonTransform(program)
        steps = program.cost * len(rows)
        made = run_charged(self.access.work, steps, transform, single_chunk(data))
        written = [step.written async for step in made]
        output = b"".join(one.output for one in written)
        errors = b"".join(one.errors for one in written)
        return await run_in_formula_thread(partial(parse_results, plan, errors, output))

    async def _compile(self, plan: TransformPlan) -> Program:
        datasets = await find_datasets(self.access.table, plan)
        tables = PaidTables(self.tables, self.access.work)
        loaded = await load_rows(datasets, self.files, tables)
        return await run_in_formula_thread(partial(compile_program, plan, loaded))


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
