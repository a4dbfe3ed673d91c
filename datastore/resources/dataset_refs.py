"""The reference datasets that formulas name, found before the formulas are saved or pinned.

A name refers to the dataset that it was saved for; one that was not, to the dataset that the owner
group of the formula's resource sees, nearest first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem
from penstock.datastore.formulas.calculations import calculation_identity
from penstock.datastore.formulas.checks import field_problem
from penstock.datastore.formulas.threads import run_in_formula_thread
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.records import Calculation, ReferenceDataset
from penstock.datastore.resources.calculation_refs import CalledCalculations
from penstock.datastore.resources.dataset_prefetch import check_dataset_count, check_dataset_sizes
from penstock.datastore.resources.name_resolution import NameReference, NameResolver, ResolvedName
from penstock.datastore.table.layout import REFERENCE_DATASET
from penstock.formula.checking.calculation_library import Callee, ResolvedCall
from penstock.formula.checking.dataset_uses import dataset_calls, dataset_use, datasets_of
from penstock.formula.checking.linker import reachable_calls
from penstock.formula.core.datasets import VersionPin, unknown_dataset
from penstock.formula.core.errors import (
    FormulaCode,
    FormulaProblem,
    FormulaSyntax,
    Position,
    problem,
)
from penstock.formula.syntax.parser import parse
from penstock.formula.syntax.tree import CalculationCall, Formula, walk


class FormulaDatasetUse(NamedTuple):
    """A dataset name in a formula.

    `within` is the identity of the calculation with the formula, None for a pipeline's own formula.
    """

    within: str | None
    name: str
    pin: VersionPin

    def mention(self, library: CalledCalculations) -> NameReference:
        return library.origins[self.within].mention(REFERENCE_DATASET.letter, self.name, self.pin)


ResolvedDatasets = Mapping[FormulaDatasetUse, ResolvedName[ReferenceDataset] | None]
"""The dataset of each use, None where it does not exist."""

NO_DATASETS: Final[ResolvedDatasets] = {}


def find_dataset_uses(formulas: Iterable[tuple[str | None, str]]) -> list[FormulaDatasetUse]:
    """The dataset names that are literals in the formulas, each given with its calculation."""
    found: dict[FormulaDatasetUse, None] = {}
    for within, text in formulas:
        with suppress(FormulaSyntax):  # the check or the compiler reports it
            uses = datasets_of(parse(text)) if "'" in text else ()
            named = (
                FormulaDatasetUse(within, use.name, use.pin) for use in uses if use.name is not None
            )
            found |= dict.fromkeys(named)
    return list(found)


async def resolve_datasets(
    access: Access, library: CalledCalculations, formulas: Sequence[str]
) -> ResolvedDatasets:
    """Resolve the datasets of a pipeline's formulas and of all calculations that they reach.

    A server without a bucket has no datasets: nothing is resolved, because nothing can run. Raises
    LimitExceeded for too many or too large ones, StaleRead as `NameResolver` does.
    """
    if access.files is NO_FILES:
        return NO_DATASETS
    written = [*((None, text) for text in formulas), *library.formulas()]
    uses = await run_in_formula_thread(partial(find_dataset_uses, written))
    check_dataset_count(len({use.mention(library) for use in uses}))
    found = await resolve_uses(access, library, uses)
    versions = {(one.version.id, one.version.version): one.version for one in found.values() if one}
    check_dataset_sizes(versions.values())
    return found


async def find_own_datasets(
    access: Access, library: CalledCalculations, calculation: Calculation
) -> ResolvedDatasets:
    """Find the datasets that a calculation's own formula names; it may be saved before its data."""
    within = calculation_identity(calculation)
    written = [(within, calculation.formula)]
    uses = await run_in_formula_thread(partial(find_dataset_uses, written))
    return await resolve_uses(access, library, uses)


async def resolve_uses(
    access: Access, library: CalledCalculations, uses: Sequence[FormulaDatasetUse]
) -> ResolvedDatasets:
    """Resolve the names of datasets in formulas; None for those that mean nothing."""
    meant = await NameResolver(REFERENCE_DATASET, access).resolve(
        use.mention(library) for use in uses
    )
    return {use: meant.get(use.mention(library)) for use in uses}


async def unknown_dataset_problems(
    formulas: Sequence[str], library: CalledCalculations, found: ResolvedDatasets
) -> list[FieldProblem]:
    """List the unknown datasets of each transform's formula, also in its callees."""
    unknown = [use for use, meant in found.items() if meant is None]
    if not unknown:
        return []
    return await run_in_formula_thread(partial(_problems, formulas, library, unknown))


def _problems(
    formulas: Sequence[str], library: CalledCalculations, unknown: Sequence[FormulaDatasetUse]
) -> list[FieldProblem]:
    known: dict[str, tuple[Callee, ...]] = {}
    return [
        field_problem(("transformer", "transforms", str(n), "formula"), found)
        for n, text in enumerate(formulas)
        for found in _formula_problems(text, library, unknown, known)
    ]


def _formula_problems(
    text: str,
    library: CalledCalculations,
    unknown: Sequence[FormulaDatasetUse],
    known: dict[str, tuple[Callee, ...]],
) -> list[FormulaProblem]:
    try:
        formula = parse(text)
    except FormulaSyntax:
        return []
    unknown_uses = [
        *_unknown_in_formula(formula, unknown),
        *_unknown_in_callees(formula, reachable_calls(formula, library, None, known), unknown),
    ]
    return [problem(text, FormulaCode.UNKNOWN_DATASET, message, at) for at, message in unknown_uses]


def _unknown_in_formula(
    formula: Formula, unknown: Sequence[FormulaDatasetUse]
) -> Iterator[tuple[Position, str]]:
    for node in dataset_calls(formula):
        use = dataset_use(node)
        if (None, use.name, use.pin) in unknown:
            yield node.at, unknown_dataset(str(use.name)).message


def _unknown_in_callees(
    formula: Formula, reached: Sequence[ResolvedCall], unknown: Sequence[FormulaDatasetUse]
) -> Iterator[tuple[Position, str]]:
    """Report the unknown datasets of callees, by name only if the caller sees the calculation.

    Which call leads there is not known, so the position is that of the first call.
    """
    calls = [node.at for node in walk(formula) if isinstance(node, CalculationCall)]
    met = {one.signature.identity: one for one in reached if one.signature}
    for use in unknown:
        if (call := met.get(use.within or "")) and call.signature:
            known = call.signature.shown
            who = f"#{call.callee.name}" if known else "a calculation out of sight"
            what = unknown_dataset(use.name).message if known else "it looks up what is not there"
            yield calls[0], f"{who} cannot be used: {what}"
