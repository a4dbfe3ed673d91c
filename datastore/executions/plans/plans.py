"""The plan of an execution: a pipeline's formulas with everything that they call and look up."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem, IllegalState, Invalid, blame_field
from penstock.datastore.executions.records import Pin
from penstock.datastore.formulas.checks import MAX_FORMULAS
from penstock.datastore.formulas.threads import run_in_formula_thread
from penstock.datastore.formulas.transformers import transformer_problems
from penstock.datastore.records import (
    ExtraColumns,
    Output,
    Pipeline,
    ReferenceDataset,
    State,
    TimestampForm,
    Transformer,
)
from penstock.datastore.resources.calculation_refs import CalledCalculations, read_callees
from penstock.datastore.resources.dataset_refs import ResolvedDatasets as FoundDatasets
from penstock.datastore.resources.dataset_refs import resolve_datasets, unknown_dataset_problems
from penstock.datastore.resources.dataset_targets.targets import read_target
from penstock.datastore.resources.rules import check_resource
from penstock.datastore.roles import Role
from penstock.datastore.table.layout import CALCULATION, PIPELINE, REFERENCE_DATASET
from penstock.formula.checking.calculation_library import ResolvedCall
from penstock.formula.core.values import FormulaType
from penstock.transform.plan import Column, DatasetSink, FormulaStep, PinnedDataset, TransformPlan
from penstock.transform.row_identity import RowIdentity


@dataclass(frozen=True, slots=True)
class PinnedPlan:
    """A plan, and its pins, each once: calculations first, then datasets, each by id."""

    plan: TransformPlan
    pins: tuple[Pin, ...]


async def pin_plan(access: Access, pipeline: Pipeline) -> PinnedPlan:
    """Build the plan of a pipeline, pinned to the current versions of what its formulas use.

    Raises Invalid if the pipeline could not be saved now, because what it uses was deleted or
    changed; IllegalState if a dataset or calculation is disabled, LimitExceeded if there are too
    many, and StaleRead if one of them is being written meanwhile.
    """
    formulas = PIPELINE.formulas(pipeline)
    library = await read_callees(access, pipeline, formulas)
    _require_usable(access, library)
    found = await resolve_datasets(access, library, formulas)
    problems = [
        *await _call_problems(pipeline, formulas, library),
        *await unknown_dataset_problems(formulas, library, found),
    ]
    if problems:
        raise Invalid([_request_problem(problem) for problem in problems])
    pinned = _pin_reached(access, pipeline, library, found)
    sink = await _find_sink(access, pipeline)
    return PinnedPlan(replace(pinned.plan, sink=sink), pinned.pins)


async def _find_sink(access: Access, pipeline: Pipeline) -> DatasetSink | None:
    """Find the dataset that the pipeline writes.

    Raises NotPermitted for a caller who may not, IllegalState for one that takes no version.
    """
    target = pipeline.transformer.dataset
    if target is None:
        return None
    with blame_field("pipelineId"):
        dataset = await read_target(access, target)
    access.require_owner(Role.CONTRIBUTOR, dataset)
    if dataset.state is not State.ENABLED:
        message = f"The reference dataset {dataset.name!r} is {dataset.state.value}."
        raise IllegalState(message, dataset.state.name)
    return DatasetSink(target.id, target.key, dataset.owner)


async def pin_draft(access: Access, draft: Pipeline) -> PinnedPlan:
    """Build the plan of a pipeline that is not saved, as if it were saved and run now.

    Raises Invalid with every broken rule of a save, and otherwise as `pin_plan` does.
    """
    formulas = PIPELINE.formulas(draft)
    if sum(map(len, formulas)) > MAX_FORMULAS:
        formulas = ()  # the check refuses them by their length, so that nothing need parse them
    library = await read_callees(access, draft, formulas)
    found = await resolve_datasets(access, library, formulas)
    unknown = await unknown_dataset_problems(formulas, library, found)
    await check_resource(PIPELINE, draft, library, unknown)
    _require_usable(access, library)
    return _pin_reached(access, draft, library, found)


def _pin_reached(
    access: Access, pipeline: Pipeline, library: CalledCalculations, found: FoundDatasets
) -> PinnedPlan:
    """Pin a valid pipeline to the calculations and datasets that its formulas reach."""
    calls = tuple(ResolvedCall(within, callee, s) for (within, callee), s in library.found.items())
    plan = build_plan(pipeline.transformer, calls, _usable_datasets(access, found))
    plan = replace(plan, rows=row_identity(pipeline))
    return PinnedPlan(plan, (*_calculation_pins(calls), *_dataset_pins(found)))


def build_plan(
    transformer: Transformer,
    calls: tuple[ResolvedCall, ...] = (),
    datasets: tuple[PinnedDataset, ...] = (),
) -> TransformPlan:
    """The plan of a valid transformer, with the calls and datasets of its formulas."""
    columns = [
        Column(one.key, FormulaType(one.type), one.required, one.label)
        for one in transformer.parameters
    ]
    outputs = [(one.formula, output) for one in transformer.transforms for output in one.outputs]
    names = _headings([output for _, output in outputs])
    steps = [
        FormulaStep(formula, name, FormulaType(output.type), output.key)
        for name, (formula, output) in zip(names, outputs, strict=True)
    ]
    ignores = transformer.extra_columns is ExtraColumns.IGNORE
    return TransformPlan(
        tuple(columns),
        tuple(steps),
        calls,
        datasets,
        ignores_extra=ignores,
        iso_timestamps=transformer.timestamps is TimestampForm.ISO_8601,
    )


def row_identity(pipeline: Pipeline) -> RowIdentity | None:
    """The identity of the rows that a valid pipeline keeps; None if it keeps none."""
    rows = pipeline.transformer.rows
    if rows is None:
        return None
    keys = [output.key for one in pipeline.transformer.transforms for output in one.outputs]
    time, group = (None if key is None else keys.index(key) for key in (rows.time, rows.group))
    return RowIdentity(tuple(map(keys.index, rows.key)), time, group, pipeline.owner)


def dataset_identity(dataset: ReferenceDataset) -> str:
    """The identity of one version of a dataset: `<id>:<version>`."""
    return f"{dataset.id}:{dataset.version}"


async def _call_problems(
    pipeline: Pipeline, formulas: Sequence[str], library: CalledCalculations
) -> Sequence[FieldProblem]:
    """The problems of the formulas with the calculations as they are now.

    Without a call nothing can have changed since the pipeline was saved.
    """
    if not any("#" in text for text in formulas):
        return ()
    check = partial(transformer_problems, pipeline.transformer, library)
    return await run_in_formula_thread(check)


def _require_usable(access: Access, library: CalledCalculations) -> None:
    """Refuse a disabled calculation, at any depth: no new execution may use it."""
    for one in library.latest.values():
        if one.state is State.DISABLED:
            # A calculation called by another calculation may be invisible to the caller.
            called = repr(one.name) if access.sees(one) else "out of sight"
            raise IllegalState(f"The calculation {called} is disabled.", one.state.name)


def _calculation_pins(calls: Iterable[ResolvedCall]) -> Sequence[Pin]:
    found = {}
    for call in calls:
        if call.signature is not None:
            id, _, version = call.signature.identity.rpartition(":")
            pin = Pin(kind=CALCULATION.letter, id=id, version=int(version), name=call.callee.name)
            found[call.signature.identity] = pin
    return [pin for _, pin in sorted(found.items())]


def _usable_datasets(access: Access, found: FoundDatasets) -> tuple[PinnedDataset, ...]:
    """The dataset of each name; refuses a disabled one, which no new execution may use."""
    for meant in found.values():
        if meant is not None and meant.latest.state is State.DISABLED:
            named = repr(meant.latest.name) if access.sees(meant.latest) else "out of sight"
            raise IllegalState(f"The reference dataset {named} is disabled.", State.DISABLED.name)
    return tuple(
        PinnedDataset(use.within, use.name, use.pin, dataset_identity(meant.version))
        for use, meant in found.items()
        if meant is not None
    )


def _dataset_pins(found: FoundDatasets) -> Sequence[Pin]:
    kind = REFERENCE_DATASET.letter
    pins = {
        dataset_identity(meant.version): Pin(
            kind=kind, id=meant.version.id, version=meant.version.version, name=use.name
        )
        for use, meant in found.items()
        if meant is not None
    }
    return [pin for _, pin in sorted(pins.items())]


def _request_problem(problem: FieldProblem) -> FieldProblem:
    """The problem in terms of the mutation's input, which has no formulas."""
    place = " ".join(problem.path[1:3]).replace("transforms", "transform")
    return FieldProblem(["pipelineId"], f"{place}, {problem.message}", code=problem.code)


def _headings(outputs: Sequence[Output]) -> Sequence[str]:
    """The heading of each output: its key, else a unique label, else its position."""
    names = Counter(one.key or one.label for one in outputs)
    return [
        one.key
        or (one.label if one.label and names[one.label] == 1 else _positional_heading(n, names))
        for n, one in enumerate(outputs)
    ]


def _positional_heading(n: int, names: Container[str | None]) -> str:
    place = f"output {n}"
    while place in names:
        place += "'"
    return place
