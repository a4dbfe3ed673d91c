"""The calculations that formulas call, read before the formulas are checked or run.

When a formula is saved, a name refers to the resource that the owner group of the calling resource
sees under it, nearest first. The id is kept beside the formula, and the name means that resource
from then on, whatever it is called later. A called calculation may call others in turn, by the ids
that it was saved with.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.access.work import checking_units, formula_units, pattern_units
from penstock.datastore.errors import LimitExceeded
from penstock.datastore.formulas.calculations import calculation_identity, signature_of
from penstock.datastore.formulas.threads import run_in_formula_thread
from penstock.datastore.records import Calculation, Resource
from penstock.datastore.resources.name_resolution import NameReference, NameResolver
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.commit import Write, stale_read
from penstock.datastore.table.layout import CALCULATION
from penstock.datastore.table.port import Compare, Update
from penstock.datastore.text import comparison_form
from penstock.formula.checking.calculation_library import Callee, ResolvedCalculation
from penstock.formula.checking.linker import calls_of
from penstock.formula.core.datasets import VersionPin
from penstock.formula.core.errors import FormulaSyntax
from penstock.formula.core.limits import MAX_CALCULATIONS, MAX_CALL_DEPTH
from penstock.formula.syntax.parser import parse


class ReferenceKey(NamedTuple):
    """A name in a formula: the letter of its kind, its comparison form, and the group in the call.

    Calls of several versions of a resource have the same key.
    """

    kind: str
    name: str
    group: str | None

    @classmethod
    def of(cls, kind: str, name: str, group: str | None) -> "ReferenceKey":
        return cls(kind, comparison_form(name), group)


@dataclass(frozen=True, slots=True)
class CallOrigin:
    """The origin of calls: the identity of the calling calculation, if it is one, and its owner.

    `ids` are the resources that its names were saved for.
    """

    within: str | None
    owner: GroupPath
    ids: Mapping[ReferenceKey, str]

    @classmethod
    def of(cls, resource: Resource) -> "CallOrigin":
        within = calculation_identity(resource) if isinstance(resource, Calculation) else None
        ids = {ReferenceKey(one.kind, one.name, one.group): one.id for one in resource.references}
        return cls(within, resource.owner, ids)

    def mention(self, kind: str, name: str, pin: VersionPin) -> NameReference:
        """The name of a resource of this kind, in a formula of this origin."""
        id = self.ids.get(ReferenceKey.of(kind, name, pin.group))
        return NameReference(self.owner, name, pin, id)


@dataclass(frozen=True, slots=True)
class FormulaCall:
    """A call in one formula."""

    origin: CallOrigin
    callee: Callee

    @property
    def mention(self) -> NameReference:
        return self.origin.mention(CALCULATION.letter, self.callee.name, self.callee.pin)


@dataclass(frozen=True, slots=True)
class CalledCalculations:
    """The calculations that formulas call, directly or through others, for the formula checks.

    `origins` are all calling resources, by their identities. `latest` are the
    called calculations as they are now, by their ids. `standing` are the revisions of the
    calculations that a calculation to be saved reaches.
    """

    found: Mapping[tuple[str | None, Callee], ResolvedCalculation]
    origins: Mapping[str | None, CallOrigin]
    latest: Mapping[str, Calculation]
    standing: Mapping[str, int]

    def find_callee(self, callee: Callee, within: str | None) -> ResolvedCalculation | None:
        return self.found.get((within, callee))

    def formulas(self) -> list[tuple[str, str]]:
        """The formulas of the calculations that were found, each once, with their identities."""
        called = {one.identity: one.formula for one in self.found.values()}
        return list(called.items())

    @property
    def length(self) -> int:
        """The characters of all formulas of the calculations that were found."""
        return sum(len(formula) for _, formula in self.formulas())

    def guard_writes(self) -> list[Write]:
        """Writes that fail the transaction if a called calculation changed since the check.

        Otherwise two calculations that are saved at the same time could call each other in a
        circle, because each is checked against the other's earlier version.
        """
        return [
            # An update without effect: ConditionCheck would need a permission of its own.
            Write(
                Update(
                    key=CALCULATION.latest.key(id=id),
                    default={"revision": revision},
                    condition=Compare("revision", "=", revision),
                ),
                stale_read,
            )
            for id, revision in self.standing.items()
        ]


async def read_callees(
    access: Access, saved: Resource, formulas: Sequence[str]
) -> CalledCalculations:
    """Read the calculations that a resource to be saved or run calls, a level at a time.

    Each level takes one read, and one more before it if it has names without an id. Without a call
    nothing is read. Raises LimitExceeded for more calculations, or deeper calls, than a formula may
    have. The account of the caller pays for the check of all these formulas.
    """
    access.work.spend_more(checking_units(formulas))
    calculation = saved if isinstance(saved, Calculation) else None
    search = _CallSearch(NameResolver(CALCULATION, access, calculation))
    called = await search.follow_calls(CallOrigin.of(saved), formulas)
    access.work.owe(formula_units(0, called.length, sum("#" in text for text in formulas)))
    access.work.owe(pattern_units(text for _, text in called.formulas()))
    return called


async def read_visible_callees(
    access: Access, origin: CallOrigin, formula: str
) -> CalledCalculations:
    """Read the calculations that a formula to be run calls, as far as the caller sees them."""
    return await _CallSearch(NameResolver(CALCULATION, access, for_run=True)).follow_calls(
        origin, [formula]
    )


async def _find_calls(origin: CallOrigin, formulas: Sequence[str]) -> list[FormulaCall]:
    calling = [text for text in formulas if "#" in text]
    callees = await run_in_formula_thread(partial(_find_callees, calling)) if calling else []
    return [FormulaCall(origin, callee) for callee in callees]


def _find_callees(formulas: Iterable[str]) -> list[Callee]:
    """The callees of the formulas, each once; the check of a formula reports its syntax errors."""
    found: dict[Callee, None] = {}
    for text in formulas:
        try:
            found |= dict.fromkeys(calls_of(parse(text)))
        except FormulaSyntax:
            continue
    return list(found)


@dataclass(slots=True)
class _CallSearch:
    """Follows calls from one formula to the next."""

    named: NameResolver[Calculation]
    found: dict[tuple[str | None, Callee], ResolvedCalculation] = field(default_factory=dict)
    origins: dict[str | None, CallOrigin] = field(default_factory=dict)
    latest: dict[str, Calculation] = field(default_factory=dict)
    standing: dict[str, int] = field(default_factory=dict)

    async def follow_calls(self, first: CallOrigin, formulas: Sequence[str]) -> CalledCalculations:
        level = await _find_calls(first, formulas)
        depth = 0
        while level:
            if depth > MAX_CALL_DEPTH:
                raise LimitExceeded("calculations calling each other", MAX_CALL_DEPTH, depth)
            called = await self._resolve(level)
            level = [
                call
                for calculation in called
                for call in await _find_calls(CallOrigin.of(calculation), [calculation.formula])
            ]
            depth += 1
        origins = {**self.origins, first.within: first}
        return CalledCalculations(self.found, origins, self.latest, self.standing)

    async def _resolve(self, level: Sequence[FormulaCall]) -> list[Calculation]:
        """Resolve the calls of a level; return the calculations that were not met before."""
        _check_count(len({call.callee for call in level}))
        meant = await self.named.resolve(call.mention for call in level)
        fresh: dict[str, Calculation] = {}
        for call in level:
            if one := meant.get(call.mention):
                signature = signature_of(one.version, shown=self.named.access.sees(one.latest))
                self.found[call.origin.within, call.callee] = signature
                self.latest[one.latest.id] = one.latest
                if signature.identity not in self.origins:
                    fresh[signature.identity] = one.version
                if self.named.saved is not None and self.named.saved.id != one.latest.id:
                    self.standing.setdefault(one.latest.id, one.latest.revision)
        self.origins |= {identity: CallOrigin.of(one) for identity, one in fresh.items()}
        _check_count(len(self.origins))
        return list(fresh.values())


def _check_count(count: int) -> None:
    if count > MAX_CALCULATIONS:
        raise LimitExceeded("calculations that formulas call", MAX_CALCULATIONS, count)
