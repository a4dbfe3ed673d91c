"""Quotas: how much each group, with all below it, and each user may keep.

A write that adds something is admitted before it is sent. Far from a maximum that takes no write:
what is used was added up some seconds ago. Near it, the room that is left stands in a row, the
gate, from which each write takes its part in its own transaction, so that nobody takes more than
there is. A gate that is empty is filled again with what is free by then.
"""

import asyncio
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

from penstock.datastore.errors import QuotaExceeded
from penstock.datastore.quota_kinds import QuotaKind
from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.rules import QuotaRules
from penstock.datastore.quotas.usage import sum_group, sum_user
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.commit import StaleRead, Write
from penstock.datastore.table.layout import QUOTA_GATE
from penstock.datastore.table.port import (
    AllOf,
    Compare,
    Condition,
    ConditionFailed,
    Item,
    Key,
    Missing,
    Table,
    Update,
)

LOOK_SECONDS: Final = 2.0
"""The time for which a process relies on a sum far from the maximum."""

NEAR_PART: Final = 10
NEAR_LEAST: Final = 1_000
"""Near a maximum is where a tenth of it is left, or room for so few writes of the same size."""

_MOST_LOOKS: Final = 10_000


class _Holder(NamedTuple):
    """A group or a user, whose quotas limit what it keeps."""

    kind: Literal["group", "user"]
    name: str

    @property
    def gate(self) -> Key:
        return QUOTA_GATE.key(kind=self.kind, holder=self.name)

    async def add_up(self, table: Table) -> Amounts:
        if self.kind == "user":
            return await sum_user(table, self.name)
        return await sum_group(table, GroupPath(self.name))

    def exceeded_error(self, kind: QuotaKind, maximum: int, used: int) -> QuotaExceeded:
        return QuotaExceeded(kind, maximum, used, **{self.kind: self.name})


class _Look(NamedTuple):
    """The amounts that a holder used at a sum, with those that the process has admitted since.

    `gated` are the kinds for which the gate was brought to what was left; they go through it as
    long as the look counts, which is until the time of the event loop in `until`.
    """

    used: Amounts
    gated: frozenset[QuotaKind]
    began: float
    until: float

    def plus(self, growth: Amounts) -> "_Look":
        """The look with what is admitted; what is gated is counted by the gate."""
        more = {kind.value: more for kind, more in growth if kind not in self.gated}
        return self._replace(used=self.used.plus(Amounts(**more)))

    def suffices(self, maxima: Amounts, growth: Amounts, now: float) -> bool:
        """Whether the look can admit the growth."""
        if now > self.until or _find_passed(maxima, self.used, growth):
            return False
        return self.gated.issuperset(_find_near(maxima, self.used, growth))


class Quotas:
    """The quotas of one store, and what this process knows of their use."""

    def __init__(self, rules: QuotaRules | None = None) -> None:
        self.rules: Final = rules or QuotaRules()
        self._looks: dict[_Holder, _Look] = {}
        self._locks: dict[_Holder, asyncio.Lock] = {}

    async def admit(
        self, table: Table, group: GroupPath | None, user: str, growth: Amounts
    ) -> list[Write]:
        """Admit a write by which a group and a user keep more; return writes to send with it.

        Raises QuotaExceeded where it would pass a maximum.
        """
        limited = [(_Holder("user", user), self.rules.per_user)]
        if group is not None:
            deciding = self.rules.deciding(group)
            limited += [(_Holder("group", each), maxima) for each, maxima in deciding]
        writes = [
            await self._admit(table, holder, maxima, growth)
            for holder, maxima in limited
            if any(more > 0 and maxima.of(kind) for kind, more in growth)
        ]
        return [write for write in writes if write is not None]

    async def _admit(
        self, table: Table, holder: _Holder, maxima: Amounts, growth: Amounts
    ) -> Write | None:
        now = asyncio.get_running_loop().time()
        look = self._looks.get(holder)
        if look is None or not look.suffices(maxima, growth, now):
            look = await self._look(table, holder, maxima, growth)
        if kind := _find_passed(maxima, look.used, growth):
            raise holder.exceeded_error(kind, maxima.of(kind), look.used.of(kind))
        self._looks[holder] = look.plus(growth)
        taken = {kind.value: more for kind, more in growth if more > 0 and kind in look.gated}
        return self._take_from_gate(holder, taken) if taken else None

    def _take_from_gate(self, holder: _Holder, taken: Mapping[str, int]) -> Write:
        left = [Compare(name, ">=", more) for name, more in taken.items()]
        take = Update(
            key=holder.gate,
            add={name: -more for name, more in taken.items()},
            condition=AllOf(tuple(left)),
        )

        def forget(_standing: Item | None) -> Exception:
            self._looks.pop(holder, None)
            return StaleRead()

        return Write(take, forget)

    async def _look(self, table: Table, holder: _Holder, maxima: Amounts, growth: Amounts) -> _Look:
        """Add up what a holder uses, unless another call has done so since this one began."""
        loop = asyncio.get_running_loop()
        since = loop.time()
        async with self._locks.setdefault(holder, asyncio.Lock()):
            look = self._looks.get(holder)
            if look is not None and (
                look.suffices(maxima, growth, since)
                or (look.began >= since and _find_passed(maxima, look.used, growth))
            ):
                return look
            began = loop.time()
            gate = (await table.get([holder.gate], consistent=True)).items.get(holder.gate)
            used = await holder.add_up(table)
            passed = _find_passed(maxima, used, growth)
            gated = [] if passed else _find_near(maxima, used, growth)
            left: Item = {kind.value: maxima.of(kind) - used.of(kind) for kind in gated}
            await _fill_gate(table, holder.gate, dict(gate or {}), left)
            look = _Look(used, frozenset(gated), began, began + LOOK_SECONDS)
            self._keep(holder, look)
            return look

    def _keep(self, holder: _Holder, look: _Look) -> None:
        if len(self._looks) > _MOST_LOOKS:
            self._looks.clear()
            self._locks = {each: lock for each, lock in self._locks.items() if lock.locked()}
        self._looks[holder] = look


async def _fill_gate(table: Table, key: Key, gate: Item, left: Item) -> None:
    """Bring a gate to what is left; StaleRead if something took from it since it was read."""
    if all(gate.get(name) == room for name, room in left.items()):
        return
    read = {name: gate.get(name) for name in ("fills", *left)}
    same: list[Condition] = [
        Missing(name) if value is None else Compare(name, "=", int(str(value)))
        for name, value in read.items()
    ]
    filled = Update(key=key, set=left, add={"fills": 1}, condition=AllOf(tuple(same)))
    try:
        await table.transact([filled])
    except ConditionFailed:
        raise StaleRead from None


def _find_passed(maxima: Amounts, used: Amounts, growth: Amounts) -> QuotaKind | None:
    """The first kind that grows beyond its maximum."""
    for kind, more in growth:
        if more > 0 and 0 < maxima.of(kind) < used.of(kind) + more:
            return kind
    return None


def _find_near(maxima: Amounts, used: Amounts, growth: Amounts) -> list[QuotaKind]:
    """The kinds that grow and of which little would be left."""
    return [
        kind
        for kind, more in growth
        if more > 0
        and (most := maxima.of(kind))
        and most - used.of(kind) - more < max(most // NEAR_PART, NEAR_LEAST * more)
    ]
