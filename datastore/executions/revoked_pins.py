"""The search for what an execution uses and its formulas may use no more, because of a revoke.

The plan of an execution was pinned when it was created. Before it begins, also again, each formula
must still see what it calls and looks up. What was deleted since is used as it was.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.errors import NotPermitted
from penstock.datastore.executions.reading import find_plan
from penstock.datastore.executions.records import Execution
from penstock.datastore.records import Calculation, ReferenceDataset, Resource
from penstock.datastore.resources.name_resolution import NameReference, is_in_reach
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.items import load, read_rows
from penstock.datastore.table.layout import CALCULATION, REFERENCE_DATASET, KindDefinition
from penstock.datastore.table.tombstones import is_alive
from penstock.formula.core.datasets import VersionPin
from penstock.transform.plan import TransformPlan

_Kind = KindDefinition[Calculation] | KindDefinition[ReferenceDataset]


class _Use(NamedTuple):
    """A name in a formula, and the id that it means; `within` is the id of its calculation."""

    within: str | None
    name: str
    pin: VersionPin
    id: str


async def require_pins(access: Access, owner: GroupPath, execution: Execution) -> None:
    """Refuse to begin an execution that uses what was revoked since it was created."""
    if await has_revoked_pins(access, owner, execution):
        raise NotPermitted("It uses what was revoked since it was created.")


async def has_revoked_pins(access: Access, owner: GroupPath, execution: Execution) -> bool:
    """Whether a formula of a pipeline of this owner, or below it, uses what was revoked."""
    plan = await find_plan(access.table, execution.id) if execution.pins else None
    if plan is None:
        return False
    calls, lookups = [*_calls_of(plan)], [*_lookups_of(plan)]
    callers = (use.within for use in chain(calls, lookups) if use.within is not None)
    calculations = await _read_latest(access, CALCULATION, chain((u.id for u in calls), callers))
    datasets = await _read_latest(access, REFERENCE_DATASET, (use.id for use in lookups))
    owners: dict[str | None, GroupPath] = {id: one.owner for id, one in calculations.items()}
    owners[None] = owner
    return any(
        use.within in owners
        and not is_in_reach(NameReference(owners[use.within], use.name, use.pin), found[use.id])
        for uses, found in ((calls, calculations), (lookups, datasets))
        for use in uses
        if use.id in found
    )


def _calls_of(plan: TransformPlan) -> Iterator[_Use]:
    for one in plan.calls:
        if one.signature is not None:
            callee, id = one.callee, _id_in(one.signature.identity)
            yield _Use(_caller_in(one.within), callee.name, callee.pin, id)


def _lookups_of(plan: TransformPlan) -> Iterator[_Use]:
    for one in plan.datasets:
        yield _Use(_caller_in(one.within), one.name, one.pin, _id_in(one.identity))


def _caller_in(within: str | None) -> str | None:
    return None if within is None else _id_in(within)


def _id_in(identity: str) -> str:
    """The id of a version's identity, `<id>:<version>`."""
    return identity.rpartition(":")[0]


async def _read_latest(access: Access, kind: _Kind, ids: Iterable[str]) -> dict[str, Resource]:
    """Get latest: `pk = C:<id>, sk = C`, batched; what was deleted is left out."""
    keys = {kind.latest.key(id=id): id for id in set(ids)}
    rows = await read_rows(access.table, keys, consistent=True)
    return {
        keys[key]: load(kind.record, row, id=keys[key])
        for key, row in rows.items()
        if is_alive(row)
    }
