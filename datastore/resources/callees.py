"""The calculations that formulas call, read before the formulas are checked.

A name means what the owner group of the calling resource sees under it, nearest first. What is
called may call others in turn, by the names that its own owner group sees.
"""

from asyncio import gather, to_thread
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from datastore.calculations import identity_of, signature_of
from datastore.clock import canonical
from datastore.commit import Moved, Write, moved
from datastore.errors import BadInput, LimitExceeded, NotFound
from datastore.items import load
from datastore.layout import CALCULATION, NAME
from datastore.paths import GroupPath, ancestors, covers, parse_group_path
from datastore.records import Calculation, Resource
from datastore.resources.rows import read_rows
from datastore.resources.scope import Scope
from datastore.resources.versions import Versions
from datastore.rules import MAX_NAME
from datastore.table import Compare, Item, Key, Update
from datastore.text import comparison_form
from formula.calls import Callee, Signature
from formula.errors import FormulaSyntax
from formula.limits import MAX_CALCULATIONS, MAX_CALL_DEPTH
from formula.link import calls_of
from formula.parse import parse


@dataclass(frozen=True, slots=True)
class Call:
    """A call as one formula means it: `within` is the identity of the calculation, if it is one."""

    within: str | None
    owner: GroupPath
    callee: Callee


@dataclass(frozen=True, slots=True)
class Callees:
    """What was read, as the checks of formulas ask for it.

    `standing` are the revisions of the calculations that a calculation to be saved reaches.
    """

    found: Mapping[tuple[str | None, Callee], Signature]
    standing: Mapping[str, int]

    def callees(self, callee: Callee, within: str | None) -> Signature | None:
        return self.found.get((within, callee))

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


async def library_for(scope: Scope, saved: Resource, formulas: Sequence[str]) -> Callees:
    """Read what the formulas of a resource that is about to be saved call, a level at a time.

    Each level is two reads one after another. Without a call nothing is read. More calculations, or
    deeper ones, than a formula may call are refused with LimitExceeded.
    """
    within = identity_of(saved) if isinstance(saved, Calculation) else None
    search = _Search(scope, saved)
    level = await _calls(within, saved.owner, formulas)
    depth = 0
    while level:
        if depth > MAX_CALL_DEPTH:
            raise LimitExceeded("calculations calling each other", MAX_CALL_DEPTH, depth)
        called = await search.resolve(level)
        level = [
            call
            for calculation in called
            for call in await _calls(
                identity_of(calculation), calculation.owner, [calculation.formula]
            )
        ]
        depth += 1
    return Callees(search.found, search.standing)


async def _calls(within: str | None, owner: GroupPath, formulas: Sequence[str]) -> list[Call]:
    calling = [text for text in formulas if "#" in text]
    callees = await to_thread(_callees, calling) if calling else []
    return [Call(within, owner, callee) for callee in callees]


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
    """Finds calculations while `saved` is about to take the place of its earlier version."""

    scope: Scope
    saved: Resource
    found: dict[tuple[str | None, Callee], Signature] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    standing: dict[str, int] = field(default_factory=dict)

    async def resolve(self, level: Sequence[Call]) -> list[Calculation]:
        """Find what the calls of a level mean; return what was not met before."""
        _require_few(len({call.callee for call in level}))
        ids = await self._ids(level)
        latest = await self._latest(set(ids.values()))
        now = [latest.get(ids.get(call, "")) for call in level]
        meant = await gather(
            *(self._version(one, call) for one, call in zip(now, level, strict=True))
        )
        fresh: dict[str, Calculation] = {}
        for call, one, calculation in zip(level, now, meant, strict=True):
            if one is not None and calculation is not None:
                signature = signature_of(calculation, shown=self.scope.sees(one))
                self.found[call.within, call.callee] = signature
                if signature.identity not in self.seen:
                    fresh[signature.identity] = calculation
        self.seen |= fresh.keys()
        _require_few(len(self.seen))
        return list(fresh.values())

    async def _ids(self, level: Sequence[Call]) -> dict[Call, str]:
        """Get by name: BatchGet of `AID:C:<name>, G:<group>` over the chains of all the calls."""
        chains = {call: _chain(call) for call in level}
        keys = [key for chain in chains.values() for key in chain]
        rows = await read_rows(self.scope.table, keys, consistent=True)
        found = {}
        for call, chain in chains.items():
            holders = (self._holder(key, rows.get(key, {})) for key in chain)
            if id := next(filter(None, holders), None):
                found[call] = id
        return found

    def _holder(self, key: Key, row: Item) -> str | None:
        """Who will hold the name there once the resource is saved."""
        if isinstance(self.saved, Calculation):
            claims = {_name_key(self.saved.name, group) for group in self.saved.groups}
            if key in claims:
                return self.saved.id
        holder = row.get("id")
        return str(holder) if holder not in (None, self.saved.id) else None

    async def _latest(self, ids: set[str]) -> dict[str, Calculation]:
        """Get latest: `pk = C:<id>, sk = C`, batched; groups decided what is meant."""
        keys = {CALCULATION.latest.key(id=id): id for id in ids - {self.saved.id}}
        rows = await read_rows(self.scope.table, keys, consistent=True)
        found = {
            keys[key]: load(Calculation, item, id=keys[key])
            for key, item in rows.items()
            if "deletedAt" not in item
        }
        if not isinstance(self.saved, Calculation):
            return found
        for id, one in found.items():
            self.standing.setdefault(id, one.revision)
        return found | {self.saved.id: self.saved}

    async def _version(self, latest: Calculation | None, call: Call) -> Calculation | None:
        """The version that the call names, if there is one."""
        pin = call.callee.pin
        if latest is None:
            return None
        if not {_name_key(latest.name, group) for group in latest.groups} & {*_chain(call)}:
            # It was renamed or revoked since the name was looked up.
            raise Moved
        versions = Versions(CALCULATION, self.scope)
        if pin.version is not None and pin.version != latest.version:
            (version,) = await versions.numbered([(latest, pin.version)])
            return None if isinstance(version, NotFound) else version
        if pin.version_as_at is None:
            return latest
        try:
            at = canonical(_time(pin.version_as_at))
            return await versions.as_at(latest, at)
        except (NotFound, ValueError, OverflowError):
            return None


def _chain(call: Call) -> list[Key]:
    """Where the name may be held, nearest first.

    Another group that the call names lies on one line with the owner: what is elsewhere, those who
    see the caller's formula may not know of.
    """
    name, group = call.callee.name, call.owner
    if len(name) > MAX_NAME:
        return []
    if call.callee.pin.group is not None:
        try:
            group = parse_group_path(call.callee.pin.group)
        except BadInput:
            return []
    if not covers(group, call.owner) and not covers(call.owner, group):
        return []
    return [_name_key(name, above) for above in reversed(ancestors(group))]


def _name_key(name: str, group: GroupPath) -> Key:
    return NAME.key(kind=CALCULATION.letter, name=comparison_form(name), group=group)


def _time(text: str) -> datetime:
    """A time as a formula writes it; in UTC where it names no zone."""
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _require_few(count: int) -> None:
    if count > MAX_CALCULATIONS:
        raise LimitExceeded("calculations that formulas call", MAX_CALCULATIONS, count)
