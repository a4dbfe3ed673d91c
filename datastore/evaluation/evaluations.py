"""Prepare calculations for evaluation: a saved version, or a draft that is not saved yet."""

from asyncio import to_thread
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.datasets.table_cache import DatasetTables
from penstock.datastore.errors import IllegalState, Invalid, NotFound
from penstock.datastore.evaluation.evaluator import Prepared
from penstock.datastore.formulas.calculations import calculation_problems, identity_of, signature_of
from penstock.datastore.formulas.transformers import located
from penstock.datastore.records import Calculation, Output, Parameter, State
from penstock.datastore.resources.calculation_refs import Callees, Origin, library_seen
from penstock.datastore.resources.dataset_prefetch import Lookups
from penstock.datastore.resources.dataset_refs import uses_of
from penstock.datastore.resources.reading import Reading
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
    tables: DatasetTables

    async def of_id(self, id: str, version: int | None) -> tuple[Calculation, Prepared]:
        """Prepare a version of a calculation, the latest if None: get latest, or get version too.

        Also returns the calculation as of that version. Raises IllegalState if the calculation is
        not enabled.
        """
        return await self._of(await Reading(CALCULATION, self.access).one(id), version)

    async def of_name(
        self, name: str, group: GroupPath | None, version: int | None
    ) -> tuple[Calculation, Prepared]:
        """Prepare a version of the calculation that the group sees under the name."""
        return await self._of(await Reading(CALCULATION, self.access).by_name(name, group), version)

    async def of_draft(
        self,
        group: GroupPath | None,
        formula: str,
        parameters: Sequence[Parameter],
        outputs: Sequence[Output],
    ) -> Prepared:
        """Prepare a calculation as it would be saved in the group.

        Raises Invalid if it could not be saved.
        """
        group = self.access.seen_group(group)
        await self.access.require_group(group)
        draft = _draft(group, formula, parameters, outputs)
        library = await library_seen(self.access, _origin(draft), formula)
        if problems := await to_thread(calculation_problems, draft, library):
            raise Invalid(located(["draft"], problems))
        return await self._prepared(draft, library, ("draft", "formula"))

    async def _of(self, latest: Calculation, version: int | None) -> tuple[Calculation, Prepared]:
        if latest.state is not State.ENABLED:
            message = f"It is {latest.state.value}: it cannot be evaluated."
            raise IllegalState(message, latest.state.name)
        found = latest if version is None else await self._numbered(latest, version)
        library = await library_seen(self.access, _origin(found), found.formula)
        return found, await self._prepared(found, library, ("calculation",))

    async def _numbered(self, latest: Calculation, version: int) -> Calculation:
        (found,) = await Versions(CALCULATION, self.access).numbered([(latest, version)])
        if isinstance(found, NotFound):
            raise found
        return found

    async def _prepared(
        self, calculation: Calculation, library: Callees, path: tuple[str, ...]
    ) -> Prepared:
        signature = signature_of(calculation)
        around = Surroundings(
            signature.parameters, signature.output, library, within=signature.identity
        )
        formulas = [*library.formulas(), (signature.identity, calculation.formula)]
        lookups = Lookups(self.access, self.tables, library.owners)
        uses = await to_thread(uses_of, formulas)
        await lookups.read(use.mention(library) for use in uses)
        return Prepared(calculation.formula, around, lookups, path)


def _origin(calculation: Calculation) -> Origin:
    return Origin(identity_of(calculation), calculation.owner)


def _draft(
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
