"""The calculations that formulas call, read before the formulas are checked or run.

A name means what the owner group of the calling resource sees under it, nearest first. What is
called may call others in turn, by the names that its own owner group sees.
"""

from asyncio import to_thread
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.errors import LimitExceeded
from penstock.datastore.formulas.calculations import identity_of, signature_of
from penstock.datastore.records import Calculation, Resource
from penstock.datastore.resources.name_resolution import Mention, Named
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import CALCULATION
from penstock.datastore.table.port import Compare, Update
from penstock.datastore.table.transaction import Write, moved
from penstock.formula.checking.calculation_library import Callee, Signature
from penstock.formula.checking.linker import calls_of
from penstock.formula.core.errors import FormulaSyntax
from penstock.formula.core.limits import MAX_CALCULATIONS, MAX_CALL_DEPTH
from penstock.formula.syntax.parser import parse


class Origin(NamedTuple):
    """Whose formulas call: the identity of the calculation, if it is one, and its owner group."""

    within: str | None
    owner: GroupPath


@dataclass(frozen=True, slots=True)
class Call:
    """A call as one formula means it."""

    origin: Origin
    callee: Callee

    @property
    def mention(self) -> Mention:
        return Mention(self.origin.owner, self.callee.name, self.callee.pin)


@dataclass(frozen=True, slots=True)
class Callees:
    """What was read, as the checks of formulas ask for it.

    `owners` are the owner groups of all whose formulas were reached, by their identities;
    `latest` are the calculations among them as they are now, by their ids; `standing` are the
    revisions of the calculations that a calculation to be saved reaches.
    """

    found: Mapping[tuple[str | None, Callee], Signature]
    owners: Mapping[str | None, GroupPath]
    latest: Mapping[str, Calculation]
    standing: Mapping[str, int]

    def callees(self, callee: Callee, within: str | None) -> Signature | None:
        return self.found.get((within, callee))

    def formulas(self) -> list[tuple[str, str]]:
        """The formulas of the calculations that were found, each once, with their identities."""
        called = {one.identity: one.formula for one in self.found.values()}
        return list(called.items())

    def unchanged(self) -> list[Write]:
        """Let a transaction happen only while what was checked still stands.

        Else two that are saved at the same time could call each other in a circle, as each is
        checked against the other as it was before.
        """
        return [
            # Changes nothing: a check would need a permission that nothing else does.
            Write(
                Update(
                    key=CALCULATION.latest.key(id=id),
                    default={"revision": revision},
                    condition=Compare("revision", "=", revision),
                ),
                moved,
            )
            for id, revision in self.standing.items()
        ]


async def library_for(access: Access, saved: Resource, formulas: Sequence[str]) -> Callees:
    """Read what the formulas of a resource that is about to be saved call, a level at a time.

    Each level is two reads one after another. Without a call nothing is read. More calculations, or
    deeper ones, than a formula may call are refused with LimitExceeded.
    """
    calculation = saved if isinstance(saved, Calculation) else None
    within = None if calculation is None else identity_of(calculation)
    search = _Search(Named(CALCULATION, access, calculation))
    return await search.reach(Origin(within, saved.owner), formulas)


async def library_seen(access: Access, origin: Origin, formula: str) -> Callees:
    """Read what a formula that is about to be run calls, likewise, as far as the caller sees it."""
    return await _Search(Named(CALCULATION, access, run=True)).reach(origin, [formula])


async def _calls(origin: Origin, formulas: Sequence[str]) -> list[Call]:
    calling = [text for text in formulas if "#" in text]
    callees = await to_thread(_callees, calling) if calling else []
    return [Call(origin, callee) for callee in callees]


def _callees(formulas: Iterable[str]) -> list[Callee]:
    """What the formulas call, each once; one that cannot be read is told of later."""
    found: dict[Callee, None] = {}
    for text in formulas:
        try:
            found |= dict.fromkeys(calls_of(parse(text)))
        except FormulaSyntax:
            continue
    return list(found)


@dataclass(slots=True)
class _Search:
    """Follows calls from one formula to the next."""

    named: Named[Calculation]
    found: dict[tuple[str | None, Callee], Signature] = field(default_factory=dict)
    owners: dict[str | None, GroupPath] = field(default_factory=dict)
    latest: dict[str, Calculation] = field(default_factory=dict)
    standing: dict[str, int] = field(default_factory=dict)

    async def reach(self, first: Origin, formulas: Sequence[str]) -> Callees:
        level = await _calls(first, formulas)
        depth = 0
        while level:
            if depth > MAX_CALL_DEPTH:
                raise LimitExceeded("calculations calling each other", MAX_CALL_DEPTH, depth)
            called = await self._resolve(level)
            level = [
                call
                for calculation in called
                for call in await _calls(
                    Origin(identity_of(calculation), calculation.owner), [calculation.formula]
                )
            ]
            depth += 1
        owners = {**self.owners, first.within: first.owner}
        return Callees(self.found, owners, self.latest, self.standing)

    async def _resolve(self, level: Sequence[Call]) -> list[Calculation]:
        """Find what the calls of a level mean; return what was not met before."""
        _require_few(len({call.callee for call in level}))
        meant = await self.named.find(call.mention for call in level)
        fresh: dict[str, Calculation] = {}
        for call in level:
            if one := meant.get(call.mention):
                signature = signature_of(one.version, shown=self.named.access.sees(one.latest))
                self.found[call.origin.within, call.callee] = signature
                self.latest[one.latest.id] = one.latest
                if signature.identity not in self.owners:
                    fresh[signature.identity] = one.version
                if self.named.saved is not None and self.named.saved.id != one.latest.id:
                    self.standing.setdefault(one.latest.id, one.latest.revision)
        self.owners |= {identity: one.owner for identity, one in fresh.items()}
        _require_few(len(self.owners))
        return list(fresh.values())


def _require_few(count: int) -> None:
    if count > MAX_CALCULATIONS:
        raise LimitExceeded("calculations that formulas call", MAX_CALCULATIONS, count)
