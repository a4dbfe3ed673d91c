"""Prepare calculations for evaluation: a saved version, or a draft that is not saved yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import checking_units
from penstock.datastore.datasets.table_cache import DatasetTableCache
from penstock.datastore.errors import IllegalState, Invalid
from penstock.datastore.evaluation.evaluator import PreparedFormula
from penstock.datastore.formulas.calculations import calculation_problems, signature_of
from penstock.datastore.formulas.threads import run_in_formula_thread
from penstock.datastore.formulas.transformers import prefix_paths
from penstock.datastore.records import Calculation, Output, Parameter, State
from penstock.datastore.resources.calculation_refs import (
    CalledCalculations,
    CallOrigin,
    read_visible_callees,
)
from penstock.datastore.resources.dataset_prefetch import PrefetchedDatasets
from penstock.datastore.resources.dataset_refs import find_dataset_uses
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.resources.version_labels.labels import LATEST, VersionName
from penstock.datastore.resources.versions import Versions
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import CALCULATION
from penstock.formula.checking.check import Surroundings


@dataclass(frozen=True, slots=True)
class Evaluations:
    """Prepares formulas for evaluation, within what the caller may see.

    A calculation or dataset that the caller may not see counts as one that does not exist.
    """

    access: Access
    tables: DatasetTableCache

    async def prepare_by_id(
        self, id: str, version: VersionName = LATEST
    ) -> tuple[Calculation, PreparedFormula]:
        """Prepare a version of a calculation: get latest, and get version if it is an earlier one.

        Also returns the calculation as of that version. Raises IllegalState if the calculation is
        not enabled.
        """
        return await self._prepare_version(
            await ResourceReader(CALCULATION, self.access).one(id), version
        )

    async def prepare_by_name(
        self, name: str, group: GroupPath | None, version: VersionName = LATEST
    ) -> tuple[Calculation, PreparedFormula]:
        """Prepare a version of the calculation that the group sees under the name."""
        return await self._prepare_version(
            await ResourceReader(CALCULATION, self.access).by_name(name, group), version
        )

    async def prepare_draft(
        self,
        group: GroupPath | None,
        formula: str,
        parameters: Sequence[Parameter],
        outputs: Sequence[Output],
    ) -> PreparedFormula:
        """Prepare a calculation as it would be saved in the group.

        Raises Invalid if it could not be saved.
        """
        group = self.access.require_visible_group(group)
        await self.access.require_group(group)
        draft = _draft_calculation(group, formula, parameters, outputs)
        self.access.work.spend_more(checking_units([formula]))
        library = await read_visible_callees(self.access, CallOrigin.of(draft), formula)
        check = partial(calculation_problems, draft, library)
        if problems := await run_in_formula_thread(check):
            raise Invalid(prefix_paths(["draft"], problems))
        return await self._prepare(draft, library, ("draft", "formula"))

    async def _prepare_version(
        self, latest: Calculation, version: VersionName
    ) -> tuple[Calculation, PreparedFormula]:
        if latest.state is not State.ENABLED:
            message = f"It is {latest.state.value}: it cannot be evaluated."
            raise IllegalState(message, latest.state.name)
        found = await Versions(CALCULATION, self.access).read_named(latest, version)
        self.access.work.spend_more(checking_units([found.formula]))
        library = await read_visible_callees(self.access, CallOrigin.of(found), found.formula)
        return found, await self._prepare(found, library, ("calculation",))

    async def _prepare(
        self, calculation: Calculation, library: CalledCalculations, path: tuple[str, ...]
    ) -> PreparedFormula:
        self.access.work.owe(checking_units(text for _, text in library.formulas()))
        signature = signature_of(calculation)
        around = Surroundings(
            signature.parameters, signature.output, library, within=signature.identity
        )
        formulas = [*library.formulas(), (signature.identity, calculation.formula)]
        lookups = PrefetchedDatasets(self.access, self.tables, library.origins)
        uses = await run_in_formula_thread(partial(find_dataset_uses, formulas))
        await lookups.read(use.mention(library) for use in uses)
        length = len(calculation.formula) + library.length
        return PreparedFormula(calculation.formula, around, lookups, path, length, self.access.work)


def _draft_calculation(
    group: GroupPath, formula: str, parameters: Sequence[Parameter], outputs: Sequence[Output]
) -> Calculation:
    """The calculation that a save would make; its identity belongs to no other calculation."""
    return Calculation(
        id="draft",
        name="draft",
        formula=formula,
        parameters=tuple(parameters),
        outputs=tuple(outputs),
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
