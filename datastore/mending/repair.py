"""Repairs what `differences` found, one transaction each, which fails if something else writes.

A derived row is made anew from its source as it is now; the transaction checks that the source
keeps its revision. A count is set only if it is still what both scans found.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.datastore.mending.derivations import REVISIONS, derive
from penstock.datastore.mending.differences import Differences, RowDifference
from penstock.datastore.quotas.usage import listed_row
from penstock.datastore.recount import CountDifference
from penstock.datastore.table.commit import Attempts
from penstock.datastore.table.layout import (
    EXECUTION_COUNT,
    GROUP,
    GROUP_COUNT,
    KEPT,
    MANIFEST,
    MANIFEST_COUNT,
    USE_COUNT,
)
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Attributes,
    Check,
    Compare,
    Condition,
    ConditionFailed,
    Delete,
    Item,
    Key,
    Missing,
    Operation,
    Put,
    Table,
    Update,
    key_of,
)

_KEPT: Final = tuple(f"{row.pk.leader}:" for row in (GROUP, GROUP_COUNT, MANIFEST, MANIFEST_COUNT))
"""Rows that stay where they count nothing: they say that a group or a manifest exists."""

_GUARDS: Final = frozenset((EXECUTION_COUNT.sk.text, USE_COUNT.sk.text))
"""Counts that also say whether anything new may be counted, and so stay at zero."""


class RepairResult(NamedTuple):
    """The numbers of differences that were repaired, and that are left: something wrote there."""

    repaired: int
    left: int


@dataclass(frozen=True, slots=True)
class Repair:
    """Repairs differences of one table."""

    table: Table

    async def run(self, found: Differences) -> RepairResult:
        """Repair all; what a write changed meanwhile is left to the next recount."""
        done = [await self._repair_row(one) for one in found.rows]
        done += [await self._repair_count(one, found.labels.get(one.key)) for one in found.counts]
        return RepairResult(sum(done), len(done) - sum(done))

    async def _repair_row(self, found: RowDifference) -> bool:
        async for _ in Attempts():
            rows = (await self.table.get([found.source, found.key], consistent=True)).items
            source, standing = rows.get(found.source), rows.get(found.key)
            wanted = _wanted_row(source, found.key)
            if wanted == (None if standing is None else dict(standing)):
                return True
            if _is_claim_of_another(wanted, standing):
                return False
            change: Operation = Delete(found.key) if wanted is None else Put(wanted)
            try:
                await self.table.transact([Check(found.source, _keeps_revision(source)), change])
            except ConditionFailed:
                continue
            return True
        return False

    async def _repair_count(self, found: CountDifference, labels: Item | None) -> bool:
        if found.wanted or found.key.pk.startswith(_KEPT) or found.key.sk in _GUARDS:
            change: Operation = _set_count(found, labels or {})
        else:
            change = Delete(found.key, _stands(found))
        more: list[Operation] = []
        if labels and _is_kept(found.key):
            more.append(Put(listed_row({**found.key._asdict(), **labels})))
        try:
            await self.table.transact([change, *more])
        except ConditionFailed:
            return False
        return True


def _is_kept(key: Key) -> bool:
    """Whether a count is one of quotas, which the list of its user names."""
    return key.pk.startswith(f"{KEPT.pk.leader}:")


def _wanted_row(source: Attributes | None, key: Key) -> Item | None:
    if source is None:
        return None
    return next((row for row in derive(source).rows if key_of(row) == key), None)


def _is_claim_of_another(wanted: Item | None, standing: Attributes | None) -> bool:
    """Whether another resource holds the name: which of them shall have it, only people know."""
    if standing is None or "id" not in standing:
        return False
    return wanted is not None and wanted.get("id") != standing["id"]


def _keeps_revision(source: Attributes | None) -> Condition:
    if source is None:
        return Missing()
    name = next(name for name in REVISIONS if name in source)
    return Compare(name, "=", int(str(source[name])))


def _stands(found: CountDifference) -> Condition:
    """The counts are still those that were found."""
    names = sorted({*found.wanted, *found.standing})
    return AllOf(tuple(_counts_to(name, found.standing.get(name, 0)) for name in names))


def _counts_to(name: str, count: int) -> Condition:
    """A count is `count`; a count of zero may be missing."""
    same = Compare(name, "=", count)
    return same if count else AnyOf((Missing(name), same))


def _set_count(found: CountDifference, labels: Item) -> Update:
    zero = [name for name in found.standing if name not in found.wanted]
    is_guard = found.key.sk in _GUARDS
    return Update(
        key=found.key,
        set={**found.wanted, **(dict.fromkeys(zero, 0) if is_guard else {})},
        default={name: value for name, value in labels.items() if name not in found.wanted},
        remove=() if is_guard else tuple(zero),
        condition=_stands(found),
    )
