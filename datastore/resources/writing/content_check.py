"""The check of a resource's content before it is saved, with the ids of whatever it names."""

from collections.abc import Sequence
from typing import TypeVar, cast

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem
from penstock.datastore.formulas.checks import MAX_FORMULAS, NO_LIBRARY
from penstock.datastore.records import Calculation, Metric, Resource
from penstock.datastore.resources.calculation_refs import read_callees
from penstock.datastore.resources.dataset_refs import (
    NO_DATASETS,
    find_own_datasets,
    resolve_datasets,
    unknown_dataset_problems,
)
from penstock.datastore.resources.dataset_targets.targets import check_target
from penstock.datastore.resources.formula_references import saved_references
from penstock.datastore.resources.metric_sources import settle_inputs
from penstock.datastore.resources.rules import check_resource
from penstock.datastore.table.commit import Write
from penstock.datastore.table.layout import KindDefinition

R = TypeVar("R", bound=Resource)


async def check_content(
    kind: KindDefinition[R], access: Access, resource: R, noted: Sequence[FieldProblem]
) -> tuple[R, Sequence[Write]]:
    """Check the content; return it with the ids of what it names.

    Returns also the writes that guard what it is made of. Raises Invalid with all problems.
    """
    if isinstance(resource, Metric):
        settled = await settle_inputs(access, resource)
        problems = [*noted, *settled.problems]
        await check_resource(kind, cast("R", settled.metric), NO_LIBRARY, problems)
        return cast("R", settled.metric), settled.guards
    return await _check_formulas(kind, access, resource, noted)


async def _check_formulas(
    kind: KindDefinition[R], access: Access, resource: R, noted: Sequence[FieldProblem]
) -> tuple[R, Sequence[Write]]:
    formulas = kind.formulas(resource)
    if sum(map(len, formulas)) > MAX_FORMULAS:
        formulas = ()  # the check refuses them by their length, so that nothing need parse them
    called = await read_callees(access, resource, formulas)
    found = NO_DATASETS
    # A kind that runs must find its datasets; a calculation may exist before its data.
    if kind.execution_count is not None:
        found = await resolve_datasets(access, called, formulas)
        noted = [*noted, *await unknown_dataset_problems(formulas, called, found)]
    written, unknown = await check_target(access, resource)
    await check_resource(kind, resource, called, [*noted, *unknown])
    if isinstance(resource, Calculation):
        found = await find_own_datasets(access, called, resource)
    references = (*written, *saved_references(resource, called, found))
    return replace(resource, references=references), called.guard_writes()
